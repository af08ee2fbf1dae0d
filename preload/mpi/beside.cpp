// Calls that wait in MPI for other ranks and that nothing can poll. The helper is beside them, and makes
// progress on Fermata's outstanding collectives. scripts/mpi-calls says which calls of an MPI library can
// wait.
#include "begun.hpp"
#include "real.hpp"

using namespace fermata::preload;

FERMATA_MPI_OTHERS(FERMATA_INTERCEPT)

extern "C" {

FERMATA_BESIDE(Alltoallw,
               (const void* sendbuf, const int* sendcounts, const int* sdispls, const MPI_Datatype* sendtypes,
                void* recvbuf, const int* recvcounts, const int* rdispls, const MPI_Datatype* recvtypes,
                MPI_Comm comm),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
FERMATA_BESIDE(Neighbor_allgather,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
FERMATA_BESIDE(Neighbor_allgatherv,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                const int* recvcounts, const int* displs, MPI_Datatype recvtype, MPI_Comm comm),
               (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))
FERMATA_BESIDE(Neighbor_alltoall,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, MPI_Comm comm),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
FERMATA_BESIDE(Neighbor_alltoallv,
               (const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype,
                void* recvbuf, const int* recvcounts, const int* rdispls, MPI_Datatype recvtype,
                MPI_Comm comm),
               (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
FERMATA_BESIDE(Neighbor_alltoallw,
               (const void* sendbuf, const int* sendcounts, const MPI_Aint* sdispls,
                const MPI_Datatype* sendtypes, void* recvbuf, const int* recvcounts, const MPI_Aint* rdispls,
                const MPI_Datatype* recvtypes, MPI_Comm comm),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
FERMATA_BESIDE(Comm_free, (MPI_Comm * comm), (comm))
FERMATA_BESIDE(Comm_disconnect, (MPI_Comm * comm), (comm))
FERMATA_BESIDE(Comm_join, (int fd, MPI_Comm* intercomm), (fd, intercomm))
FERMATA_BESIDE(Comm_accept,
               (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm),
               (port_name, info, root, comm, newcomm))
FERMATA_BESIDE(Comm_connect,
               (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm),
               (port_name, info, root, comm, newcomm))
FERMATA_BESIDE(Comm_spawn,
               (const char* command, char** argv, int maxprocs, MPI_Info info, int root, MPI_Comm comm,
                MPI_Comm* intercomm, int* array_of_errcodes),
               (command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes))
FERMATA_BESIDE(Comm_spawn_multiple,
               (int count, char** array_of_commands, char*** array_of_argv, const int* array_of_maxprocs,
                const MPI_Info* array_of_info, int root, MPI_Comm comm, MPI_Comm* intercomm,
                int* array_of_errcodes),
               (count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info, root, comm,
                intercomm, array_of_errcodes))
FERMATA_BESIDE(Comm_set_info, (MPI_Comm comm, MPI_Info info), (comm, info))
FERMATA_BESIDE(Intercomm_create,
               (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                MPI_Comm* newintercomm),
               (local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm))
FERMATA_BESIDE(Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm* newintracomm),
               (intercomm, high, newintracomm))
FERMATA_BESIDE(Cart_map, (MPI_Comm comm, int ndims, const int* dims, const int* periods, int* newrank),
               (comm, ndims, dims, periods, newrank))
FERMATA_BESIDE(Graph_map, (MPI_Comm comm, int nnodes, const int* indx, const int* edges, int* newrank),
               (comm, nnodes, indx, edges, newrank))
FERMATA_BESIDE(Publish_name, (const char* service_name, MPI_Info info, const char* port_name),
               (service_name, info, port_name))
FERMATA_BESIDE(Unpublish_name, (const char* service_name, MPI_Info info, const char* port_name),
               (service_name, info, port_name))
FERMATA_BESIDE(Lookup_name, (const char* service_name, MPI_Info info, char* port_name),
               (service_name, info, port_name))
FERMATA_BESIDE(Buffer_detach, (void* buffer_addr, int* size), (buffer_addr, size))
FERMATA_BESIDE(Win_create,
               (void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
               (base, size, disp_unit, info, comm, win))
FERMATA_BESIDE(Win_allocate,
               (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
               (size, disp_unit, info, comm, baseptr, win))
FERMATA_BESIDE(Win_allocate_shared,
               (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
               (size, disp_unit, info, comm, baseptr, win))
FERMATA_BESIDE(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win), (info, comm, win))
FERMATA_BESIDE(Win_free, (MPI_Win * win), (win))
FERMATA_BESIDE(Win_set_info, (MPI_Win win, MPI_Info info), (win, info))
FERMATA_BESIDE(Win_fence, (int assert, MPI_Win win), (assert, win))
FERMATA_BESIDE(Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
FERMATA_BESIDE(Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
FERMATA_BESIDE(Win_complete, (MPI_Win win), (win))
FERMATA_BESIDE(Win_wait, (MPI_Win win), (win))
FERMATA_BESIDE(Win_lock, (int lock_type, int rank, int assert, MPI_Win win), (lock_type, rank, assert, win))
FERMATA_BESIDE(Win_unlock, (int rank, MPI_Win win), (rank, win))
FERMATA_BESIDE(Win_lock_all, (int assert, MPI_Win win), (assert, win))
FERMATA_BESIDE(Win_unlock_all, (MPI_Win win), (win))
FERMATA_BESIDE(Win_flush, (int rank, MPI_Win win), (rank, win))
FERMATA_BESIDE(Win_flush_all, (MPI_Win win), (win))
FERMATA_BESIDE(Win_flush_local, (int rank, MPI_Win win), (rank, win))
FERMATA_BESIDE(Win_flush_local_all, (MPI_Win win), (win))
FERMATA_BESIDE(Put,
               (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win))
FERMATA_BESIDE(Get,
               (void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win))
FERMATA_BESIDE(Accumulate,
               (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, op, win))
FERMATA_BESIDE(Get_accumulate,
               (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr,
                int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win),
               (origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                target_rank, target_disp, target_count, target_datatype, op, win))
FERMATA_BESIDE(Rput,
               (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
                MPI_Request* request),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win, request))
FERMATA_BESIDE(Rget,
               (void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
                MPI_Request* request),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win, request))
FERMATA_BESIDE(Raccumulate,
               (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                MPI_Request* request),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, op, win, request))
FERMATA_BESIDE(Rget_accumulate,
               (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr,
                int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request),
               (origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                target_rank, target_disp, target_count, target_datatype, op, win, request))
FERMATA_BESIDE(Fetch_and_op,
               (const void* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank,
                MPI_Aint target_disp, MPI_Op op, MPI_Win win),
               (origin_addr, result_addr, datatype, target_rank, target_disp, op, win))
FERMATA_BESIDE(Compare_and_swap,
               (const void* origin_addr, const void* compare_addr, void* result_addr, MPI_Datatype datatype,
                int target_rank, MPI_Aint target_disp, MPI_Win win),
               (origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win))

#ifdef FERMATA_MPI_PERSISTENT
FERMATA_BESIDE(Alltoallw_init,
               (const void* sendbuf, const int* sendcounts, const int* sdispls, const MPI_Datatype* sendtypes,
                void* recvbuf, const int* recvcounts, const int* rdispls, const MPI_Datatype* recvtypes,
                MPI_Comm comm, MPI_Info info, MPI_Request* request),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info,
                request))
FERMATA_BESIDE(Neighbor_allgather_init,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request))
FERMATA_BESIDE(Neighbor_allgatherv_init,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                const int* recvcounts, const int* displs, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                MPI_Request* request),
               (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, info, request))
FERMATA_BESIDE(Neighbor_alltoall_init,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request))
FERMATA_BESIDE(Neighbor_alltoallv_init,
               (const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype,
                void* recvbuf, const int* recvcounts, const int* rdispls, MPI_Datatype recvtype,
                MPI_Comm comm, MPI_Info info, MPI_Request* request),
               (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info,
                request))
FERMATA_BESIDE(Neighbor_alltoallw_init,
               (const void* sendbuf, const int* sendcounts, const MPI_Aint* sdispls,
                const MPI_Datatype* sendtypes, void* recvbuf, const int* recvcounts, const MPI_Aint* rdispls,
                const MPI_Datatype* recvtypes, MPI_Comm comm, MPI_Info info, MPI_Request* request),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info,
                request))
