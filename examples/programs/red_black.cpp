// Red-black Gauss-Seidel for Poisson's equation on a square: u = (sum of the four neighbours + g) / 4, first
// at the red points, then at the black ones, with a barrier after each colour. SIZE is the number of inner
// points along a side, REPETITIONS the number of sweeps.
//
// The right-hand side is (1 - mu) v, where v is an eigenvector of the averaging with eigenvalue
// mu = cos(pi / (SIZE + 1)): the solution is v. The first error is -v, since u = 0. A half sweep makes the
// error mu times the other colour's error. After k sweeps u is (1 - mu^(2k-1)) v at the red points and (1 -
// mu^(2k)) v at the black ones; every point is compared with that.
#include <algorithm>

#include "team.hpp"

using namespace programs;

namespace {

struct Grid {
  explicit Grid(Index inner) : n(inner), stride(inner + 2) {}
  std::size_t at(Index row, Index column) const { return static_cast<std::size_t>(row * stride + column); }
  Index n, stride;
};

void half_sweep(const Grid& grid, std::vector<double>& u, const std::vector<double>& g, Range rows,
                int colour) {
  for (Index row = rows.begin + 1; row <= rows.end; ++row) {
    double* here = &u[grid.at(row, 0)];
    const double* above = here - grid.stride;
    const double* below = here + grid.stride;
    const double* source = &g[grid.at(row, 0)];
    for (Index c = 1 + (row + 1 + colour) % 2; c <= grid.n; c += 2)
      here[c] = (above[c] + below[c] + here[c - 1] + here[c + 1] + source[c]) * 0.25;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments a = arguments_of(argc, argv, "inner points along a side", 1, 16384);
  const Grid grid(a.size);
  const double h = std::acos(-1.0) / static_cast<double>(a.size + 1);
  const double mu = std::cos(h);
  std::vector<double> u(static_cast<std::size_t>(grid.stride * grid.stride)), g(u.size()), v(u.size());
  for (Index row = 1; row <= grid.n; ++row)
    for (Index c = 1; c <= grid.n; ++c) {
      v[grid.at(row, c)] = std::sin(h * static_cast<double>(row)) * std::sin(h * static_cast<double>(c));
      g[grid.at(row, c)] = 4 * (1 - mu) * v[grid.at(row, c)];
    }

  const Timing timing = run_team(a.threads, [&](Member& member) {
    const Range rows = member.share(grid.n);
    for (int sweep = 0; sweep < a.repetitions; ++sweep)
      for (int colour = 0; colour < 2; ++colour) {
        half_sweep(grid, u, g, rows, colour);
        member.barrier();
      }
  });

  const double left[2] = {std::pow(mu, 2.0 * a.repetitions - 1), std::pow(mu, 2.0 * a.repetitions)};
  double error = 0;
  for (Index row = 1; row <= grid.n; ++row)
    for (Index c = 1; c <= grid.n; ++c) {
      const double wanted = (1 - left[(row + c) % 2]) * v[grid.at(row, c)];
      error = std::max(error, std::fabs(u[grid.at(row, c)] - wanted));
    }
  // A sweep rounds each point a few times, and reduces earlier errors by the factor mu^2.
  return report(a, timing, checksum(u), "distance from the iterate that theory gives", error,
                8 * 0x1p-52 / (1 - mu * mu));
}
