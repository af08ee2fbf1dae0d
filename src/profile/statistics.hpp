// Robust averages and line fits.
#ifndef FERMATA_PROFILE_STATISTICS_HPP
#define FERMATA_PROFILE_STATISTICS_HPP

#include <vector>

namespace fermata {

double median(std::vector<double> values);  // 0 if empty

// The mean without the lowest and the highest tenth of the values; 0 if empty. Where values form two groups,
// this mean depends on how large each group is. A median does not.
double trimmed_mean(std::vector<double> values);

struct LineFit {
  double intercept = 0, slope = 0;
};

// Weighted least squares through (x, y). The weights are 1 / y^2, so that each point counts by its relative
// error. A profile is used for stages of one to four signals. With equal weights, the noise of the long
// stages (up to 32 signals) would dominate these.
// Neither part is negative: if the free fit makes one negative, that part becomes 0 and the other is fitted
// alone.
LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y);

// What one more of x costs, where it costs something for certain. Where noise hides the slope, the largest x
// and its whole y stand for it, which is too much rather than nothing.
inline double unit_cost(double slope, double most_x, double its_y) {
  return slope > 0 ? slope : its_y / most_x;
}

}  // namespace fermata
#endif
