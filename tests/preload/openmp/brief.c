/* A program that is over soon. */
#include <omp.h>

int main(void) {
  static int cells[2];
  int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
  {
    cells[omp_get_thread_num()] = 1;
#pragma omp barrier
    wrong += cells[0] + cells[omp_get_num_threads() - 1] != 2;
  }
  return wrong == 0 ? 42 : 1;
}
