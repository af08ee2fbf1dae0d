// Runs a compiled plan on a simulated machine: the cursor that ships (exec/cursor.hpp), in virtual time.
#ifndef FERMATA_SIM_SIMULATE_HPP
#define FERMATA_SIM_SIMULATE_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "sim/engine.hpp"
#include "sim/machine.hpp"

namespace fermata::sim {

// kPeriod: calls back to back. kLatency: all members arrive at once, each time when nothing is left of the
// call before.
enum class Quantity : std::uint8_t { kPeriod, kLatency };

struct Options {
  Quantity quantity = Quantity::kPeriod;
  // At most so many, but enough for all slots and credits to be used several times; fewer once each further
  // one takes the same time.
  std::int32_t episodes = 1000;
  MemoryCosts costs = {};
  std::vector<Deed>* deeds = nullptr;  // null: none are noted
  std::int32_t deeds_from = 0;         // they are noted once so many calls are over
};

struct Outcome {
  double ns = 0;              // an episode, by the quantity
  std::int32_t episodes = 0;  // that all members have ended
  bool steady = false;        // each further episode would take the same time
  std::uint64_t events = 0;
  double misses = 0, stores = 0, adds = 0, messages = 0;  // per episode, of all members, at the end
  std::vector<double> ends_ns;                            // when the last member left each episode
  std::int32_t last = 0;                                  // the last member to leave the last episode
};

// `program` is a compiled plan of this key (compile_lines). Errors: kArgument (the key has no CPU for each
// member, or a CPU that the topology lacks; fewer than 7 calls), kUnsupported (members share a CPU, or are
// more than kMaxTeamMembers), kBroken (members would wait for ever, or got a wrong result).
Result<Outcome> simulate(const std::vector<std::byte>& program, const PlanKey& key, const Topology& topology,
                         const Profile& profile, const Options& options);

}  // namespace fermata::sim
#endif
