// The calls that wait in MPI, or test there, besides those of real.hpp (collectives that may be Fermata's,
// calls whose communicators are watched, MPI_Init and MPI_Finalize). scripts/mpi-calls lists those that an
// MPI library has.
#ifndef FERMATA_PRELOAD_MPI_WAITING_HPP
#define FERMATA_PRELOAD_MPI_WAITING_HPP

#include "mpi.hpp"

// If they wait, they poll MPI and Fermata's outstanding collectives in turn. If none is outstanding, they
// wait in MPI; with MPI_THREAD_MULTIPLE the helper is beside them. If they only test, they make progress
// once. (waits.cpp, messages.cpp)
// clang-format off
#define FERMATA_MPI_WAITS(X) \
  X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome) \
  X(Request_get_status) FERMATA_MPI_41_WAITS(X)
#define FERMATA_MPI_MESSAGES(X) \
  X(Recv) X(Mrecv) X(Probe) X(Mprobe) X(Sendrecv) FERMATA_MPI_LARGE_MESSAGES(X)
// X(function, the non-blocking function that takes the same arguments and a request)
#define FERMATA_MPI_SENDS(X) \
  X(Send, Isend) X(Ssend, Issend) X(Rsend, Irsend) FERMATA_MPI_LARGE_SENDS(X)
// Make progress once, too (waits.cpp).
#define FERMATA_MPI_TESTS(X) X(Iprobe) X(Improbe) X(Win_test) FERMATA_MPI_PERSISTENT_TESTS(X)
// The helper is beside these (beside.cpp). An access to a window may wait for the other rank's epoch to
// begin.
#define FERMATA_MPI_OTHERS(X) \
  X(Alltoallw) X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) \
  X(Neighbor_alltoallw) X(Comm_free) X(Comm_disconnect) X(Comm_join) X(Comm_accept) X(Comm_connect) \
  X(Comm_spawn) X(Comm_spawn_multiple) X(Comm_set_info) X(Intercomm_create) X(Intercomm_merge) X(Cart_map) \
  X(Graph_map) X(Publish_name) X(Unpublish_name) X(Lookup_name) X(Buffer_detach) X(Win_create) \
  X(Win_allocate) X(Win_allocate_shared) X(Win_create_dynamic) X(Win_free) X(Win_set_info) X(Win_fence) \
  X(Win_post) X(Win_start) X(Win_complete) X(Win_wait) X(Win_lock) X(Win_unlock) X(Win_lock_all) \
  X(Win_unlock_all) X(Win_flush) X(Win_flush_all) X(Win_flush_local) X(Win_flush_local_all) X(Put) X(Get) \
  X(Accumulate) X(Get_accumulate) X(Rput) X(Rget) X(Raccumulate) X(Rget_accumulate) X(Fetch_and_op) \
  X(Compare_and_swap) X(Sendrecv_replace) FERMATA_MPI_PERSISTENT_OTHERS(X) FERMATA_MPI_41_OTHERS(X)
#define FERMATA_MPI_FILES(X) \
  X(File_open) X(File_close) X(File_set_size) X(File_preallocate) X(File_set_view) X(File_set_info) \
  X(File_set_atomicity) X(File_sync) X(File_seek_shared) X(File_get_position_shared) X(File_read_at_all) \
  X(File_write_at_all) X(File_read_all) X(File_write_all) X(File_read_ordered) X(File_write_ordered) \
  X(File_read_shared) X(File_write_shared) X(File_read_at_all_begin) X(File_write_at_all_begin) \
  X(File_read_all_begin) X(File_write_all_begin) X(File_read_ordered_begin) X(File_write_ordered_begin) \
  X(File_iread_all) X(File_iwrite_all) X(File_iread_at_all) X(File_iwrite_at_all) X(File_iread_shared) \
  X(File_iwrite_shared) X(File_read_at_all_end) X(File_write_at_all_end) X(File_read_all_end) \
  X(File_write_all_end) X(File_read_ordered_end) X(File_write_ordered_end) FERMATA_MPI_LARGE_FILES(X)
