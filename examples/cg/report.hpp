// Compares residual histories, and writes a run as text and JSON.
#ifndef EXAMPLES_CG_REPORT_HPP
#define EXAMPLES_CG_REPORT_HPP

#include <optional>
#include <string>
#include <vector>

#include "engines.hpp"

namespace cg {

// The distance of a residual history from the serial run's.
struct Difference {
  double largest = 0;        // largest |r_k - s_k| / s_k over the common iterations; s_k at least 1e-13 s_0
  double rounding = 0;       // the same for the nudged run
  int iterations_apart = 0;  // |length difference|
  bool equal_to_rounding = false;
};

// Sums of the same numbers in another order differ by rounding, and the recurrences amplify the difference.
// It depends on method and matrix and grows with the iterations, so it is measured: by a serial run whose
// sums are off by their last bit (run_nudged). Two runs are equal to rounding if
// - up to each iteration the distance is at most a thousand times the nudged run's, or 1e-12;
// - they end within two iterations of each other, or within a tenth of the iterations if the nudged run's end
//   is all rounding.
Difference compare(const std::vector<double>& residuals, const std::vector<double>& serial,
                   const std::vector<double>& nudged);

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
const char* name_of(Method method);
void print(const Report& report);
std::string to_json(const Report& report);

}  // namespace cg
#endif
