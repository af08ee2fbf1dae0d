// Who runs the members of a solve.
#ifndef EXAMPLES_CG_ENGINES_HPP
#define EXAMPLES_CG_ENGINES_HPP

#include <string>
#include <vector>

#include "solver.hpp"

namespace cg {

struct Job {
  const Matrix* matrix = nullptr;
  int threads = 1;
  Limits limits;
  std::vector<int> cpus;  // where each rank runs; empty: wherever the system likes
  int repeats = 1;        // solves of the same system, each timed; threads and team are made once
};

struct Result {
  Outcome outcome;               // of the last solve
  std::vector<double> solution;  // of the last solve
  std::vector<double> seconds;   // of each solve, from the barrier before to the barrier behind
  bool repeatable = true;        // did all solves give bitwise the same residuals?
};

Result run_serial(const Job& job);
Result run_fermata(const Job& job);
// Throws std::runtime_error where the program was built without OpenMP.
Result run_openmp(const Job& job);

}  // namespace cg
#endif
