// The functions that this library wraps, and whether the C library's barriers are laid out as tag.hpp
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

// Runs the real functions on a barrier of their own and checks what they wrote: glibc's five words as
// expected, and the tag's twelve bytes unchanged.
bool layout_is_known(const Real& real);

}  // namespace fermata::preload
#endif
