/* A library that wraps entry points of the run-time library, as profilers do. It counts regions and prints
 * the count at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

static long regions;

EXPORT void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  static void (*real)(void (*)(void*), void*, unsigned, unsigned);
  if (real == NULL)
    real = (void (*)(void (*)(void*), void*, unsigned, unsigned))dlsym(RTLD_NEXT, "GOMP_parallel");
  __atomic_fetch_add(&regions, 1, __ATOMIC_RELAXED);
  real(body, data, threads, flags);
}

EXPORT void GOMP_barrier(void) {
  static void (*real)(void);
  if (real == NULL) real = (void (*)(void))dlsym(RTLD_NEXT, "GOMP_barrier");
  real();
}

__attribute__((destructor)) static void say(void) { printf("wrapped: %ld regions\n", regions); }
