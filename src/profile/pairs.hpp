// Plans which pairs of CPUs to measure and for how long, and copies the measured costs to the other pairs.
#ifndef FERMATA_PROFILE_PAIRS_HPP
#define FERMATA_PROFILE_PAIRS_HPP

#include <cstdint>
#include <vector>

#include "profile/profile.hpp"

namespace fermata {

struct RowPair {
  std::int32_t a = 0, b = 0;  // rows of the matrices: CPUs, or processes of a job
};
std::vector<RowPair> all_pairs(std::int32_t rows);  // in both directions

double median_of(const Matrix& matrix, const std::vector<RowPair>& pairs);
LinkCost median_of(const Profile& profile, const std::vector<RowPair>& pairs);  // known: there are pairs

struct MeasuringPlan {
  std::vector<RowPair> pairs, byte_pairs, representatives;  // one representative per level
  // Seconds per round. each: one pair's signals. byte_each: one pair's bytes. extra: a measurement that is
  // made once per round. self: one CPU alone. total: seconds of all rounds together.
  double each = 0, byte_each = 0, extra = 0, self = 0, total = 0;
  int rounds = 1;
};
// Plans every pair, or with options.sample at most three pairs of each level. If these are more than 400, the
// bytes of at most three pairs of each level are timed. With the default seconds_per_pair, the total is a few
// minutes at most, however many CPUs there are. The measurements may take longer than planned.
MeasuringPlan measuring_plan(const Topology& topology, const ProfileOptions& options);

// Returns the seconds_per_pair with which the whole profile takes about `seconds`. The measurements that are
// made once per round take about as long as 20 pairs. A pair's bytes take half as long as its signals.
double share_of_pair(double seconds, std::size_t cpus);

// Section IV.B of heterogeneous-mpi-barriers: similar subsystems have similar submatrices. Pairs whose O + L
// (replicate) or g (replicate_bytes) is 0 get the medians of the measured pairs of their level. A level
// without a measured pair does not change.
void replicate(Profile& profile);
void replicate_bytes(Profile& profile);

// rounded() rounds to hundredths of a ns, since more digits are noise. rounded_byte() rounds to ten
// thousandths, rounded_share() to thousandths.
double rounded(double ns);
double rounded_byte(double ns);
double rounded_share(double share);

}  // namespace fermata
#endif
