/* Two regions whose functions may jump to their last barrier. */
int main(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
  }
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
  }
  return 0;
}
