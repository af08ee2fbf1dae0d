// Conjugate gradient over a Team: the one solver that all engines run.
//
// Steps of one iteration (Hestenes and Stiefel 1952, with Jacobi's preconditioner), each member on its own
// rows:
//   1. q = A p                                      reads all of p
//   2. alpha = (r, z) / (p, q)                      allreduce of 1 double; after it nobody reads the old p
//   any more
//   3. x += alpha p, r -= alpha q, z = r / diagonal
//   4. beta = (r, z)new / (r, z), and |r|           allreduce of 2 doubles
//   5. p = z + beta p
//   6. barrier                                      p is whole before the next step 1 reads it
// So three synchronizations, two of which carry data. Every member computes the same scalars from bitwise the
// same sums, so all leave the loop in the same iteration without asking each other.
#ifndef EXAMPLES_CG_SOLVER_HPP
#define EXAMPLES_CG_SOLVER_HPP

#include <array>
#include <cmath>
#include <concepts>
#include <vector>

#include "sparse.hpp"

namespace cg {

// What a member needs of the others. allreduce: the sum over all members, at all members.
template <class T>
concept Team = requires(T& team, double value) {
  { team.rank() } -> std::convertible_to<int>;
  { team.allreduce(value) } -> std::same_as<double>;
  { team.allreduce(value, value) } -> std::same_as<std::array<double, 2>>;
  { team.barrier() } -> std::same_as<void>;
};

struct Limits {
  int iterations = 1000;
  double tolerance = 1e-10;  // on |r| / |b|
};

enum class Ending { kConverged, kIterations, kIndefinite };

// Lines of one member's rows stay in that member's cache, but for the rows at the border between two parts.
struct Vectors {
  explicit Vectors(const Matrix& m)
      : x(static_cast<std::size_t>(m.rows)), r(x.size()), p(x.size()), q(x.size()), inverse(x.size()) {}
  std::vector<double> x, r, p, q;
  std::vector<double> inverse;  // of the diagonal
};

struct Outcome {
  Ending ending = Ending::kIterations;
  std::vector<double> residuals;  // |r_k|, k = 0..iterations; written by rank 0
};

inline double multiply_rows(const Matrix& a, const double* p, double* q, std::int32_t first,
                            std::int32_t last) {
  double dot = 0;
  for (std::int32_t row = first; row < last; ++row) {
    double sum = 0;
    for (auto i = a.row_start[static_cast<std::size_t>(row)];
         i < a.row_start[static_cast<std::size_t>(row) + 1]; ++i)
      sum += a.value[static_cast<std::size_t>(i)] * p[a.column[static_cast<std::size_t>(i)]];
    q[row] = sum;
    dot += p[row] * sum;
  }
  return dot;
}

// The solution that the right-hand side is made for: without the symmetry of a grid, which would end a solve
// early.
inline double exact_solution(std::int32_t row) { return 1 + 0.5 * std::sin(0.7 * row); }

// x = 0, r = b = A times the exact solution, p = z. Returns this member's parts of (r, z) and (r, r).
inline std::array<double, 2> start_rows(const Matrix& a, Vectors& v, std::int32_t first, std::int32_t last) {
  std::array<double, 2> mine{};
  for (auto row = static_cast<std::size_t>(first); row < static_cast<std::size_t>(last); ++row) {
    double b = 0;
    for (auto i = a.row_start[row]; i < a.row_start[row + 1]; ++i) {
      const auto entry = static_cast<std::size_t>(i);
      b += a.value[entry] * exact_solution(a.column[entry]);
      if (a.column[entry] == static_cast<std::int32_t>(row)) v.inverse[row] = 1 / a.value[entry];
    }
    v.x[row] = 0;
    v.r[row] = b;
    v.p[row] = b * v.inverse[row];
    mine[0] += b * v.p[row];
    mine[1] += b * b;
  }
  return mine;
}

// Step 3. Returns this member's parts of (r, z) and (r, r).
inline std::array<double, 2> update_rows(double alpha, Vectors& v, std::int32_t first, std::int32_t last) {
  double rz = 0;
  double rr = 0;
  for (auto row = static_cast<std::size_t>(first); row < static_cast<std::size_t>(last); ++row) {
    v.x[row] += alpha * v.p[row];
    const double r = v.r[row] -= alpha * v.q[row];
    rz += r * (r * v.inverse[row]);
    rr += r * r;
  }
  return {rz, rr};
}

// Called by every member with the same arguments. cuts: as partition() gives. Every diagonal entry must be
// there and positive (why_not_spd).
template <Team T>
void solve(T& team, const Matrix& a, const std::vector<std::int32_t>& cuts, const Limits& limits, Vectors& v,
           Outcome& out) {
  const auto rank = static_cast<std::size_t>(team.rank());
  const std::int32_t first = cuts[rank];
  const std::int32_t last = cuts[rank + 1];
  const std::array<double, 2> mine = start_rows(a, v, first, last);
  auto [rz, rr] = team.allreduce(mine[0], mine[1]);
  const double goal = limits.tolerance * limits.tolerance * rr;
  if (rank == 0) out.residuals.push_back(std::sqrt(rr));
  Ending ending = rr <= goal ? Ending::kConverged : Ending::kIterations;
  for (int k = 0; k < limits.iterations && ending == Ending::kIterations; ++k) {
    const double pq = team.allreduce(multiply_rows(a, v.p.data(), v.q.data(), first, last));
    if (!(pq > 0)) {
      ending = Ending::kIndefinite;
      break;
    }
    const std::array<double, 2> part = update_rows(rz / pq, v, first, last);
    const std::array<double, 2> sums = team.allreduce(part[0], part[1]);
    const double beta = sums[0] / rz;
    rz = sums[0];
    rr = sums[1];
    if (rank == 0) out.residuals.push_back(std::sqrt(rr));
    if (rr <= goal) ending = Ending::kConverged;
    for (auto row = static_cast<std::size_t>(first); row < static_cast<std::size_t>(last); ++row)
      v.p[row] = v.r[row] * v.inverse[row] + beta * v.p[row];
    team.barrier();
  }
  if (rank == 0) out.ending = ending;
}

}  // namespace cg
#endif
