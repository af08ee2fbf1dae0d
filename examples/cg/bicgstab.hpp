// BiCGStab, for matrices that need not be symmetric.
//
// Steps of one iteration (van der Vorst 1992, preconditioned; r^ is the first residual):
//   1. v = A y, where y = p / diagonal
//   2. alpha = (r^, r) / (r^, v)                    allreduce of 1 double; then no member reads the old y
//   3. s = r - alpha v (in r's place), z = s / diagonal
//   4. barrier                                      z is complete
//   5. t = A z
//   6. omega = (t, s) / (t, t)                      allreduce of 2 doubles; then no member reads the old z
//   7. x += alpha y + omega z, r = s - omega t
//   8. (r^, r)new, and |r|                          allreduce of 2 doubles
//   9. p = r + beta (p - omega v), y = p / diagonal, where beta = (r^, r)new / (r^, r) alpha / omega
//  10. barrier                                      y is complete
// So there are five synchronizations for two products with A.
// (|r|^2 could come from sums of step 6, as (s, s) - (t, s)^2 / (t, t). That saves an allreduce, but loses
// the digits that cancel in the difference.)
#ifndef EXAMPLES_CG_BICGSTAB_HPP
#define EXAMPLES_CG_BICGSTAB_HPP

#include "solver.hpp"

namespace cg {

class Bicgstab : public Vectors {
 public:
  explicit Bicgstab(const Matrix& m)
      : Vectors(m), shadow_(x.size()), p_(x.size()), v_(x.size()), t_(x.size()), y_(x.size()), z_(x.size()) {}

  // Called by every member. No diagonal entry may be 0 (why_no_jacobi).
  template <Team T>
  void solve(T& team, const Part& part, const Limits& limits, Outcome& out) {
    double rho = team.allreduce(std::array{start(part)})[0];
    History history(team.rank(), limits, rho, out);
    if (history.converged(rho)) return history.end(Ending::kConverged);
    first_direction(part.rows);
    team.barrier();
    for (int k = 0; k < limits.iterations; ++k) {
      const double down = team.allreduce(std::array{along_direction(part)})[0];  // 1., 2.
      if (!usable(down)) return history.end(Ending::kBreakdown);
      const double alpha = rho / down;
      half_step(alpha, part.rows);                                  // 3.
      team.barrier();                                               // 4.
      const auto [ts, tt] = team.allreduce(along_half_step(part));  // 5., 6.
      // s = 0: x + alpha y is the solution
      const double omega = tt > 0 ? ts / tt : 0;
      const auto [next, rr] = team.allreduce(full_step(alpha, omega, part.rows));  // 7., 8.
      if (history.converged(rr)) return history.end(Ending::kConverged);
      if (!usable(omega) || !usable(next)) return history.end(Ending::kBreakdown);
      turn(next / rho * (alpha / omega), omega, part.rows);  // 9.
      rho = next;
      team.barrier();  // 10.
    }
    history.end(Ending::kIterations);
  }

 private:
  static bool usable(double divisor) { return std::isfinite(divisor) && divisor != 0; }

  void first_direction(Rows rows) {
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      shadow_[row] = p_[row] = r[row];
      y_[row] = p_[row] * inverse[row];
    }
  }

  // Returns this part's (r^, v).
  double along_direction(const Part& part) {
    double dot = 0;
    for (std::size_t row = part.rows.first; row < part.rows.last; ++row) {
      v_[row] = row_times(part.a, row, y_);
      dot += shadow_[row] * v_[row];
    }
    return dot;
  }

  void half_step(double alpha, Rows rows) {
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      r[row] -= alpha * v_[row];
      z_[row] = r[row] * inverse[row];
    }
  }

  // Returns this part's (t, s) and (t, t).
  std::array<double, 2> along_half_step(const Part& part) {
    double ts = 0, tt = 0;
    for (std::size_t row = part.rows.first; row < part.rows.last; ++row) {
      const double t = t_[row] = row_times(part.a, row, z_);
      ts += t * r[row];
      tt += t * t;
    }
    return {ts, tt};
  }

  // Returns this part's (r^, r) and (r, r).
  std::array<double, 2> full_step(double alpha, double omega, Rows rows) {
    double shadow = 0, rr = 0;
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      x[row] += alpha * y_[row] + omega * z_[row];
      const double now = r[row] -= omega * t_[row];
      shadow += shadow_[row] * now;
      rr += now * now;
    }
    return {shadow, rr};
  }

  void turn(double beta, double omega, Rows rows) {
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      p_[row] = r[row] + beta * (p_[row] - omega * v_[row]);
      y_[row] = p_[row] * inverse[row];
    }
  }

  std::vector<double> shadow_;  // r^
  std::vector<double> p_, v_, t_;
  std::vector<double> y_, z_;  // read across the borders of parts
};

}  // namespace cg
#endif
