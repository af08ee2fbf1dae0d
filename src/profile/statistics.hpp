// Robust averages and line fits.
#ifndef FERMATA_PROFILE_STATISTICS_HPP
#define FERMATA_PROFILE_STATISTICS_HPP

#include <vector>

namespace fermata {

double median(std::vector<double> values);  // 0 if empty

// The mean without the lowest and the highest tenth of the values, rounded down: of fewer than ten values all
// count. 0 if empty. If the values form two groups, this mean depends on the size of each group. A median
// mostly shows the larger group only.
double trimmed_mean(std::vector<double> values);

struct LineFit {
  double intercept = 0, slope = 0;
};

// Weighted least squares through (x, y). The weights are 1 / y^2, so that each point counts by its relative
// error. Points with y <= 0 do not count. The planner uses a profile mostly for stages of one to four
// signals. With equal weights, the noise of the long stages (up to 32 signals) would dominate the short ones.
// Neither part is negative: if the free fit makes a part negative, that part becomes 0, and a second fit
// finds the other part alone.
LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y);

// Returns the cost of one more x, where this cost is certainly above 0. If noise hides the slope, returns the
// whole y of the largest x, divided by that x: a cost that is too large is better than none.
inline double unit_cost(double slope, double most_x, double its_y) {
  return slope > 0 ? slope : its_y / most_x;
}

}  // namespace fermata
#endif
