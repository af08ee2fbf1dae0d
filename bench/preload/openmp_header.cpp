// The cost of a reduction within a parallel region whose result every thread has at its end: the allreduce of
// Fermata's header, and OpenMP's reductions. Overheads are as in openmp_overhead.c; the sums are checked
// during the timing.
//
//   openmp_header [THREADS [SAMPLES]]     one line for each way: name, then each sample's overhead in ns
#include <fermata/openmp.hpp>

#include <array>
#include <iterator>

#include "openmp_samples.h"

namespace {

volatile bool wrong = false;

template <class Round>
double time_of(Round&& round) {
  double time = 0;
#pragma omp parallel
  {
#pragma omp barrier
    const double start = omp_get_wtime();
    for (int i = 0; i < kRepeats; ++i) round(i);
#pragma omp master
    time = omp_get_wtime() - start;
  }
  return time;
}

double header_one() {
  return time_of([&](int i) {
    delay();
    const double n = omp_get_num_threads();
    if (fermata::omp::allreduce(i + 1.0) != n * (i + 1)) wrong = true;
  });
}

double header_seven() {
  return time_of([&](int i) {
    delay();
    const double n = omp_get_num_threads();
    const auto sum = fermata::omp::allreduce(std::array<double, 7>{1, 2, 3, 4, 5, 6, i + 1.0});
    if (sum[0] != n || sum[6] != n * (i + 1)) wrong = true;
  });
}

double header_barrier() {
  return time_of([&](int) {
    delay();
    fermata::omp::barrier();
  });
}

// Never reset, since that takes two more barriers: this is the least cost of a reduction clause.
double sum_by_clause;
double clause_one() {
  sum_by_clause = 0;
  const double time = time_of([&](int) {
#pragma omp for reduction(+ : sum_by_clause)
    for (int t = 0; t < omp_get_num_threads(); ++t) {
      delay();
      sum_by_clause += 1;
    }
  });
  if (sum_by_clause != static_cast<double>(kRepeats) * omp_get_max_threads()) wrong = true;
  return time;
}

// For a program that uses each sum: no thread resets it before all have read it.
double clause_one_used() {
  return time_of([&](int) {
#pragma omp single
    sum_by_clause = 0;
#pragma omp for reduction(+ : sum_by_clause)
    for (int t = 0; t < omp_get_num_threads(); ++t) {
      delay();
      sum_by_clause += 1;
    }
    if (sum_by_clause != omp_get_num_threads()) wrong = true;
#pragma omp barrier
  });
}

double seven_by_clause[7];
double clause_seven() {
  for (double& s : seven_by_clause) s = 0;
  return time_of([&](int) {
#pragma omp for reduction(+ : seven_by_clause)
    for (int t = 0; t < omp_get_num_threads(); ++t) {
      delay();
      for (double& s : seven_by_clause) s += 1;
    }
  });
}

constexpr construct kWays[] = {
    {"header-barrier", header_barrier},   {"header-allreduce-1", header_one},
    {"header-allreduce-7", header_seven}, {"for-reduction-1", clause_one},
    {"for-reduction-7", clause_seven},    {"reset+for-reduction-1", clause_one_used}};

}  // namespace

int main(int argc, char** argv) {
  const int failed = print_samples(argc, argv, kWays, static_cast<int>(std::size(kWays)));
  if (wrong) std::fprintf(stderr, "a sum was wrong\n");
  return failed != 0 || wrong ? 1 : 0;
}
