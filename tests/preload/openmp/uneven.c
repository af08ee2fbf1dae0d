/* Regions of two threads, of which the second one works longer each time. */
#include <omp.h>

#include "../come-late.h"

int main(void) {
  for (int i = 0; i < 40; ++i) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) come_later_than_first(2000);
  }
  return 0;
}
