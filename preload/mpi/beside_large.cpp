// As beside.cpp, for calls whose counts are MPI_Count.
#include "begun.hpp"
#include "real.hpp"

using namespace fermata::preload;

#ifdef FERMATA_MPI_LARGE
FERMATA_MPI_LARGE_OTHERS(FERMATA_INTERCEPT)

extern "C" {

FERMATA_BESIDE(Alltoallw_c,
               (const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
                const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
FERMATA_BESIDE(Neighbor_allgather_c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
FERMATA_BESIDE(Neighbor_allgatherv_c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                const MPI_Count* recvcounts, const MPI_Aint* displs, MPI_Datatype recvtype, MPI_Comm comm),
               (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm))
FERMATA_BESIDE(Neighbor_alltoall_c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
FERMATA_BESIDE(Neighbor_alltoallv_c,
               (const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                MPI_Datatype sendtype, void* recvbuf, const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                MPI_Datatype recvtype, MPI_Comm comm),
               (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
FERMATA_BESIDE(Neighbor_alltoallw_c,
               (const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
                const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
FERMATA_BESIDE(Alltoallw_init_c,
               (const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
                const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm, MPI_Info info,
                MPI_Request* request),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info,
                request))
FERMATA_BESIDE(Neighbor_allgather_init_c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                MPI_Request* request),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request))
FERMATA_BESIDE(Neighbor_allgatherv_init_c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                const MPI_Count* recvcounts, const MPI_Aint* displs, MPI_Datatype recvtype, MPI_Comm comm,
                MPI_Info info, MPI_Request* request),
               (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, info, request))
FERMATA_BESIDE(Neighbor_alltoall_init_c,
               (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                MPI_Request* request),
               (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request))
FERMATA_BESIDE(Neighbor_alltoallv_init_c,
               (const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                MPI_Datatype sendtype, void* recvbuf, const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request),
               (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info,
                request))
FERMATA_BESIDE(Neighbor_alltoallw_init_c,
               (const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
                const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm, MPI_Info info,
                MPI_Request* request),
               (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info,
                request))
FERMATA_BESIDE(Win_create_c,
               (void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
               (base, size, disp_unit, info, comm, win))
FERMATA_BESIDE(Win_allocate_c,
               (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
               (size, disp_unit, info, comm, baseptr, win))
FERMATA_BESIDE(Win_allocate_shared_c,
               (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
               (size, disp_unit, info, comm, baseptr, win))
FERMATA_BESIDE(Put_c,
               (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,
                MPI_Win win),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win))
FERMATA_BESIDE(Get_c,
               (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win))
FERMATA_BESIDE(Accumulate_c,
               (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,
                MPI_Op op, MPI_Win win),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, op, win))
FERMATA_BESIDE(Get_accumulate_c,
               (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype, int target_rank,
                MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                MPI_Win win),
               (origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                target_rank, target_disp, target_count, target_datatype, op, win))
FERMATA_BESIDE(Rput_c,
               (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,
                MPI_Win win, MPI_Request* request),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win, request))
FERMATA_BESIDE(Rget_c,
               (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
                MPI_Request* request),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, win, request))
FERMATA_BESIDE(Raccumulate_c,
               (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,
                MPI_Op op, MPI_Win win, MPI_Request* request),
               (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                target_datatype, op, win, request))
FERMATA_BESIDE(Rget_accumulate_c,
               (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype, int target_rank,
                MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                MPI_Win win, MPI_Request* request),
               (origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                target_rank, target_disp, target_count, target_datatype, op, win, request))
FERMATA_BESIDE(Buffer_detach_c, (void* buffer_addr, MPI_Count* size), (buffer_addr, size))

}  // extern "C"
#endif
