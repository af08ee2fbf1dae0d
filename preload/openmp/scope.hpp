// The loader's search for a run-time library, repeated for one calling object.
#ifndef FERMATA_PRELOAD_OPENMP_SCOPE_HPP
#define FERMATA_PRELOAD_OPENMP_SCOPE_HPP

#include "run_time.hpp"

namespace fermata::preload {

struct Search {
  Family family;
  const void* address;     // in the calling object
  bool in_object = false;  // else the code was made at run time
  // the object calls a run-time library; else it made the call for another object, e.g. by a tail call
  bool imports = false;
  std::uintptr_t low = 0, span = 0;  // of the object
  int candidates = 0;  // run-time libraries that are loaded, if look_at_rest() had to count them
  bool found = false;
  RunTime run_time = {};
};

// Finds the calling object, and what the loader has bound in it. If it leaves `found` false, look_at_rest()
// may follow.
void look_at_caller(Search& search);

// Finds what the loader would bind in the calling object now. Also works without look_at_caller(), for code
// in no object or in one that imports nothing of OpenMP. Takes the loader's lock if several run-time
// libraries are loaded and none of them was global when the process started.
void look_at_rest(Search& search);

}  // namespace fermata::preload
#endif
