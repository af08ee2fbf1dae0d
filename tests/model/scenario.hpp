// One scenario: the production cursor runs compiled programs, and every member is a thread of the checker. In
// every execution that the search reaches, it checks the properties of a collective:
// - No member leaves a barrier before all have entered: all see the plain data that each member wrote before,
//   without a race.
// - Reuse: after one further barrier, every member may overwrite data that others read after this one.
// - Every member that gets a result has the right one in every episode.
// - A member that collects an allreduce has what all others gave, and they get what it gives afterwards.
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
  bool collects = false;  // an allreduce through member 0, which gives its part last (Cursor::collect())
};

inline const Scenario* scenario = nullptr;  // the running scenario
inline Programs programs;

inline std::uint64_t add_word(std::uint64_t left, std::uint64_t right) { return left + right; }
inline Status add_line(void* to, const std::uint64_t* left, const std::uint64_t* right, std::uint32_t words) {
  for (std::uint32_t i = 0; i < words; ++i) static_cast<std::uint64_t*>(to)[i] = left[i] + right[i];
  return Status::kOk;
}

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
      if (scenario->collects) {
        fork_and_join(cursor, member, episode);
      } else if (scenario->wanted.payload > 0) {
        carry(cursor, member, episode);
      } else {
        written[member][episode % 2](RL_INFO) = episode;
        std::uint64_t nothing[kMaxRegisters][kPayloadWords] = {};
        run<Load::kNothing>(cursor, member, episode, {}, nothing);
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
    const Carried carried{.words = words, .folds = {.word = add_word, .line = add_line}};
    if (words == 1) run<Load::kOneWord>(cursor, member, episode, carried, regs);
    else run<Load::kWords>(cursor, member, episode, carried, regs);
    if (scenario->wanted.collective == Collective::kReduce && member != 0) return;
    const std::uint32_t givers = scenario->wanted.collective == Collective::kBroadcast ? 1 : N;
    for (std::uint32_t i = 0; i < words; ++i) {
      std::uint64_t expected = 0;
      for (std::uint32_t m = 0; m < givers; ++m) expected += value(m, episode) + 1000 * i;
      RL_ASSERT(regs[0][i] == expected);
    }
  }

  using Registers = std::uint64_t (*)[kPayloadWords];

  void fork_and_join(TheCursor& cursor, std::uint32_t member, std::uint64_t episode) {
    const std::uint32_t words = static_cast<std::uint32_t>(scenario->wanted.payload) / 8;
    const Carried carried{.words = words, .folds = {.word = add_word, .line = add_line}};
    std::uint64_t regs[kMaxRegisters][kPayloadWords] = {};
    regs[0][0] = member > 0 ? value(member, episode) : 0;
    cursor.template start<Load::kWords>(memory, programs.steps[member].data(), episode, tag(episode), words,
                                        [&](std::uint32_t i) { return regs[0][i]; });
    if (member == 0) {
      wait_until(cursor, [&] { return cursor.template collect<Load::kWords>(memory, carried, regs, 0); });
      std::uint64_t given = 0;
      for (std::uint32_t m = 1; m < N; ++m) given += value(m, episode);
      RL_ASSERT(regs[0][0] == given);
      for (auto& pair : written) RL_ASSERT(&pair == &written[0] || pair[0](RL_INFO) == episode - 1);
      written[0][0](RL_INFO) = episode;
      for (std::uint32_t i = 0; i < words; ++i) regs[0][i] = value(0, episode) + 1000 * i;
    }
    finish<Load::kWords>(cursor, carried, regs);
    for (std::uint32_t i = 0; i < words; ++i) RL_ASSERT(regs[0][i] == value(0, episode) + 1000 * i);
    RL_ASSERT(member == 0 || written[0][0](RL_INFO) == episode);
    if (member > 0) written[member][0](RL_INFO) = episode;
  }

  // There are two ways to run a program that goes in rounds: members and episodes alternate between them.
  template <Load L>
  void run(TheCursor& cursor, std::uint32_t member, std::uint64_t episode, const Carried& carried,
           Registers regs) {
    const Step* const steps = programs.steps[member].data();
    if (goes_in_rounds<L>(steps) && (episode + member) % 2 == 0) {
      if (go_in_rounds<L>(cursor, steps, episode, carried, regs)) return;
    } else {
      cursor.template start<L>(memory, steps, episode, tag(episode), carried.words,
                               [&](std::uint32_t i) { return regs[0][i]; });
    }
    finish<L>(cursor, carried, regs);
  }

  // Returns false if the program has stopped at an await.
  template <Load L>
  bool go_in_rounds(TheCursor& cursor, const Step* steps, std::uint64_t episode, const Carried& carried,
                    Registers regs) {
    const auto signal = TheCursor::prepare_signal(memory, steps, episode, tag(episode));
    if constexpr (L == Load::kWords) TheCursor::send_prepared(signal, regs[0], carried.words * 8);
    else TheCursor::template send_prepared<L>(signal, regs[0][0]);
    cursor.follow(memory, steps, episode, signal.header);
    if (memory.must_wake(*steps)) memory.wake(cursor.sent());
    for (;;) {
      const auto round = next_round<L>(cursor, carried, regs);
      if (round != TheCursor::Round::kMore) return round == TheCursor::Round::kOver;
      cursor.ring_again(memory);
    }
  }

  template <Load L>
  typename TheCursor::Round next_round(TheCursor& cursor, const Carried& carried, Registers regs) {
    if constexpr (L != Load::kWords) return cursor.template round<L>(memory, regs[0][0], add_word, 0);
    else {
      if (!cursor.await_words(0)) return TheCursor::Round::kLate;
      cursor.fold_words(regs[0], regs[0], add_line, carried.words);
      if (cursor.is_last_round()) return TheCursor::Round::kOver;
      cursor.send_words(memory, regs[0], carried.words);
      return TheCursor::Round::kMore;
    }
  }

  template <Load L>
  void finish(TheCursor& cursor, const Carried& carried, Registers regs) {
    wait_until(cursor, [&] { return cursor.template advance<L>(memory, carried, regs, 0); });
  }

  template <class Over>
  void wait_until(TheCursor& cursor, Over over) {
    while (!over()) {
      if (scenario->parks) {
        park<ModelAtomics>(memory.door(cursor.at()), memory.fences, memory.os, 0,
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
