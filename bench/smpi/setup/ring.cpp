// SMPI sorts the ranks of a communicator by hosts before the first collective of some selectors
// (Comm::init_smp). It does so by rings of all ranks: 33 million messages for 4,096 ranks. smpirun preloads
// this library, by which the rings take log2(ranks) rounds (Bruck). Nothing that is timed uses the rings.
#include <mpi.h>

namespace simgrid::smpi {

int allgather__bruck(const void* sent, int count, MPI_Datatype type, void* received, int received_count,
                     MPI_Datatype received_type, MPI_Comm comm);

[[gnu::visibility("default")]] int allgather__ring(const void* sent, int count, MPI_Datatype type,
                                                   void* received, int received_count,
                                                   MPI_Datatype received_type, MPI_Comm comm) {
  return allgather__bruck(sent, count, type, received, received_count, received_type, comm);
}

}  // namespace simgrid::smpi
