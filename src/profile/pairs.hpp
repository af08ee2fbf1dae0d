// Which pairs of CPUs are measured, how long that takes, and how the measured ones stand for the others.
#ifndef FERMATA_PROFILE_PAIRS_HPP
#define FERMATA_PROFILE_PAIRS_HPP

#include <cstdint>
#include <vector>

#include "profile/profile.hpp"

namespace fermata {

struct CpuPair {
  std::int32_t a = 0, b = 0;  // rows of the matrices
};

struct MeasuringPlan {
  std::vector<CpuPair> pairs, byte_pairs, representatives;  // one representative per level
  // Seconds of a round: of each pair, of each pair's bytes, of each measurement that comes once, of each CPU alone; and of all rounds.
  double each = 0, byte_each = 0, extra = 0, self = 0, total = 0;
  int rounds = 1;
};
// Every pair, or with options.sample some of each level. The total is minutes at most, however many CPUs there are.
MeasuringPlan measuring_plan(const Topology& topology, const ProfileOptions& options);

// seconds_per_pair for a budget in seconds for all. What comes once takes about as long as 20 pairs, and a pair's bytes half as long as
// its signals.
double share_of_pair(double seconds, std::size_t cpus);

// Section IV.B of heterogeneous-mpi-barriers: similar subsystems have similar submatrices. The medians of each level's measured pairs
// become the costs of those whose O + L, or g, is 0; a level of which nothing was measured stays as it is.
void replicate(Profile& profile);
void replicate_bytes(Profile& profile);

// Hundredths of a ns: more would only be noise in the file. Of a byte: ten thousandths.
double rounded(double ns);
double rounded_byte(double ns);

}  // namespace fermata
#endif
