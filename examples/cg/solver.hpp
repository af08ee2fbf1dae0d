// Conjugate gradient over a Team: the one solver that all engines run.
//
// Steps of one iteration (Hestenes and Stiefel 1952), each member on its own rows:
//   1. q = A p                          reads all of p
//   2. alpha = (r, r) / (p, q)          allreduce; after it nobody reads the old p any more
//   3. x += alpha p, r -= alpha q
//   4. beta = (r, r)new / (r, r)        allreduce
//   5. p = r + beta p
//   6. barrier                          p is whole before the next step 1 reads it
// So three synchronizations, two of which carry 8 bytes. Every member computes the same scalars from bitwise the same sums,
// so all leave the loop in the same iteration without asking each other.
#ifndef EXAMPLES_CG_SOLVER_HPP
#define EXAMPLES_CG_SOLVER_HPP

#include <cmath>
#include <concepts>
#include <memory>
#include <vector>

#include "sparse.hpp"

namespace cg {

// What a member needs of the others. allreduce: the sum over all members, at all members.
template <class T>
concept Team = requires(T& team, double value) {
  { team.rank() } -> std::convertible_to<int>;
  { team.allreduce(value) } -> std::same_as<double>;
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
      : x(static_cast<std::size_t>(m.rows)), r(x.size()), p(x.size()), q(x.size()) {}
  std::vector<double> x, r, p, q;
};

struct Outcome {
  Ending ending = Ending::kIterations;
  std::vector<double> residuals;  // |r_k|, k = 0..iterations; written by rank 0
};

inline double multiply_rows(const Matrix& a, const double* p, double* q, std::int32_t first, std::int32_t last) {
  double dot = 0;
  for (std::int32_t row = first; row < last; ++row) {
    double sum = 0;
    for (auto i = a.row_start[static_cast<std::size_t>(row)]; i < a.row_start[static_cast<std::size_t>(row) + 1]; ++i)
      sum += a.value[static_cast<std::size_t>(i)] * p[a.column[static_cast<std::size_t>(i)]];
    q[row] = sum;
    dot += p[row] * sum;
  }
  return dot;
}

// Called by every member with the same arguments. The right-hand side is A times ones, so the solution is all ones.
// cuts: as partition() gives. Start: x = 0.
template <Team T>
void solve(T& team, const Matrix& a, const std::vector<std::int32_t>& cuts, const Limits& limits, Vectors& v, Outcome& out) {
  const auto rank = static_cast<std::size_t>(team.rank());
  const std::int32_t first = cuts[rank];
  const std::int32_t last = cuts[rank + 1];
  double* const x = v.x.data();
  double* const r = v.r.data();
  double* const p = v.p.data();
  double* const q = v.q.data();

  double mine = 0;
  for (std::int32_t row = first; row < last; ++row) {
    double b = 0;
    for (auto i = a.row_start[static_cast<std::size_t>(row)]; i < a.row_start[static_cast<std::size_t>(row) + 1]; ++i)
      b += a.value[static_cast<std::size_t>(i)];
    x[row] = 0;
    r[row] = p[row] = b;
    mine += b * b;
  }
  double rr = team.allreduce(mine);
  const double goal = limits.tolerance * limits.tolerance * rr;
  if (rank == 0) out.residuals.push_back(std::sqrt(rr));
  Ending ending = rr <= goal ? Ending::kConverged : Ending::kIterations;
  for (int k = 0; k < limits.iterations && ending == Ending::kIterations; ++k) {
    const double pq = team.allreduce(multiply_rows(a, p, q, first, last));
    if (!(pq > 0)) {
      ending = Ending::kIndefinite;
      break;
    }
    const double alpha = rr / pq;
    mine = 0;
    for (std::int32_t row = first; row < last; ++row) {
      x[row] += alpha * p[row];
      r[row] -= alpha * q[row];
      mine += r[row] * r[row];
    }
    const double next = team.allreduce(mine);
    const double beta = next / rr;
    rr = next;
    if (rank == 0) out.residuals.push_back(std::sqrt(rr));
    if (rr <= goal) ending = Ending::kConverged;
    for (std::int32_t row = first; row < last; ++row) p[row] = r[row] + beta * p[row];
    team.barrier();
  }
  if (rank == 0) out.ending = ending;
}

}  // namespace cg
#endif