FERMATA_BESIDE(Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session),
               (info, errhandler, session))
FERMATA_BESIDE(Session_finalize, (MPI_Session * session), (session))
FERMATA_BESIDE(Comm_create_from_group,
               (MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                MPI_Comm* newcomm),
               (group, stringtag, info, errhandler, newcomm))
FERMATA_BESIDE(Intercomm_create_from_groups,
               (MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                const char* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newintercomm),
               (local_group, local_leader, remote_group, remote_leader, stringtag, info, errhandler,
                newintercomm))
#endif

#ifdef FERMATA_MPI_41
FERMATA_BESIDE(Buffer_flush, (), ())
FERMATA_BESIDE(Comm_detach_buffer, (MPI_Comm comm, void* buffer_addr, int* size), (comm, buffer_addr, size))
FERMATA_BESIDE(Comm_detach_buffer_c, (MPI_Comm comm, void* buffer_addr, MPI_Count* size),
               (comm, buffer_addr, size))
FERMATA_BESIDE(Comm_flush_buffer, (MPI_Comm comm), (comm))
FERMATA_BESIDE(Session_detach_buffer, (MPI_Session session, void* buffer_addr, int* size),
               (session, buffer_addr, size))
FERMATA_BESIDE(Session_detach_buffer_c, (MPI_Session session, void* buffer_addr, MPI_Count* size),
               (session, buffer_addr, size))
FERMATA_BESIDE(Session_flush_buffer, (MPI_Session session), (session))
#endif

}  // extern "C"
