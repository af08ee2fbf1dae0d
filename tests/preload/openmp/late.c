/* Two threads meet at one barrier; the second one is late each time. */
#include <omp.h>

#include "../come-late.h"

int main(void) {
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 40; ++i) {
    if (omp_get_thread_num() == 1) come_later_than_first(2000);
#pragma omp barrier
  }
  return 0;
}