#ifdef FERMATA_MPI_LARGE
#define FERMATA_MPI_LARGE_MESSAGES(X) X(Recv_c) X(Mrecv_c) X(Sendrecv_c)
#define FERMATA_MPI_LARGE_SENDS(X) X(Send_c, Isend_c) X(Ssend_c, Issend_c) X(Rsend_c, Irsend_c)
#define FERMATA_MPI_LARGE_OTHERS(X) \
  X(Alltoallw_c) X(Neighbor_allgather_c) X(Neighbor_allgatherv_c) X(Neighbor_alltoall_c) \
  X(Neighbor_alltoallv_c) X(Neighbor_alltoallw_c) X(Alltoallw_init_c) X(Neighbor_allgather_init_c) \
  X(Neighbor_allgatherv_init_c) X(Neighbor_alltoall_init_c) X(Neighbor_alltoallv_init_c) \
  X(Neighbor_alltoallw_init_c) X(Win_create_c) X(Win_allocate_c) X(Win_allocate_shared_c) X(Put_c) \
  X(Get_c) X(Accumulate_c) X(Get_accumulate_c) X(Rput_c) X(Rget_c) X(Raccumulate_c) X(Rget_accumulate_c) \
  X(Buffer_detach_c) X(Sendrecv_replace_c)
#define FERMATA_MPI_LARGE_FILES(X) \
  X(File_read_at_all_c) X(File_write_at_all_c) X(File_read_all_c) X(File_write_all_c) \
  X(File_read_ordered_c) X(File_write_ordered_c) X(File_read_shared_c) X(File_write_shared_c) \
  X(File_read_at_all_begin_c) X(File_write_at_all_begin_c) X(File_read_all_begin_c) \
  X(File_write_all_begin_c) X(File_read_ordered_begin_c) X(File_write_ordered_begin_c) X(File_iread_all_c) \
  X(File_iwrite_all_c) X(File_iread_at_all_c) X(File_iwrite_at_all_c) X(File_iread_shared_c) \
  X(File_iwrite_shared_c)
#else
#define FERMATA_MPI_LARGE_MESSAGES(X)
#define FERMATA_MPI_LARGE_SENDS(X)
#define FERMATA_MPI_LARGE_OTHERS(X)
#define FERMATA_MPI_LARGE_FILES(X)
#endif
#ifdef FERMATA_MPI_PERSISTENT
#define FERMATA_MPI_PERSISTENT_TESTS(X) X(Parrived)
#define FERMATA_MPI_PERSISTENT_OTHERS(X) \
  X(Alltoallw_init) X(Neighbor_allgather_init) X(Neighbor_allgatherv_init) X(Neighbor_alltoall_init) \
  X(Neighbor_alltoallv_init) X(Neighbor_alltoallw_init) X(Session_init) X(Session_finalize) \
  X(Comm_create_from_group) X(Intercomm_create_from_groups)
#else
#define FERMATA_MPI_PERSISTENT_TESTS(X)
#define FERMATA_MPI_PERSISTENT_OTHERS(X)
#endif
#ifdef FERMATA_MPI_41
#define FERMATA_MPI_41_WAITS(X) X(Request_get_status_all) X(Request_get_status_any) X(Request_get_status_some)
#define FERMATA_MPI_41_OTHERS(X) \
  X(Buffer_flush) X(Comm_detach_buffer) X(Comm_detach_buffer_c) X(Comm_flush_buffer) \
  X(Session_detach_buffer) X(Session_detach_buffer_c) X(Session_flush_buffer)
#else
#define FERMATA_MPI_41_WAITS(X)
#define FERMATA_MPI_41_OTHERS(X)
#endif
#define FERMATA_MPI_WAITING(X) \
  FERMATA_MPI_WAITS(X) FERMATA_MPI_TESTS(X) FERMATA_MPI_MESSAGES(X) FERMATA_MPI_SENDS(X) \
  FERMATA_MPI_OTHERS(X) FERMATA_MPI_LARGE_OTHERS(X) FERMATA_MPI_FILES(X)
// clang-format on

#endif
