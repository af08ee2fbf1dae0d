/* Two threads meet at one barrier; the second one comes late each time. */
#include <omp.h>
#include <unistd.h>

int main(void) {
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 40; ++i) {
    if (omp_get_thread_num() == 1) usleep(2000);
#pragma omp barrier
  }
  return 0;
}
