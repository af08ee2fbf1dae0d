// How well predictions order and hit measurements.
#ifndef FERMATA_PLAN_AGREEMENT_HPP
#define FERMATA_PLAN_AGREEMENT_HPP

#include <vector>

namespace fermata {

struct Agreement {
  double rank_correlation = 0;  // Spearman's, average ranks for ties; measurements within `noise` of each other are ties
  double pairs_in_order = 0;    // of those pairs that measurement tells apart: the share that the prediction orders alike
  double median_error = 0;      // of |predicted - measured| / measured
  double worst_error = 0;
};

// Equally long, at least 2 entries, all > 0. noise: relative, e.g. 0.05.
Agreement agreement(const std::vector<double>& predicted, const std::vector<double>& measured, double noise);

}  // namespace fermata
#endif
