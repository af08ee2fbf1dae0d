// How well predictions match measurements, in their order and in their values.
#ifndef FERMATA_PLAN_AGREEMENT_HPP
#define FERMATA_PLAN_AGREEMENT_HPP

#include <vector>

namespace fermata {

struct Agreement {
  // Spearman's coefficient; 0 if all values of a side are ties. In sorted order, the values within `noise` of
  // the first one of a run are ties, which share their average rank.
  double rank_correlation = 0;
  // The share of pairs that the prediction orders as the measurement does; an equal prediction does not.
  // Pairs whose measurements are within `noise` do not count; 1 if none counts.
  double pairs_in_order = 0;
  double median_error = 0;  // of |predicted - measured| / measured
  double worst_error = 0;
};

// Precondition: both vectors are equally long, with at least 2 entries, all > 0. noise: relative, e.g. 0.05.
Agreement agreement(const std::vector<double>& predicted, const std::vector<double>& measured, double noise);

}  // namespace fermata
#endif
