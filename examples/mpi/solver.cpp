// The solver of examples/cg with distributed memory: solver MATRIX.mtx SOLVES. Conjugate gradient with
// Jacobi's preconditioner, each rank on its own rows. It does not use Fermata.
//
// In an iteration q = A p needs all of p, which comes from an allgather of blocks of different sizes. (p, q)
// is an allreduce of 8 bytes; (r, z) and (r, r) together are one of 16 bytes.
#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <vector>

#include "../cg/matrix_market.hpp"
#include "../cg/sparse.hpp"

namespace {

constexpr double kTolerance = 1e-9;
constexpr int kMostIterations = 10000;

struct System {
  const cg::Matrix& a;
  std::vector<int> counts, places;  // of each rank's rows
  int first, rows;                  // this rank's
};

System part_of(const cg::Matrix& a, int ranks, int rank) {
  const std::vector<std::int32_t> starts = cg::partition(a, ranks);
  System s{a, {}, {starts.begin(), starts.end() - 1}, starts[static_cast<std::size_t>(rank)], 0};
  for (int r = 0; r < ranks; ++r)
    s.counts.push_back(starts[static_cast<std::size_t>(r) + 1] - starts[static_cast<std::size_t>(r)]);
  s.rows = s.counts[static_cast<std::size_t>(rank)];
  return s;
}

// y = A v on this rank's rows.
void multiply(const System& s, const std::vector<double>& v, std::vector<double>& y) {
  for (int i = 0; i < s.rows; ++i) {
    double sum = 0;
    const auto row = static_cast<std::size_t>(s.first + i);
    for (auto k = static_cast<std::size_t>(s.a.row_start[row]);
         k < static_cast<std::size_t>(s.a.row_start[row + 1]); ++k)
      sum += s.a.value[k] * v[static_cast<std::size_t>(s.a.column[k])];
    y[static_cast<std::size_t>(i)] = sum;
  }
}

template <std::size_t N>
std::array<double, N> over_all(std::array<double, N> mine) {
  MPI_Allreduce(MPI_IN_PLACE, mine.data(), static_cast<int>(N), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}

void share(const System& s, std::vector<double>& whole) {
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole.data(), s.counts.data(), s.places.data(),
                 MPI_DOUBLE, MPI_COMM_WORLD);
}

struct Solved {
  int iterations = 0;
  double residual = 0, error = 0;  // residual: relative; error: in the largest entry
};

Solved solve(const System& s) {
  const auto n = static_cast<std::size_t>(s.rows), all = static_cast<std::size_t>(s.a.rows),
             first = static_cast<std::size_t>(s.first);
  std::vector<double> exact(all), p(all), x(n), r(n), z(n), q(n), inverse(n, 1);
  for (std::size_t i = 0; i < all; ++i) exact[i] = 1 + 0.5 * std::sin(0.7 * static_cast<double>(i));
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = static_cast<std::size_t>(s.a.row_start[first + i]);
         k < static_cast<std::size_t>(s.a.row_start[first + i + 1]); ++k)
      if (static_cast<std::size_t>(s.a.column[k]) == first + i) inverse[i] = 1 / s.a.value[k];
  const auto dot = [n](const double* a, const double* b) { return std::inner_product(a, a + n, b, 0.0); };
  multiply(s, exact, r);
  for (std::size_t i = 0; i < n; ++i) p[first + i] = z[i] = r[i] * inverse[i];
  auto [rz, begin] = over_all(std::array{dot(r.data(), z.data()), dot(r.data(), r.data())});
  Solved out;
  for (double rr = begin; rr > kTolerance * kTolerance * begin && out.iterations < kMostIterations;
       ++out.iterations) {
    share(s, p);
    multiply(s, p, q);
    const double alpha = rz / over_all(std::array{dot(p.data() + first, q.data())})[0];
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += alpha * p[first + i];
      r[i] -= alpha * q[i];
      z[i] = r[i] * inverse[i];
    }
    const auto sums = over_all(std::array{dot(r.data(), z.data()), dot(r.data(), r.data())});
    for (std::size_t i = 0; i < n; ++i) p[first + i] = z[i] + sums[0] / rz * p[first + i];
    rz = sums[0];
    rr = sums[1];
    out.residual = std::sqrt(rr / begin);
  }
  for (std::size_t i = 0; i < n; ++i) out.error = std::max(out.error, std::abs(x[i] - exact[first + i]));
  MPI_Allreduce(MPI_IN_PLACE, &out.error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int solves = argc == 3 ? std::atoi(argv[2]) : 0;
  if (solves < 1) {
    if (rank == 0) std::fprintf(stderr, "solver MATRIX.mtx SOLVES\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  try {
    const cg::Matrix a = cg::read_matrix_market(argv[1]);
    const System system = part_of(a, ranks, rank);
    Solved solved;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < solves; ++i) solved = solve(system);
    const double took = MPI_Wtime() - begin;
    if (rank == 0) {  // prints only digits that the order of a sum does not change
      std::printf("%d rows: %d iterations, residual %.3e, error below 1e-6: %s\n", a.rows, solved.iterations,
                  solved.residual, solved.error < 1e-6 ? "yes" : "no");
      std::printf("seconds %.6f\n", took);
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
