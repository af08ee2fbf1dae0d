// Pipelined conjugate gradient: one allreduce per iteration, which overlaps with the product with A.
//
// Steps of one iteration (Ghysels and Vanroose, Parallel Computing 40, 2014; recurrences update u = r /
// diagonal and w = A u):
//   1. (r, u), (w, u), (r, r); m = w / diagonal     allreduce of 3 doubles begins
//   2. arrive: this part of m is written
//   3. n = A m, for the rows that need only this part of m
//   4. depart: m is complete; the other rows of n
//   5. wait for the sums: alpha, beta, and whether to stop
//   6. z = n + beta z, q = m + beta q, s = w + beta s, p = u + beta p
//   7. x += alpha p, r -= alpha s, u -= alpha q, w -= alpha z
// So a member waits only for members that are later than its product with A takes. The price: four more
// vectors to update, and rounding that grows faster, since the recurrences let r and b - A x drift apart. m
// has two buffers, used alternately. Others may read one in step 4 while this member writes the other in the
// next step 1. When this member returns to the first buffer, step 5 has ended, so all have begun the
// allreduce after that step 4.
#ifndef EXAMPLES_CG_PIPELINED_CG_HPP
#define EXAMPLES_CG_PIPELINED_CG_HPP

#include <algorithm>

#include "solver.hpp"

namespace cg {

class PipelinedCg : public Vectors {
 public:
  explicit PipelinedCg(const Matrix& m)
      : Vectors(m),
        u_(x.size()),
        w_(x.size()),
        n_(x.size()),
        z_(x.size()),
        q_(x.size()),
        s_(x.size()),
        p_(x.size()),
        m_{u_, u_} {}

  // Called by every member. Every diagonal entry must be stored and positive (why_not_spd).
  template <Team T>
  void solve(T& team, const Part& part, const Limits& limits, Outcome& out) {
    const Rows alone = rows_alone(part.a, part.rows);
    const double mine = start(part);
    for (std::size_t row = part.rows.first; row < part.rows.last; ++row) u_[row] = r[row] * inverse[row];
    History history(team.rank(), limits, team.allreduce(std::array{mine})[0], out);  // u is complete, too
    // u changes only after the first step 5
    for (std::size_t row = part.rows.first; row < part.rows.last; ++row) {
      w_[row] = row_times(part.a, row, u_);
      z_[row] = q_[row] = s_[row] = p_[row] = 0;
    }
    double gamma = 0, alpha = 0;
    for (int k = 0;; ++k) {
      std::vector<double>& m = m_[k % 2];
      team.begin(sums(m, part.rows));    // 1.
      team.arrive();                     // 2.
      multiply(team, part.a, m, alone);  // 3.
      team.depart();                     // 4.
      multiply(team, part.a, m, {part.rows.first, alone.first});
      multiply(team, part.a, m, {alone.last, part.rows.last});
      const auto [next, delta, rr] = team.finish();  // 5.
      if (history.converged(rr)) return history.end(Ending::kConverged);
      if (k == limits.iterations) return history.end(Ending::kIterations);
      const double beta = k > 0 ? next / gamma : 0;
      const double curvature = k > 0 ? delta - beta * next / alpha : delta;  // (p, A p)
      if (!(curvature > 0)) return history.end(Ending::kIndefinite);
      gamma = next;
      alpha = gamma / curvature;
      update(alpha, beta, m, part.rows);  // 6., 7.
    }
  }

 private:
  static constexpr std::size_t kRowsBetween = 512;  // some microseconds

  // Returns this part's (r, u), (w, u) and (r, r).
  std::array<double, 3> sums(std::vector<double>& m, Rows rows) {
    double ru = 0, wu = 0, rr = 0;
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      ru += r[row] * u_[row];
      wu += w_[row] * u_[row];
      rr += r[row] * r[row];
      m[row] = w_[row] * inverse[row];
    }
    return {ru, wu, rr};
  }

  // Calls progress between groups of rows, so that the sums go on.
  template <Team T>
  void multiply(T& team, const Matrix& a, const std::vector<double>& m, Rows rows) {
    for (std::size_t row = rows.first; row < rows.last;) {
      const std::size_t end = std::min(rows.last, row + kRowsBetween);
      for (; row < end; ++row) n_[row] = row_times(a, row, m);
      team.progress();
    }
  }

  void update(double alpha, double beta, const std::vector<double>& m, Rows rows) {
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      z_[row] = n_[row] + beta * z_[row];
      q_[row] = m[row] + beta * q_[row];
      s_[row] = w_[row] + beta * s_[row];
      p_[row] = u_[row] + beta * p_[row];
      x[row] += alpha * p_[row];
      r[row] -= alpha * s_[row];
      u_[row] -= alpha * q_[row];
      w_[row] -= alpha * z_[row];
    }
  }

  std::vector<double> u_, w_, n_, z_, q_, s_, p_;
  std::array<std::vector<double>, 2> m_;
};

}  // namespace cg
#endif
