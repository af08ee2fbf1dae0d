// The property worker: tests run it for algorithms x layouts x engines x wait policies.
// In each episode it checks: results are right. In a barrier and an allreduce: no member leaves before all
// have entered, and plain data written before are seen after. In an allreduce: results are bitwise equal at
// all members. Episodes follow back to back, so slots are reused. Arrivals vary: together, one late, one
// early, random.
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
  bool sabotage = false;   // in a barrier: rank 0 reads before it has waited, and the worker must report it
  int hosts = 1;           // simulated: a segment each, joined by `links`
  bool scattered = false;  // ranks are dealt to the hosts in turn, not in blocks
  net::LoopOptions links = {};
};

// Returns an empty string if all held; else what failed, at which member and episode, with the team's report;
// or why there is no team. Returns "unsupported: ..." if there is no such plan.
std::string run_property(const PropertyCase& test);

}  // namespace fermata::test
#endif
