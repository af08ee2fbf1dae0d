// Operators and datatypes that operations of ours still need. The program may free them meanwhile: its handle
// is gone then, and the library's own function runs after the last use. So an operator's function gets the
// very handle that the program passed, and no attribute's callback runs for a copy.
#ifndef FERMATA_PRELOAD_MPI_USES_HPP
#define FERMATA_PRELOAD_MPI_USES_HPP

#include "mpi.hpp"

namespace fermata::preload {

// One operation's use of one object, of which one handle is null. Whoever needs it provides its memory, so no
// use can fail.
struct Use {
  MPI_Op op;
  MPI_Datatype type;
  bool frees;  // the program has freed the object
  Use* next;
  Use* previous;
};

void begin_use(Use& use, MPI_Op op, MPI_Datatype type);
// Frees the object if this was its last use and the program has freed it.
void end_use(Use& use);

}  // namespace fermata::preload
#endif
