// The program's own operators, on `unsigned` and types derived from it. They record calls with unknown types
// and on other threads.
#ifndef FERMATA_FUZZ_OPERATORS_HPP
#define FERMATA_FUZZ_OPERATORS_HPP

#include <mpi.h>

#include <string>

#include "random.hpp"
#include "types.hpp"

namespace fuzz {

struct Operator {
  MPI_Op handle = MPI_OP_NULL;
  bool own = false;
  std::string words;
};

// Draws one of several functions, commutative or not.
Operator own_operator(Random& random);
// Draws an operator of MPI that is legal for the base, or (not legal) one that is not. Legal ones whose
// results depend on the MPI library, or on its code path, are left out. MPI_OP_NULL: none was found.
Operator predefined_operator(const Base& base, bool legal, Random& random);

struct Noticed {
  long unknown_types = 0;  // calls with a handle that the fuzzer did not make
  long other_threads = 0;  // calls on a thread that did not call MPI_Init
};
Noticed noticed();
// Called on the thread that called MPI_Init, before the first operator.
void watch_operators();

}  // namespace fuzz
#endif
