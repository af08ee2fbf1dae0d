#include "plan/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace fermata {
namespace {

// Ranks start at 1. Sorted values within `noise` of the first one of their run share the run's average rank.
std::vector<double> ranks_of(const std::vector<double>& values, double noise) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] <= values[order[first]] * (1 + noise)) ++last;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = 0.5 * static_cast<double>(first + last) + 1;
    first = last + 1;
  }
  return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace

Agreement agreement(const std::vector<double>& predicted, const std::vector<double>& measured, double noise) {
  Agreement out;
  out.rank_correlation = correlation(ranks_of(predicted, noise), ranks_of(measured, noise));
  int told_apart = 0;
  int alike = 0;
  std::vector<double> errors;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    errors.push_back(std::abs(predicted[i] - measured[i]) / measured[i]);
    for (std::size_t j = 0; j < measured.size(); ++j) {
      if (measured[i] * (1 + noise) >= measured[j]) continue;
      ++told_apart;
      // A predicted tie does not count as the same order.
      if (predicted[i] < predicted[j]) ++alike;
    }
  }
  out.pairs_in_order = told_apart > 0 ? static_cast<double>(alike) / told_apart : 1;
  std::sort(errors.begin(), errors.end());
  out.median_error = errors[errors.size() / 2];
  out.worst_error = errors.back();
  return out;
}

}  // namespace fermata
