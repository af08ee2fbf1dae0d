// The scenarios by name: what each runs, for how many episodes, and how far the search goes.
#ifndef FERMATA_TESTS_MODEL_SCENARIOS_HPP
#define FERMATA_TESTS_MODEL_SCENARIOS_HPP

#include "anonymous.hpp"
#include "pace.hpp"
#include "protocols.hpp"
#include "scenario.hpp"

namespace fermata::model {

inline Wanted barrier(const char* algorithm, const char* layout, std::int32_t members) {
  return {.collective = Collective::kBarrier, .algorithm = algorithm, .layout = layout, .members = members};
}
inline Wanted data(Collective collective, const char* algorithm, const char* layout, std::int32_t members,
                   std::int32_t credits) {
  return {.collective = collective,
          .algorithm = algorithm,
          .layout = layout,
          .members = members,
          .payload = 8,
          .credits = credits};
}

inline Scenario beside(const char* name, const char* what, Search search,
                       bool (*protocol)(rl::test_params&)) {
  return {name, what, {}, 1, search, false, Fencing::kFull, protocol};
}

// Barriers without ranks: in one word, in memory that processes share, with a phase of its own, over a tree.
inline std::vector<Scenario> one_word() {
  using Counter2 = ModelCounter<2, 2>;
  return {
      beside("anonymous_word2", "one word, two members", full(), meet<Counter2, 2, 2>),
      beside("anonymous_word2_reuse", "the same, four episodes", bounded(4), meet<Counter2, 2, 4>),
      beside("anonymous_word3", "one word, a count that is no power of two", bounded(2),
             meet<ModelCounter<3, 3>, 3, 3>),
      beside("anonymous_word_strangers", "three threads, two arrivals a phase", full(),
             run<StrangerSuite<ModelCounter<3, 2>, false>>),
      beside("anonymous_word_drop2", "one of two drops at once", bounded(5), run<DropSuite<Counter2, 2>>),
      beside("anonymous_word_drop3", "one of three drops later", bounded(2),
             run<DropSuite<ModelCounter<3, 3>, 3>>),
      beside("anonymous_word_recycle", "memory used again before all have left", bounded(3),
             run<RecycleSuite<ModelCounter<3, 3>>>),
      beside("anonymous_word_recycle_less", "by a barrier of two, whose count of arrivals is rounded up",
             bounded(3), run<RecycleSuite<ModelCounter<3, 3>, false, 2>>),
      beside("anonymous_word_park2", "both park, three episodes", bounded(4), meet<Counter2, 2, 3, true>),
      beside("anonymous_word_park3", "three park, two episodes", bounded(2),
             meet<ModelCounter<3, 3>, 3, 2, true>),
      beside("anonymous_word_park_recycle", "memory reused while members are woken", bounded(3),
             run<RecycleSuite<ModelCounter<3, 3>, true>>),
      beside("anonymous_word_park_strangers", "parkers of two phases", bounded(3),
             run<StrangerSuite<ModelCounter<3, 2>, true>>),
  };
}
inline std::vector<Scenario> shared_memory() {
  return {
      beside("anonymous_shared2", "memory destroyed when all have left", bounded(4),
             run<SharedSuite<2, 2, false>>),
      beside("anonymous_shared3", "the same, three members", bounded(2), run<SharedSuite<3, 1, false>>),
      beside("anonymous_shared_park2", "the same, parked", bounded(4), run<SharedSuite<2, 2, true>>),
      beside("anonymous_shared_park3", "three parked", bounded(2), run<SharedSuite<3, 1, true>>),
  };
}
inline std::vector<Scenario> phases() {
  using Phase2 = ModelTree<2, 2, 1>;
  return {
      beside("anonymous_phase2", "a phase of its own, two members", bounded(5), meet<Phase2, 2, 2>),
      beside("anonymous_phase_step", "a step before the release", bounded(4), run<StepSuite<Phase2>>),
      beside("anonymous_phase_alone", "one arrival a phase, two threads", bounded(4),
             run<AloneSuite<ModelTree<2, 1, 1>>>),
      beside("anonymous_phase_strangers", "three threads, two arrivals a phase", bounded(3),
             run<StrangerSuite<ModelTree<3, 2, 1>, false>>),
      beside("anonymous_phase_drop2", "one of two drops at once", bounded(4), run<DropSuite<Phase2, 2>>),
      beside("anonymous_phase_recycle", "memory used again before all have left", bounded(3),
             run<RecycleSuite<ModelTree<3, 3, 1>>>),
      beside("anonymous_phase_park2", "both park, three episodes", bounded(3), meet<Phase2, 2, 3, true>),
      beside("anonymous_phase_park_recycle", "memory reused while members are woken", bounded(3),
             run<RecycleSuite<ModelTree<3, 3, 1>, true>>),
  };
}
inline std::vector<Scenario> trees() {
  using Tree2 = ModelTree<2, 2, 2>;
  return {
      beside("anonymous_tree2", "two leaves, two members", bounded(5), meet<Tree2, 2, 1>),
      beside("anonymous_tree2_reuse", "the same, three episodes", bounded(3), meet<Tree2, 2, 3>),
      beside("anonymous_tree3", "two leaves, three members", bounded(2), meet<ModelTree<3, 3, 2>, 3, 2>),
      beside("anonymous_tree3_crowd", "all three enter at the same leaf", bounded(2),
             meet<ModelTree<3, 3, 2, true>, 3, 2>),
      beside("anonymous_tree3_park", "two leaves, three that park", bounded(2),
             meet<ModelTree<3, 3, 2>, 3, 2, true>),
      beside("anonymous_tree_alone", "one arrival a phase, two leaves", bounded(3),
             run<AloneSuite<ModelTree<2, 1, 2>>>),
      beside("anonymous_tree_strangers", "three threads, two arrivals a phase", bounded(3),
             run<StrangerSuite<ModelTree<3, 2, 2>, false>>),
      beside("anonymous_tree_drop3", "one of three drops", bounded(2), run<DropSuite<ModelTree<3, 3, 2>, 3>>),
      beside("anonymous_tree_levels", "nine leaves in two groups under a root", bounded(3),
             run<HalvesSuite<ModelTree<2, 10, 9>, 5>>),
      beside("anonymous_tree_recycle", "memory used again before all have left", bounded(2),
             run<RecycleSuite<ModelTree<3, 3, 2>>>),
      beside("anonymous_pool", "entries of a pool taken and given back", bounded(6), run<FreeListSuite>),
  };
}

// Programs, most of which several scenarios run.
struct CommonPrograms {
  Wanted flags = barrier("butterfly", "private", 2);
  Wanted exchange = data(Collective::kAllreduce, "butterfly", "private+2slots", 2, 0);
  Wanted wide = exchange;
  Wanted counter = barrier("counter", "private", 2);
  Wanted sense = barrier("sense_reversing", "private", 2);
  Wanted one_slot = data(Collective::kBroadcast, "linear", "private", 2, 1);
  Wanted two_slots = data(Collective::kBroadcast, "linear", "private+2slots", 2, 1);
  Wanted published = data(Collective::kBroadcast, "linear", "published", 3, 1);
  Wanted exchange_away = exchange, one_slot_away = one_slot;
  CommonPrograms() {
    wide.payload = 16;
    exchange_away.hosts = one_slot_away.hosts = {0, 1};
  }
};

inline std::vector<Scenario> slots() {
  const CommonPrograms p;
  return {
      {"flags2", "one flag each way, one slot", p.flags, 2, full()},
      {"flags2_reuse", "the same, three episodes", p.flags, 3, bounded(5)},
      {"flags2_packed", "both flags in one line, two slots by parity",
       barrier("butterfly", "packed+2slots", 2), 3, bounded(5)},
      {"linear3", "flags to a root and back", barrier("linear", "private", 3), 3, bounded(2)},
      {"exchange2", "payload, then flag, two slots by parity", p.exchange, 2, full()},
      {"exchange2_reuse", "the same, until each slot is used again", p.exchange, 3, bounded(5)},
      {"exchange2_words", "two words of payload", p.wide, 2, full()},
      {"exchange2_random", "one word of payload, many episodes", p.exchange, 6, random(200000)},
      {"reduce3", "two senders, one slot each, given back by credits",
       data(Collective::kReduce, "linear", "private", 3, 1), 3, bounded(2)},
      {"broadcast2_slot1", "one slot, given back by credits", p.one_slot, 2, full()},
      {"broadcast2_slot1_reuse", "the same, three episodes", p.one_slot, 3, bounded(5)},
      {"broadcast2_slots2", "two slots, given back by credits", p.two_slots, 3, full()},
      {"broadcast2_batch2", "two slots, credits for both at once",
       data(Collective::kBroadcast, "linear", "private+2slots", 2, 2), 3, full()},
      {"published3", "one line read by two, credits from both", p.published, 3, bounded(2)},
      {"away2", "a line from another host: payload, then flag", p.exchange_away, 2, full()},
      {"away2_slot1", "the same with one slot, given back by credits", p.one_slot_away, 2, full()},
  };
}

// Work from member 0, and notes back.
inline std::vector<Scenario> forks() {
  const auto fork = [](const char* name, const char* what, std::int32_t members, Search search,
                       bool parks = false, Fencing fencing = Fencing::kFull) {
    const Wanted wanted = data(Collective::kAllreduce, "linear", "private", members, 0);
    return Scenario{name, what, wanted, 3, search, parks, fencing, nullptr, true};
  };
  return {
      fork("forkjoin2", "one gives work to another", 2, bounded(5)),
      fork("forkjoin3", "one gives work to two", 3, bounded(2)),
      fork("forkjoin2_park_full", "both park", 2, bounded(3), true),
      fork("forkjoin2_park_membarrier", "both park", 2, bounded(3), true, Fencing::kMembarrier),
  };
}

inline std::vector<Scenario> words() {
  const CommonPrograms p;
  return {
      {"counter2", "one word polled by all", p.counter, 3, full()},
      {"counter3", "one word polled by all", barrier("counter", "private", 3), 3, bounded(2)},
      {"sense_reversing2", "a counter, and a phase that all poll", p.sense, 2, full()},
      {"sense_reversing2_reuse", "the same, three episodes", p.sense, 3, bounded(5)},
      {"sense_reversing3", "a counter, and a phase that all poll", barrier("sense_reversing", "private", 3),
       3, bounded(2)},
      {"combining_tree3", "the last arriver climbs, release retraces",
       barrier("combining_tree(2)", "private", 3), 3, bounded(2)},
  };
}

inline std::vector<Scenario> parking() {
  const CommonPrograms p;
  return {
      {"park_once_full", "one sender, one parker, fences on both sides", p.one_slot, 1, full(), true},
      {"park_once_membarrier", "one sender, one parker, membarrier by the parker", p.one_slot, 1, full(),
       true, Fencing::kMembarrier},
      {"park_slots_full", "both park on slots, three episodes", p.flags, 3, bounded(3), true},
      {"park_slots_membarrier", "both park on slots, three episodes", p.flags, 3, bounded(3), true,
       Fencing::kMembarrier},
      {"park_words_full", "both park on a word, three episodes", p.counter, 3, bounded(4), true},
      {"park_words_membarrier", "both park on a word, three episodes", p.counter, 3, bounded(4), true,
       Fencing::kMembarrier},
      {"park_phases_full", "park on a phase, three episodes", p.sense, 3, bounded(4), true},
      {"park_phases_membarrier", "park on a phase, three episodes", p.sense, 3, bounded(4), true,
       Fencing::kMembarrier},
      {"park_credits_full", "park on a slot and on its credit", p.one_slot, 3, bounded(3), true},
      {"park_credits_membarrier", "park on a slot and on its credit", p.one_slot, 3, bounded(3), true,
       Fencing::kMembarrier},
      {"park_away_full", "park on a slot and on its credit, both from another host", p.one_slot_away, 3,
       bounded(3), true},
      {"park_published3_full", "two readers park on one door", p.published, 2, bounded(2), true},
      {"park_published3_membarrier", "two readers park on one door", p.published, 2, bounded(2), true,
       Fencing::kMembarrier},
  };
}

// Protocols other than signals.
inline std::vector<Scenario> protocols() {
  return {
      beside("status_line", "a descriptor is read whole, or known not to be", full(), run<StatusLineSuite>),
      beside("state", "a joined member is named, a member that left has ended its calls", full(),
             run<StateSuite>),
      beside("break", "two break a team; cause and culprit come from one of them", full(), run<BreakSuite>),
      beside("reference", "the last drop frees the object", full(), run<ReferenceSuite>),
      beside("collect", "an object is used again after all others dropped it", full(),
             run<CollectSuite<false>>),
      beside("collect_counted", "the same, counted up", full(), run<CollectSuite<true>>),
      beside("join", "a counted member has published its CPUs", full(), run<JoinSuite>),
      beside("hand_in", "two hand in, a third takes all", full(), run<HandInSuite>),
      beside("move", "members agree on the next team", full(), run<MoveSuite>),
      beside("ring2", "four pieces through two slots, given back by credits", bounded(3), run<RingSuite>),
      beside("single_copy", "single copy: the owner writes a block after its last reader", full(),
             run<SingleCopySuite>),
      beside("biased_lock", "two threads lock one object", bounded(4), run<BiasedLockSuite>),
      beside("biased_lock_biased", "the owner needs no lock once the others are gone", full(),
             run<BiasedLockBiasedSuite>),
      beside("pace_one_stall2", "two wait for one stall: no hold begins", full(), run<OneStallSuite<2>>),
      beside("pace_one_stall3", "three wait for one stall", bounded(3), run<OneStallSuite<3>>),
      beside("pace_scouts2", "a scout for each call; a slow one's hold stays", full(), run<ScoutSuite<2>>),
      beside("pace_moves2", "of two that share a CPU, one moves", full(), run<MovesSuite<2>>),
      beside("pace_scouts3", "the same, three members", bounded(3), run<ScoutSuite<3>>),
      beside("fences_raise", "parkers no longer run membarrier", full(), run<FencesSuite<Change::kRaise>>),
      beside("fences_lower", "parkers run membarrier again", bounded(4), run<FencesSuite<Change::kLower>>),
      beside("fences_both", "parkers no longer run membarrier, and soon again", bounded(4),
             run<FencesSuite<Change::kBoth>>),
      beside("fences_again", "parkers run membarrier again, and soon no longer", bounded(4),
             run<FencesSuite<Change::kAgain>>),
      beside("guard", "one of those that sleep at a door looks for all", bounded(3), run<GuardSuite>),
      beside("break_parked", "breaking a team wakes its parked member", full(), run<BreakParkedSuite>),
  };
}

inline std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  for (const auto part : {slots, forks, words, parking, protocols, one_word, shared_memory, phases, trees}) {
    const std::vector<Scenario> more = part();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace fermata::model
#endif
