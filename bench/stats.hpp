// Robust statistics of batch samples, without means: one preempted batch would spoil a mean.
#ifndef FERMATA_BENCH_STATS_HPP
#define FERMATA_BENCH_STATS_HPP

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace fermata::bench {

struct Summary {
  std::size_t count = 0;
  double median = 0, p10 = 0, p90 = 0, p99 = 0, min = 0;
};

// Linear interpolation between order statistics at q x (count - 1). Precondition: not empty.
double quantile(std::vector<double> values, double q);
Summary summarize(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};
// Contains the median of the values' distribution, whatever it is, with a probability of at least 95 %. The
// bounds are the k-th value from below and from above, with the largest k such that 2 P(B(n, 1/2) < k) <= 5
// %. Nothing for fewer than six values. Source: Conover, Practical Nonparametric Statistics, section 3.2. The
// values are assumed to be independent.
std::optional<Interval> median_interval(std::vector<double> values);

struct Ratio {
  double median = 0;
  std::optional<Interval> interval;
};
// One sample per round; NaN if the subject did not run in it. Uses the rounds in which both ran and the
// base's time is positive; nothing if there are none. Pairing cancels slow drift: both ran in the same round.
std::optional<Ratio> paired_ratio(std::span<const double> subject, std::span<const double> base);

std::vector<double> present(std::span<const double> rounds);  // without the NaNs

}  // namespace fermata::bench
#endif
