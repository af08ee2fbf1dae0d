// The scenarios by name: what runs, for how many episodes, and how far the search goes.
#ifndef FERMATA_TESTS_MODEL_SCENARIOS_HPP
#define FERMATA_TESTS_MODEL_SCENARIOS_HPP

#include "protocols.hpp"
#include "scenario.hpp"

namespace fermata::model {

inline Wanted barrier(const char* algorithm, const char* layout, std::int32_t members) {
  return {.kind = Kind::kBarrier, .algorithm = algorithm, .layout = layout, .members = members};
}
inline Wanted data(Kind kind, const char* algorithm, const char* layout, std::int32_t members, std::int32_t credits) {
  return {.kind = kind, .algorithm = algorithm, .layout = layout, .members = members, .payload = 8, .credits = credits};
}

inline std::vector<Scenario> scenarios() {
  const Wanted flags = barrier("butterfly", "private", 2);
  const Wanted exchange = data(Kind::kAllreduce, "butterfly", "private+2slots", 2, 0);
  Wanted wide = exchange;
  wide.payload = 16;
  const Wanted counter = barrier("counter", "private", 2);
  const Wanted sense = barrier("sense_reversing", "private", 2);
  const Wanted one_slot = data(Kind::kBroadcast, "linear", "private", 2, 1);
  const Wanted two_slots = data(Kind::kBroadcast, "linear", "private+2slots", 2, 1);
  const Wanted published = data(Kind::kBroadcast, "linear", "published", 3, 1);
  const Fencing full_fence = Fencing::kFull;
  const Fencing membarrier = Fencing::kMembarrier;
  return {
      // Slots
      {"flags2", "one flag each way, one slot", flags, 2, full()},
      {"flags2_reuse", "the same, three episodes", flags, 3, bounded(5)},
      {"flags2_packed", "both flags in one line, two slots by parity", barrier("butterfly", "packed+2slots", 2), 3, bounded(5)},
      {"linear3", "flags to a root and back", barrier("linear", "private", 3), 3, bounded(2)},
      {"exchange2", "payload, then flag, two slots by parity", exchange, 2, full()},
      {"exchange2_reuse", "the same, until each slot is used again", exchange, 3, bounded(5)},
      {"exchange2_words", "two words of payload", wide, 2, full()},
      {"exchange2_random", "the same, many episodes", exchange, 6, random(200000)},
      {"reduce3", "two senders, one slot each, given back by credits", data(Kind::kReduce, "linear", "private", 3, 1), 3, bounded(2)},
      {"broadcast2_slot1", "one slot, given back by credits", one_slot, 2, full()},
      {"broadcast2_slot1_reuse", "the same, three episodes", one_slot, 3, bounded(5)},
      {"broadcast2_slots2", "two slots, given back by credits", two_slots, 3, full()},
      {"broadcast2_batch2", "two slots, credits for both at once", data(Kind::kBroadcast, "linear", "private+2slots", 2, 2), 3, full()},
      {"published3", "one line read by two, credits from both", published, 3, bounded(2)},
      // Words
      {"counter2", "one word polled by all", counter, 3, full()},
      {"counter3", "one word polled by all", barrier("counter", "private", 3), 3, bounded(2)},
      {"sense_reversing2", "a counter, and a phase that all poll", sense, 2, full()},
      {"sense_reversing2_reuse", "the same, three episodes", sense, 3, bounded(5)},
      {"sense_reversing3", "a counter, and a phase that all poll", barrier("sense_reversing", "private", 3), 3, bounded(2)},
      {"combining_tree3", "the last arriver climbs, release retraces", barrier("combining_tree(2)", "private", 3), 3, bounded(2)},
      // Parking
      {"park_once_full", "one sender, one parker, fences on both sides", one_slot, 1, full(), true},
      {"park_once_membarrier", "one sender, one parker, membarrier by the parker", one_slot, 1, full(), true, membarrier},
      {"park_slots_full", "both park on slots, three episodes", flags, 3, bounded(3), true},
      {"park_slots_membarrier", "both park on slots, three episodes", flags, 3, bounded(3), true, membarrier},
      {"park_words_full", "both park on a word, three episodes", counter, 3, bounded(4), true},
      {"park_words_membarrier", "both park on a word, three episodes", counter, 3, bounded(4), true, membarrier},
      {"park_phases_full", "park on a phase, three episodes", sense, 3, bounded(4), true},
      {"park_phases_membarrier", "park on a phase, three episodes", sense, 3, bounded(4), true, membarrier},
      {"park_credits_full", "park on a slot and on its credit", one_slot, 3, bounded(3), true},
      {"park_credits_membarrier", "park on a slot and on its credit", one_slot, 3, bounded(3), true, membarrier},
      {"park_published3_full", "two readers park on one door", published, 2, bounded(2), true},
      {"park_published3_membarrier", "two readers park on one door", published, 2, bounded(2), true, membarrier},
      // Beside the signals
      {"status_line", "a descriptor is read whole, or known not to be", {}, 1, full(), false, full_fence, rl::simulate<StatusLineSuite>},
      {"state", "who joined is named, who has left has finished its calls", {}, 1, full(), false, full_fence, rl::simulate<StateSuite>},
      {"break", "two break a team; the cause stays and has a culprit", {}, 1, full(), false, full_fence, rl::simulate<BreakSuite>},
      {"reference", "the last reference frees", {}, 1, full(), false, full_fence, rl::simulate<ReferenceSuite>},
      {"join", "who is counted has published its CPUs", {}, 1, full(), false, full_fence, rl::simulate<JoinSuite>},
      {"move", "where the members have moved on to", {}, 1, full(), false, full_fence, rl::simulate<MoveSuite>},
      {"break_parked", "a broken team wakes who is parked", {}, 1, full(), false, full_fence, rl::simulate<BreakParkedSuite>},
  };
}

}  // namespace fermata::model
#endif
