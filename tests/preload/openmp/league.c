/* league: reductions of leagues within a region with barriers. The threads of a league are not the region's,
 * though they have its nesting level. */
#include <omp.h>
#include <stdio.h>

int main(void) {
  long wrong = 0;
#pragma omp parallel num_threads(6)
  for (int round = 0; round < 5; ++round) {
    long sum = 0;
#pragma omp barrier
#pragma omp target teams num_teams(2) reduction(+ : sum) map(tofrom : sum)
    sum += 1;
#pragma omp atomic
    wrong += sum < 1;
#pragma omp barrier
  }
  printf("%ld wrong\n", wrong);
  return 0;
}
