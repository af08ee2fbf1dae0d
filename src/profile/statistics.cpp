#include "profile/statistics.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace fermata {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return values.size() % 2 == 1 ? *half : 0.5 * (*std::max_element(values.begin(), half) + *half);
}

double trimmed_mean(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto cut = static_cast<std::ptrdiff_t>(values.size() / 10);
  const auto first = values.begin() + cut, last = values.end() - cut;
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    const double weight = y[i] > 0 ? 1 / (y[i] * y[i]) : 0;
    w += weight;
    wx += weight * x[i];
    wy += weight * y[i];
    wxx += weight * x[i] * x[i];
    wxy += weight * x[i] * y[i];
  }
  if (w <= 0) return {};
  const double determinant = w * wxx - wx * wx;
  if (determinant <= 1e-12 * w * wxx) return {wy / w, 0};
  const LineFit fit{(wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant};
  if (fit.slope < 0) return {wy / w, 0};
  if (fit.intercept < 0) return {0, wxy / wxx};
  return fit;
}

}  // namespace fermata
