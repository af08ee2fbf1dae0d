// One scenario: the production cursor runs compiled programs, and every member is a thread of the checker. In
// every execution that the search reaches, it checks the properties of a collective:
// - No member leaves a barrier before all have entered: all see the plain data that each member wrote before,
//   without a race.
// - Reuse: after one further barrier, every member may overwrite data that others read after this one.
// - Every member that gets a result has the right one in every episode.
// - Parked members are woken: a lost wake-up is a deadlock.
#ifndef FERMATA_TESTS_MODEL_SCENARIO_HPP
#define FERMATA_TESTS_MODEL_SCENARIO_HPP

#include "memory.hpp"

namespace fermata::model {

// Full: every interleaving, and every value that checker.hpp lets a read see. Bounded: the same with at most
// `preemptions` switches from a member that could go on. Random: `executions` random executions, with reads
// that lag further behind.
struct Search {
  rl::scheduler_type_e kind = rl::sched_full;
  unsigned preemptions = 0;
  std::uint64_t executions = 0;
};
inline constexpr Search full() { return {}; }
inline constexpr Search bounded(unsigned preemptions) { return {rl::sched_bound, preemptions, 0}; }
inline constexpr Search random(std::uint64_t executions) { return {rl::sched_random, 0, executions}; }

struct Scenario {
  const char* name;
  const char* what;
  Wanted wanted;
  std::uint64_t episodes = 3;
  Search search;
  bool parks = false;
  Fencing fencing = Fencing::kFull;
  bool (*protocol)(rl::test_params&) = nullptr;  // a suite instead of programs
};

inline const Scenario* scenario = nullptr;  // the running scenario
inline Programs programs;

inline std::uint64_t add_words(std::uint64_t left, std::uint64_t right) { return left + right; }

template <std::uint32_t N>
struct ProgramSuite : Suite<N> {
  using Memory = ModelMemory<N>;

  Memory memory;
  // by parity: read after one barrier, overwritten before the next but one
  std::array<std::array<rl::var<std::uint64_t>, 2>, N> written;

  void before() override {
    memory.prepare(scenario->fencing);
    memory.parks = scenario->parks;
    for (auto& pair : written)
      for (auto& word : pair) word(RL_INFO) = 0;
  }

  void thread(unsigned member) override {
    memory.os.enter(member);
    Cursor<ModelAtomics, Memory> cursor;
    for (std::uint64_t episode = 1; episode <= scenario->episodes; ++episode) {
      if (scenario->wanted.payload > 0) {
        carry(cursor, member, episode);
      } else {
        written[member][episode % 2](RL_INFO) = episode;
        const Step* const steps = programs.steps[member].data();
        std::uint64_t nothing = 0;
        // Uses both ways to run a program, as carry() does.
        if (!goes_in_rounds<Load::kNothing>(steps) || (episode + member) % 2 == 1) {
          cursor.template start<Load::kNothing>(memory, steps, episode, tag(episode), 0,
                                                [](std::uint32_t) { return 0; });
          finish<Load::kNothing>(cursor, {}, nullptr);
        } else if (!go_in_rounds<Load::kNothing>(cursor, steps, episode, nothing)) {
          finish<Load::kNothing>(cursor, {}, nullptr);
        }
        for (auto& pair : written) RL_ASSERT(pair[episode % 2](RL_INFO) == episode);
      }
    }
  }

 private:
  using TheCursor = Cursor<ModelAtomics, Memory>;

  // The tags of different calls: 2, 1, 3, and so on again.
  static std::uint64_t tag(std::uint64_t episode) { return 3 - episode % 3; }
  static std::uint64_t value(std::uint32_t member, std::uint64_t episode) { return episode * 16 + member; }

  void carry(TheCursor& cursor, std::uint32_t member, std::uint64_t episode) {
    const auto words = static_cast<std::uint32_t>(scenario->wanted.payload) / 8;
    std::uint64_t regs[kMaxRegisters][kPayloadWords] = {};
    for (std::uint32_t i = 0; i < words; ++i) regs[0][i] = value(member, episode) + 1000 * i;
    const Carried carried{.words = words, .fold = add_words};
    const auto word = [&](std::uint32_t i) { return regs[0][i]; };
    // There are two ways to run such a program: members and episodes alternate between them.
    if (words == 1 && goes_in_rounds<Load::kOneWord>(programs.steps[member].data()) &&
        (episode + member) % 2 == 0) {
      const Step* const steps = programs.steps[member].data();
      if (!go_in_rounds<Load::kOneWord>(cursor, steps, episode, regs[0][0]))
        finish<Load::kOneWord>(cursor, carried, regs);
    } else if (words == 1) {
      cursor.template start<Load::kOneWord>(memory, programs.steps[member].data(), episode, tag(episode),
                                            words, word);
      finish<Load::kOneWord>(cursor, carried, regs);
    } else {
      cursor.template start<Load::kWords>(memory, programs.steps[member].data(), episode, tag(episode), words,
                                          word);
      finish<Load::kWords>(cursor, carried, regs);
    }
    if (scenario->wanted.collective == Collective::kReduce && member != 0) return;
    const std::uint32_t givers = scenario->wanted.collective == Collective::kBroadcast ? 1 : N;
    for (std::uint32_t i = 0; i < words; ++i) {
      std::uint64_t expected = 0;
      for (std::uint32_t m = 0; m < givers; ++m) expected += value(m, episode) + 1000 * i;
      RL_ASSERT(regs[0][i] == expected);
    }
  }

  // Returns false if the program has stopped at an await.
  template <Load L>
  bool go_in_rounds(TheCursor& cursor, const Step* steps, std::uint64_t episode, std::uint64_t& value) {
    const auto signal = TheCursor::prepare_signal(memory, steps, episode, tag(episode));
    TheCursor::template send_prepared<L>(signal, value);
    cursor.follow(memory, steps, episode, signal.header);
    if (memory.must_wake(*steps)) memory.wake(cursor.sent());
    for (;;) {
      const auto round = cursor.template round<L>(memory, value, add_words, 0);
      if (round != TheCursor::Round::kMore) return round == TheCursor::Round::kOver;
      cursor.ring_again(memory);
    }
  }

  template <Load L>
  void finish(TheCursor& cursor, const Carried& carried, std::uint64_t (*regs)[kPayloadWords]) {
    while (!cursor.template advance<L>(memory, carried, regs, 0)) {
      if (scenario->parks) {
        park<ModelAtomics>(memory.door(cursor.at()), memory.full_fence(), memory.os, 0,
                           [&] { return cursor.ready(memory); });
      } else {
        ModelAtomics::pause();
      }
    }
    RL_ASSERT(cursor.status() == Status::kOk);
  }
};

}  // namespace fermata::model
#endif
