// Operators and datatypes that the program may free while operations of Fermata's still need them. The
// program's handle is gone then, and MPI's own function frees the object after the last use. Fermata makes no
// copy of the object: an operator's function gets the datatype handle that the program passed, and
// attributes' copy callbacks do not run.
#ifndef FERMATA_PRELOAD_MPI_USES_HPP
#define FERMATA_PRELOAD_MPI_USES_HPP

#include "mpi.hpp"

namespace fermata::preload {

// One operation's use of one object; one of the two handles is MPI's null handle. The operation provides the
// memory, so no use can fail.
struct Use {
  MPI_Op op;
  MPI_Datatype type;
  // The program has freed the object. Set in one of its uses only; if that use ends, another one gets it.
  bool frees;
  Use* next;
  Use* previous;
};

// Both are thread-safe, and take requests_lock (begun.hpp).
void begin_use(Use& use, MPI_Op op, MPI_Datatype type);
// Frees the object if this was its last use and the program has freed it.
void end_use(Use& use);

}  // namespace fermata::preload
#endif
