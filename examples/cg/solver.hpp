// The common part of the solvers: the members' Team, the system, its parts, and the outcome of a solve. Each
// method has a file of its own: conjugate_gradient.hpp, pipelined_cg.hpp, bicgstab.hpp.
//
// All solve A x = b with Jacobi's preconditioner M = diag(A), each member on its own rows. Every member
// computes the same scalars from bitwise equal sums, so all leave the loop in the same iteration without
// further communication.
#ifndef EXAMPLES_CG_SOLVER_HPP
#define EXAMPLES_CG_SOLVER_HPP

#include <array>
#include <cmath>
#include <concepts>
#include <vector>

#include "sparse.hpp"

namespace cg {

// The operations that a member needs.
// - allreduce: the sums over all members, at all members.
// - arrive, depart: a split barrier; no member returns from depart before all have called arrive.
// - begin, progress, finish: a sum that goes on while the member works; barriers may lie between the calls.
template <class T>
concept Team =
    requires(T& team, std::array<double, 1> one, std::array<double, 2> two, std::array<double, 3> three) {
      { team.rank() } -> std::convertible_to<int>;
      { team.allreduce(one) } -> std::same_as<std::array<double, 1>>;
      { team.allreduce(two) } -> std::same_as<std::array<double, 2>>;
      { team.barrier() } -> std::same_as<void>;
      { team.arrive() } -> std::same_as<void>;
      { team.depart() } -> std::same_as<void>;
      { team.begin(three) } -> std::same_as<void>;
      { team.progress() } -> std::same_as<void>;
      { team.finish() } -> std::same_as<std::array<double, 3>>;
    };

struct Limits {
  int iterations = 1000;
  double tolerance = 1e-10;  // limit of |r| / |b|
};

enum class Ending { kConverged, kIterations, kIndefinite, kBreakdown };

struct Outcome {
  Ending ending = Ending::kIterations;
  std::vector<double> residuals;  // |r_k|, k = 0..iterations; written by rank 0
};

// One member's rows of the system. The lines of its vectors stay in that member's cache, except for the rows
// at the border between two parts.
struct Part {
  const Matrix& a;
  Rows rows;
};

inline double row_times(const Matrix& a, std::size_t row, const std::vector<double>& v) {
  double sum = 0;
  for (auto i = static_cast<std::size_t>(a.row_start[row]);
       i < static_cast<std::size_t>(a.row_start[row + 1]); ++i)
    sum += a.value[i] * v[static_cast<std::size_t>(a.column[i])];
  return sum;
}

// The solution for which the right-hand side is made. It lacks the symmetry of a grid, which would end a
// solve early.
inline double exact_solution(std::int32_t row) { return 1 + 0.5 * std::sin(0.7 * row); }

// The vectors of every method, shared by all members.
struct Vectors {
  explicit Vectors(const Matrix& m) : x(static_cast<std::size_t>(m.rows)), r(x.size()), inverse(x.size()) {}

  // x = 0, r = b = A times the exact solution. Returns this part's (r, r).
  double start(const Part& part) {
    const Matrix& a = part.a;
    double rr = 0;
    for (std::size_t row = part.rows.first; row < part.rows.last; ++row) {
      double b = 0;
      for (auto i = static_cast<std::size_t>(a.row_start[row]);
           i < static_cast<std::size_t>(a.row_start[row + 1]); ++i) {
        b += a.value[i] * exact_solution(a.column[i]);
        if (a.column[i] == static_cast<std::int32_t>(row)) inverse[row] = 1 / a.value[i];
      }
      x[row] = 0;
      r[row] = b;
      rr += b * b;
    }
    return rr;
  }

  std::vector<double> x, r;
  std::vector<double> inverse;  // of the diagonal
};

// Records |r| of each iteration, and tests whether it is small enough.
class History {
 public:
  History(int rank, const Limits& limits, double rr, Outcome& out)
      : out_(rank == 0 ? &out : nullptr), goal_(limits.tolerance * limits.tolerance * rr) {}

  bool converged(double rr) {
    if (out_ != nullptr) out_->residuals.push_back(std::sqrt(rr));
    return rr <= goal_;
  }
  void end(Ending ending) {
    if (out_ != nullptr) out_->ending = ending;
  }

 private:
  Outcome* const out_;
  const double goal_;
};

}  // namespace cg
#endif
