// Calls that wait in the library for other ranks and that nothing can poll: while collectives of ours are
// outstanding they have a thread beside them that moves these on.
#include "begun.hpp"
#include "real.hpp"

using namespace fermata::preload;

FERMATA_MPI_OTHERS(FERMATA_INTERCEPT)

#define FERMATA_BESIDE(name, parameters, arguments) \
  int MPI_##name parameters {                       \
    const Beside beside;                            \
    return real.name arguments;                     \
  }

extern "C" {

FERMATA_BESIDE(Alltoallw,
               (const void* sendbuf, const int* sendcounts, const int* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                const int* recvcounts, const int* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
FERMATA_BESIDE(Neighbor_allgather,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                MPI_Comm comm),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
FERMATA_BESIDE(Neighbor_allgatherv,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts, const int* displs,
                MPI_Datatype recvtype, MPI_Comm comm),
               (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))
FERMATA_BESIDE(Neighbor_alltoall,
               (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                MPI_Comm comm),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
FERMATA_BESIDE(Neighbor_alltoallv,
               (const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
                const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm),
               (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
FERMATA_BESIDE(Neighbor_alltoallw,
               (const void* sendbuf, const int* sendcounts, const MPI_Aint* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                const int* recvcounts, const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
FERMATA_BESIDE(Comm_free, (MPI_Comm * comm), (comm))
FERMATA_BESIDE(Comm_disconnect, (MPI_Comm * comm), (comm))
FERMATA_BESIDE(Comm_accept, (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm),
               (port_name, info, root, comm, newcomm))
FERMATA_BESIDE(Comm_connect, (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm),
               (port_name, info, root, comm, newcomm))
FERMATA_BESIDE(Comm_spawn,
               (const char* command, char** argv, int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* intercomm,
                int* array_of_errcodes),
               (command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes))
FERMATA_BESIDE(Comm_spawn_multiple,
               (int count, char** array_of_commands, char*** argvs, const int* array_of_maxprocs, const MPI_Info* array_of_info, int root,
                MPI_Comm comm, MPI_Comm* intercomm, int* array_of_errcodes),
               (count, array_of_commands, argvs, array_of_maxprocs, array_of_info, root, comm, intercomm, array_of_errcodes))
FERMATA_BESIDE(Intercomm_create,
               (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag, MPI_Comm* newintercomm),
               (local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm))
FERMATA_BESIDE(Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm* newintracomm), (intercomm, high, newintracomm))
FERMATA_BESIDE(Win_create, (void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
               (base, size, disp_unit, info, comm, win))
FERMATA_BESIDE(Win_allocate, (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
               (size, disp_unit, info, comm, baseptr, win))
FERMATA_BESIDE(Win_allocate_shared, (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
               (size, disp_unit, info, comm, baseptr, win))
FERMATA_BESIDE(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win), (info, comm, win))
FERMATA_BESIDE(Win_free, (MPI_Win * win), (win))
FERMATA_BESIDE(Win_fence, (int assertion, MPI_Win win), (assertion, win))
FERMATA_BESIDE(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win))
FERMATA_BESIDE(Win_complete, (MPI_Win win), (win))
FERMATA_BESIDE(Win_wait, (MPI_Win win), (win))
FERMATA_BESIDE(Win_lock, (int lock_type, int rank, int assertion, MPI_Win win), (lock_type, rank, assertion, win))
FERMATA_BESIDE(Win_unlock, (int rank, MPI_Win win), (rank, win))
FERMATA_BESIDE(Win_lock_all, (int assertion, MPI_Win win), (assertion, win))
FERMATA_BESIDE(Win_unlock_all, (MPI_Win win), (win))
FERMATA_BESIDE(Win_flush, (int rank, MPI_Win win), (rank, win))
FERMATA_BESIDE(Win_flush_all, (MPI_Win win), (win))
FERMATA_BESIDE(Win_flush_local, (int rank, MPI_Win win), (rank, win))
FERMATA_BESIDE(Win_flush_local_all, (MPI_Win win), (win))
FERMATA_BESIDE(File_open, (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh), (comm, filename, amode, info, fh))
FERMATA_BESIDE(File_close, (MPI_File * fh), (fh))
FERMATA_BESIDE(File_set_size, (MPI_File fh, MPI_Offset size), (fh, size))
FERMATA_BESIDE(File_preallocate, (MPI_File fh, MPI_Offset size), (fh, size))
FERMATA_BESIDE(File_set_view, (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep, MPI_Info info),
               (fh, disp, etype, filetype, datarep, info))
FERMATA_BESIDE(File_sync, (MPI_File fh), (fh))
FERMATA_BESIDE(File_read_at_all, (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, offset, buf, count, datatype, status))
FERMATA_BESIDE(File_write_at_all, (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, offset, buf, count, datatype, status))
FERMATA_BESIDE(File_read_all, (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_write_all, (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_read_ordered, (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_write_ordered, (MPI_File fh, const void* buf, int count, MPI_Datatype datatype, MPI_Status* status),
               (fh, buf, count, datatype, status))
FERMATA_BESIDE(File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence))
FERMATA_BESIDE(File_read_at_all_end, (MPI_File fh, void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_write_at_all_end, (MPI_File fh, const void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_read_all_end, (MPI_File fh, void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_write_all_end, (MPI_File fh, const void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_read_ordered_end, (MPI_File fh, void* buf, MPI_Status* status), (fh, buf, status))
FERMATA_BESIDE(File_write_ordered_end, (MPI_File fh, const void* buf, MPI_Status* status), (fh, buf, status))

int MPI_Op_free(MPI_Op* op) { return free_later(op); }

}  // extern "C"
