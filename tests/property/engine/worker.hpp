// The property worker runs every algorithm x layout x engine x wait policy.
// In each episode it checks: no member leaves before all have entered; plain data written before are seen
// after; results are right and bitwise equal at all members; slots survive back-to-back reuse. Arrivals vary:
// together, one late, one early, random.
#ifndef FERMATA_TESTS_PROPERTY_WORKER_HPP
#define FERMATA_TESTS_PROPERTY_WORKER_HPP

#include <cstdint>
#include <string>

#include "../engines.hpp"
#include "../hosts.hpp"

namespace fermata::test {

enum class Arrivals { kTogether, kOneLate, kOneEarly, kRandom };

struct PropertyCase {
  std::string algorithm = {};  // empty: the planner chooses
  std::string layout = {};
  int collective = FERMATA_BARRIER;
  int members = 2;
  int payload = 0;
  int engine = FERMATA_THREADS;  // or FERMATA_PROCESSES or kMixed
  int wait = FERMATA_WAIT_AUTO;
  int episodes = 50;
  bool tagged = false;
  Arrivals arrivals = Arrivals::kTogether;
  bool sabotage = false;   // rank 0 reads before it has waited: the worker must report it
  int hosts = 1;           // simulated: a segment each, joined by `links`
  bool scattered = false;  // ranks are dealt to the hosts in turn, not in blocks
  net::LoopOptions links = {};
};

// Returns an empty string if all held; else what failed, at which member and episode, with the team's report.
// Returns "unsupported: ..." if the table cannot build the combination.
std::string run_property(const PropertyCase& test);

}  // namespace fermata::test
#endif
