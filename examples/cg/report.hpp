// Residual histories compared, and a run written as text and JSON.
#ifndef EXAMPLES_CG_REPORT_HPP
#define EXAMPLES_CG_REPORT_HPP

#include <optional>
#include <string>
#include <vector>

#include "engines.hpp"

namespace cg {

// How far a residual history is from the serial run's.
struct Difference {
  double largest = 0;        // largest |r_k - s_k| / s_k over the common iterations; s_k at least 1e-13 s_0
  int iterations_apart = 0;  // |length difference|
  bool equal_to_rounding = false;
};

// Sums of the same numbers in another order differ by rounding; the recurrence then amplifies the difference
// by about the condition number while it converges. Equal: within 1e-5 of each other at every iteration, and
// over within two iterations of one another.
Difference compare(const std::vector<double>& residuals, const std::vector<double>& serial);

struct Report {
  std::string matrix_name;
  std::string engine;
  const Job* job = nullptr;
  const Result* result = nullptr;
  std::optional<Difference> difference;
};

double median(std::vector<double> values);
double largest_error(const std::vector<double>& solution);  // against exact_solution()
const char* name_of(Ending ending);
void print(const Report& report);
std::string to_json(const Report& report);

}  // namespace cg
#endif
