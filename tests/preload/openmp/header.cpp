// <fermata/openmp.hpp> gives the same results with libfermata-openmp and without, in every kind of region.
#include <fermata/openmp.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace omp = fermata::omp;

struct Matrix {
  double a, b, c, d;
};

// Matrix product, which does not commute.
Matrix operator*(const Matrix& x, const Matrix& y) {
  return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}

struct Best {
  double value;
  int where;
};

static long check(int round) {
  const int me = omp_get_thread_num(), n = omp_get_num_threads();
  long wrong = omp::allreduce(me + round) != n * (n - 1) / 2 + n * round;
  wrong += omp::allreduce(static_cast<char>(me == 0), std::logical_or<>()) != 1;
  const auto seven = omp::allreduce(std::array<double, 7>{1, 2, 3, 4, 5, 6, static_cast<double>(me)});
  wrong += seven[0] != n || seven[5] != 6 * n || seven[6] != n * (n - 1) / 2;
  const Best best = omp::allreduce(Best{static_cast<double>((me * 7 + round) % 5), me},
                                   [](const Best& x, const Best& y) { return y.value > x.value ? y : x; });
  for (int t = 0; t < n; ++t) wrong += (t * 7 + round) % 5 > best.value;
  wrong += (best.where * 7 + round) % 5 != best.value;
  const auto factor = [round](int t) {
    return t % 2 == 0 ? Matrix{1, round % 3 * 1.0, 0, 1} : Matrix{1, 0, 1, 1};
  };
  Matrix expected = factor(0);
  for (int t = 1; t < n; ++t) expected = expected * factor(t);
  const Matrix product = omp::allreduce(factor(me), std::multiplies<>());
  wrong += std::memcmp(&product, &expected, sizeof expected) != 0;
  // Every other order rounds differently, so equal bits show the same order at all threads.
  const double sum = omp::allreduce(1.0 / (me + 3) + round);
  double first = 1.0 / 3 + round;
  for (int t = 1; t < n; ++t) first += 1.0 / (t + 3) + round;
  wrong += std::memcmp(&sum, &first, sizeof sum) != 0;
  return wrong;
}

static long regions(int threads, int rounds) {
  long wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  for (int round = 0; round < rounds; ++round) {
    wrong += check(round);
    omp::barrier();
  }
  return wrong;
}

static long nested() {
  long wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
  for (int round = 0; round < 10; ++round) {
    wrong += check(round);
    long below = 0;
#pragma omp parallel num_threads(3) reduction(+ : below)
    below += check(round) + check(round + 1);
    wrong += below + check(round);
  }
  return wrong;
}

int main() {
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  std::printf("alone %d\n", omp::allreduce(7));
  omp::barrier();
  for (const int threads : {1, 2, 3, 4, 9})
    std::printf("%d threads: %ld wrong\n", threads, regions(threads, 30));
  std::printf("nested: %ld wrong\n", nested());
  std::array<long, 3> wrong{};
  std::vector<std::thread> initial;
  for (std::size_t i = 0; i < wrong.size(); ++i)
    initial.emplace_back([&wrong, i] {
      long mine = 0;
      for (int turn = 0; turn < 10; ++turn) {
#pragma omp parallel num_threads(2 + turn % 2) reduction(+ : mine)
        mine += check(turn);
      }
      wrong[i] = mine;
    });
  for (std::thread& thread : initial) thread.join();
  std::printf("initial threads: %ld %ld %ld wrong\n", wrong[0], wrong[1], wrong[2]);
  return 0;
}
