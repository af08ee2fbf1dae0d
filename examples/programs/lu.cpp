// Dense LU factorization with partial pivoting, right-looking, column by column (Golub and Van Loan, Matrix
// Computations, algorithm 3.4.1). SIZE is the order of the matrix; each repetition factors the same matrix.
//
// Columns are dealt to the threads in turn. One barrier per column is enough. The owner of column k + 1 has
// itself updated it with column k. After that barrier no other thread reads column k, so its owner may apply
// later row exchanges to it.
#include <algorithm>
#include <limits>

#include "team.hpp"

using namespace programs;

namespace {

struct Factors {
  explicit Factors(Index order)
      : n(order), a(static_cast<std::size_t>(n * n)), pivot(static_cast<std::size_t>(n)) {}
  double* column(Index k) { return &a[static_cast<std::size_t>(k * n)]; }
  Index n;
  std::vector<double> a;  // by columns: U above, L's multipliers below the diagonal
  std::vector<std::int64_t> pivot;
};

// Moves the largest element to the diagonal, and computes the multipliers below it.
void factor_column(Factors& f, Index k) {
  double* column = f.column(k);
  Index p = k;
  for (Index i = k + 1; i < f.n; ++i)
    if (std::fabs(column[i]) > std::fabs(column[p])) p = i;
  f.pivot[static_cast<std::size_t>(k)] = p;
  std::swap(column[k], column[p]);
  const double inverse = 1 / column[k];
  for (Index i = k + 1; i < f.n; ++i) column[i] *= inverse;
}

// Applies column k's row exchange and elimination to column j.
void apply(Factors& f, Index k, Index j) {
  double* column = f.column(j);
  std::swap(column[k], column[f.pivot[static_cast<std::size_t>(k)]]);
  if (j < k) return;
  const double* multipliers = f.column(k);
  const double top = column[k];
  for (Index i = k + 1; i < f.n; ++i) column[i] -= multipliers[i] * top;
}

void factor(Factors& f, const std::vector<double>& matrix, Member& member) {
  for (Index j = member.rank(); j < f.n; j += member.threads())
    std::copy_n(&matrix[static_cast<std::size_t>(j * f.n)], f.n, f.column(j));
  if (member.rank() == 0) factor_column(f, 0);
  member.barrier();
  for (Index k = 0; k < f.n; ++k) {
    for (Index j = member.rank(); j < f.n; j += member.threads())
      if (j != k) apply(f, k, j);
    if (k + 1 < f.n && (k + 1) % member.threads() == member.rank()) factor_column(f, k + 1);
    member.barrier();
  }
}

// |P A v - L U v| for a random v, in units of order x epsilon x |A| x |v|, all in the maximum norm. If any
// element is wrong, this is large. It costs n^2; the product of L and U would cost n^3 (Freivalds,
// Probabilistic Machines Can Use Less Running Time, 1977).
double residual(Factors& f, const std::vector<double>& matrix) {
  const auto n = static_cast<std::size_t>(f.n);
  std::vector<double> v(n), av(n), row_sum(n), uv(n), luv(n);
  std::uint64_t state = 2;
  for (double& x : v) x = random_number(state);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) {
      av[i] += matrix[j * n + i] * v[j];
      row_sum[i] += std::fabs(matrix[j * n + i]);
      if (i <= j) uv[i] += f.a[j * n + i] * v[j];
    }
  for (std::size_t k = 0; k < n; ++k) std::swap(av[k], av[static_cast<std::size_t>(f.pivot[k])]);
  for (std::size_t j = 0; j < n; ++j) {
    luv[j] += uv[j];
    for (std::size_t i = j + 1; i < n; ++i) luv[i] += f.a[j * n + i] * uv[j];
  }
  double most = 0, size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double off = std::fabs(av[i] - luv[i]);
    if (!(off <= most)) most = off;  // keeps a NaN
    size = std::max(size, std::fabs(v[i]));
  }
  const double norm = *std::max_element(row_sum.begin(), row_sum.end());
  return most / (norm * size * static_cast<double>(n) * std::numeric_limits<double>::epsilon());
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments a = arguments_of(argc, argv, "order of the matrix", 1, 8192);
  Factors factors(a.size);
  std::vector<double> matrix(factors.a.size());
  std::uint64_t state = 1;
  for (double& x : matrix) x = random_number(state);
  const Timing timing = run_team(a.threads, [&](Member& member) {
    for (int r = 0; r < a.repetitions; ++r) factor(factors, matrix, member);
  });
  const std::uint64_t sum = checksum(factors.pivot, checksum(factors.a));
  return report(a, timing, sum, "scaled residual of P A = L U", residual(factors, matrix), 16);
}
