// The one property worker: every algorithm x layout x engine x wait policy passes through it.
//
// Checked in each episode: nobody leaves before all have entered; plain data written before is seen after;
// results are right and bitwise equal at all members; slots survive back-to-back reuse. Arrivals vary:
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
  std::string algorithm = {};  // empty: the planner's choice
  std::string layout = {};
  int kind = FERMATA_BARRIER;
  int members = 2;
  int payload = 0;
  int engine = FERMATA_THREADS;  // or FERMATA_PROCESSES, kMixed
  int wait = FERMATA_WAIT_AUTO;
  int episodes = 50;
  bool tagged = false;
  Arrivals arrivals = Arrivals::kTogether;
  bool sabotage = false;   // rank 0 looks before it has waited: the worker must see it
  int hosts = 1;           // pretended ones, each with a segment of its own, joined by such links
  bool scattered = false;  // ranks are dealt out to the hosts in turn, not in blocks
  net::LoopOptions links = {};
};

// Empty: all held. Else what failed, at which member and episode, with the team's report; "unsupported: ..."
// where the table says that the combination cannot be built.
std::string run_property(const PropertyCase& test);

}  // namespace fermata::test
#endif
