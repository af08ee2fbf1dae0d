#include "bench/stats.hpp"

#include <algorithm>
#include <cmath>

namespace fermata::bench {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

std::vector<double> present(std::span<const double> rounds) {
  std::vector<double> values;
  for (const double value : rounds) {
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

Summary summarize(std::span<const double> values) {
  const std::vector<double> v = present(values);
  if (v.empty()) return {};
  return {.count = v.size(),
          .median = quantile(v, 0.5),
          .p10 = quantile(v, 0.1),
          .p90 = quantile(v, 0.9),
          .p99 = quantile(v, 0.99),
          .min = *std::min_element(v.begin(), v.end())};
}

std::optional<Interval> median_interval(std::vector<double> values) {
  const auto n = static_cast<double>(values.size());
  const auto probability = [n](double i) {  // of i among n values below the median
    return std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) - n * std::log(2.0));
  };
  std::size_t k = 0;
  for (double tail = 0; k < values.size() / 2; ++k) {
    tail += probability(static_cast<double>(k));
    if (2 * tail > 0.05) break;
  }
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{values[k - 1], values[values.size() - k]};
}

std::optional<Ratio> paired_ratio(std::span<const double> subject, std::span<const double> base) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(subject.size(), base.size()); ++i) {
    if (!std::isnan(subject[i]) && !std::isnan(base[i]) && base[i] > 0)
      ratios.push_back(subject[i] / base[i]);
  }
  if (ratios.empty()) return std::nullopt;
  return Ratio{quantile(ratios, 0.5), median_interval(ratios)};
}

}  // namespace fermata::bench
