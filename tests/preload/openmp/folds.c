/* folds THREADS: reductions in a region, and no barriers but theirs. There are two sums, so that no thread
 * adds to one while another may still read it. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  long one = 0, two = 0, wrong = 0;
#pragma omp parallel num_threads(argc > 1 ? atoi(argv[1]) : 2)
  for (long round = 1; round <= 50; ++round) {
    long missed = 0;
#pragma omp for reduction(+ : one)
    for (int i = 0; i < 100; ++i) one += round;
    missed += one != 50 * round * (round + 1);
#pragma omp for reduction(+ : two)
    for (int i = 0; i < 100; ++i) two += 2 * round;
    missed += two != 100 * round * (round + 1);
#pragma omp atomic
    wrong += missed;
  }
  printf("%ld wrong\n", wrong);
  return 0;
}
