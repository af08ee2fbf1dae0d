// Robust centres and lines.
#ifndef FERMATA_PROFILE_STATISTICS_HPP
#define FERMATA_PROFILE_STATISTICS_HPP

#include <vector>

namespace fermata {

double median(std::vector<double> values);  // 0 if there are none

// The mean without the lowest and the highest tenth; 0 if there are none. Where values fall into two groups it says how large
// each is, which a median doesn't.
double trimmed_mean(std::vector<double> values);

struct LineFit {
  double intercept = 0, slope = 0;
};

// Weighted least squares through (x, y); weights 1 / y^2, so that each point counts by its relative error: a
// profile is used for stages of one to four signals, which plain least squares over 1..32 would leave to the
// noise of the long ones. Neither part is negative: where the free fit would make one so, it is 0 and the
// other is fitted alone.
LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace fermata
#endif
