// The functions that this library wraps, and whether the barriers that they make are laid out as tag.hpp
// assumes.
#ifndef FERMATA_PRELOAD_PTHREAD_REAL_HPP
#define FERMATA_PRELOAD_PTHREAD_REAL_HPP

#include <pthread.h>

namespace fermata::preload {

struct Real {
  int (*init)(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned);
  int (*wait)(pthread_barrier_t*);
  int (*destroy)(pthread_barrier_t*);
};

// What the next library in the search order has: the C library, or another one that wraps them. A missing
// function's substitute returns ENOSYS.
Real find_real();

// Runs the real functions on a barrier for one thread and checks what they wrote: after init, glibc's five
// words are as expected; after each function, the tag's twelve bytes are unchanged. False also if one fails.
bool layout_is_known(const Real& real);

}  // namespace fermata::preload
#endif
