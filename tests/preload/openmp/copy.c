/* A library with regions, linked to a run-time library of its own: see copies.c. */
#include <omp.h>

#define EXPORT __attribute__((visibility("default")))

/* A static loop: each thread asks its run-time library for its number and for the number of threads. */
EXPORT long copy_sum(int n) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}

/* Threads see each other's values after barriers. 0: right. */
EXPORT long copy_barriers(int rounds) {
  long wrong = 0, value[4] = {0};
#pragma omp parallel reduction(+ : wrong) num_threads(4)
  for (int round = 1; round <= rounds; ++round) {
    value[omp_get_thread_num()] = round;
#pragma omp barrier
    for (int i = 0; i < omp_get_num_threads(); ++i) wrong += value[i] != round;
#pragma omp barrier
  }
  return wrong;
}

/* An orphaned barrier that the compiler calls by a jump: the return address is the caller's. */
EXPORT void copy_barrier(void) {
#pragma omp barrier
}

/* Calls between(thread) in each of 3 threads, between barriers. 0: all threads passed the same number of
 * barriers. */
EXPORT long copy_around(void (*between)(int thread, void* argument), void* argument) {
  long wrong = 0, value[3] = {0};
#pragma omp parallel reduction(+ : wrong) num_threads(3)
  for (int round = 1; round <= 5; ++round) {
    value[omp_get_thread_num()] = round;
#pragma omp barrier
    for (int i = 0; i < omp_get_num_threads(); ++i) wrong += value[i] != round;
    between(omp_get_thread_num(), argument);
#pragma omp barrier
  }
  return wrong;
}

/* The calling thread's place, as this library's run-time library sees it. */
EXPORT int copy_level(void) { return omp_get_level(); }
EXPORT int copy_threads(void) { return omp_get_num_threads(); }
EXPORT int copy_thread(void) { return omp_get_thread_num(); }
