// The engines that run the members of a solve.
#ifndef EXAMPLES_CG_ENGINES_HPP
#define EXAMPLES_CG_ENGINES_HPP

#include <string>
#include <vector>

#include "solver.hpp"

namespace cg {

enum class Method { kConjugateGradient, kPipelinedCg, kBicgstab };

struct Job {
  const Matrix* matrix = nullptr;
  Method method = Method::kConjugateGradient;
  int threads = 1;
  Limits limits;
  std::vector<int> cpus;  // each rank's CPU; empty: the system decides
  int repeats = 1;        // solves of the same system, each timed; threads and team are created once
};

struct Result {
  Outcome outcome;               // of the last solve
  std::vector<double> solution;  // of the last solve
  std::vector<double> seconds;   // of each solve, from the barrier before it to the barrier after it
  bool repeatable = true;        // whether all solves gave bitwise the same residuals
};

Result run_serial(const Job& job);
// A serial run whose sums are wrong in their last bit, alternately too large and too small. It shows what
// rounding does to this method on this system.
Result run_nudged(const Job& job);
Result run_fermata(const Job& job);
// Throws std::runtime_error if the program was built without OpenMP.
Result run_openmp(const Job& job);

}  // namespace cg
#endif
