// Conjugate gradient.
//
// Steps of one iteration (Hestenes and Stiefel 1952):
//   1. q = A p                                      reads all of p
//   2. alpha = (r, z) / (p, q)                      allreduce of 1 double; then no member reads the old p
//   3. x += alpha p, r -= alpha q, z = r / diagonal
//   4. beta = (r, z)new / (r, z), and |r|           allreduce of 2 doubles
//   5. p = z + beta p
//   6. barrier                                      p is complete before the next step 1 reads it
// So there are three synchronizations, two of which carry data.
#ifndef EXAMPLES_CG_CONJUGATE_GRADIENT_HPP
#define EXAMPLES_CG_CONJUGATE_GRADIENT_HPP

#include "solver.hpp"

namespace cg {

class ConjugateGradient : public Vectors {
 public:
  explicit ConjugateGradient(const Matrix& m) : Vectors(m), p_(x.size()), q_(x.size()) {}

  // Called by every member. Every diagonal entry must be stored and positive (why_not_spd).
  template <Team T>
  void solve(T& team, const Part& part, const Limits& limits, Outcome& out) {
    const double mine = start(part);
    auto [rz, rr] = team.allreduce(std::array{first_direction(part.rows), mine});
    History history(team.rank(), limits, rr, out);
    if (history.converged(rr)) return history.end(Ending::kConverged);
    for (int k = 0; k < limits.iterations; ++k) {
      const double pq = team.allreduce(std::array{multiply(part)})[0];  // 1., 2.
      if (!(pq > 0)) return history.end(Ending::kIndefinite);
      const auto sums = team.allreduce(update(rz / pq, part.rows));  // 3., 4.
      if (history.converged(sums[1])) return history.end(Ending::kConverged);
      turn(sums[0] / rz, part.rows);  // 5.
      rz = sums[0];
      team.barrier();  // 6.
    }
    history.end(Ending::kIterations);
  }

 private:
  // p = z. Returns this part's (r, z).
  double first_direction(Rows rows) {
    double rz = 0;
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      p_[row] = r[row] * inverse[row];
      rz += r[row] * p_[row];
    }
    return rz;
  }

  // Returns this part's (p, q).
  double multiply(const Part& part) {
    double dot = 0;
    for (std::size_t row = part.rows.first; row < part.rows.last; ++row) {
      q_[row] = row_times(part.a, row, p_);
      dot += p_[row] * q_[row];
    }
    return dot;
  }

  // Returns this part's (r, z) and (r, r).
  std::array<double, 2> update(double alpha, Rows rows) {
    double rz = 0, rr = 0;
    for (std::size_t row = rows.first; row < rows.last; ++row) {
      x[row] += alpha * p_[row];
      const double now = r[row] -= alpha * q_[row];
      rz += now * (now * inverse[row]);
      rr += now * now;
    }
    return {rz, rr};
  }

  void turn(double beta, Rows rows) {
    for (std::size_t row = rows.first; row < rows.last; ++row)
      p_[row] = r[row] * inverse[row] + beta * p_[row];
  }

  std::vector<double> p_, q_;
};

}  // namespace cg
#endif
