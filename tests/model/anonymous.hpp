// The barriers without ranks in the checker: src/anonymous' headers, with threads of the checker as members.
// The checks are those of scenario.hpp, and further ones for strangers, dropped members and reused memory.
#ifndef FERMATA_TESTS_MODEL_ANONYMOUS_HPP
#define FERMATA_TESTS_MODEL_ANONYMOUS_HPP

#include "anonymous/free_list.hpp"
#include "anonymous/shared.hpp"
#include "anonymous/tree.hpp"
#include "memory.hpp"

namespace fermata::model {

using anonymous::Arrival;

template <std::uint32_t N>
struct AnonymousOs : ModelOs<N> {
  void relax() { ModelAtomics::pause(); }
};

template <bool Parks, class Bell, class Os>
inline void await(anonymous::Phase<ModelAtomics>& phase, Bell& bell, std::uint64_t token, Os& os) {
  while (!anonymous::is_over(phase, token)) {
    if (Parks) {
      anonymous::park(phase, bell, token, os, 0);
    } else {
      ModelAtomics::pause();
    }
  }
}

template <std::uint32_t N, std::uint32_t Count>
struct ModelCounter {
  using Barrier = anonymous::Counter<ModelAtomics>;

  anonymous::Phase<ModelAtomics> phase;
  anonymous::Drops<ModelAtomics> drops;
  Barrier::Any any{0};
  anonymous::Measure measure;
  AnonymousOs<N> os;

  Barrier barrier() { return {phase, measure, drops, any}; }
  void prepare() {
    phase.word.store(0, rl::mo_relaxed, RL_INFO);
    phase.bell.store(0, rl::mo_relaxed, RL_INFO);
    os.add_bell(&phase.bell);
    reopen(Count);
  }
  // Powers of two use the arrival by mask, other counts the general one.
  Arrival arrive(unsigned) {
    if (measure.mask == 0) return barrier().arrive(1, os);
    const auto ticket = barrier().take_of_mask();
    if (ticket.rest) barrier().after(ticket.number, ticket.parked, os);
    return ticket.arrival;
  }
  Arrival drop(unsigned) { return barrier().drop(os); }
  void finished() { barrier().finished(os); }
  void reopen(std::uint32_t count) { Barrier::open(phase, measure, count, drops, any); }
  anonymous::Phase<ModelAtomics>& of(unsigned) { return phase; }
  auto& bell() { return phase.bell; }
};

// Member m enters at leaf m modulo Leaves; with Crowd, every member enters at leaf 0.
template <std::uint32_t N, std::uint32_t Count, std::uint32_t Leaves, bool Crowd = false>
struct ModelTree {
  using Barrier = anonymous::Tree<ModelAtomics, ModelTree, AnonymousOs<N>>;

  anonymous::Domain<ModelAtomics> domains[Leaves];
  anonymous::Node<ModelAtomics> nodes[Leaves <= anonymous::kFanIn ? 1 : anonymous::kInnerNodes];
  anonymous::Members<ModelAtomics> all;
  AnonymousOs<N> os;

  anonymous::Domain<ModelAtomics>& domain(std::uint32_t d) { return domains[d]; }
  anonymous::Node<ModelAtomics>& inner(std::uint32_t i) { return nodes[Leaves <= anonymous::kFanIn ? 0 : i]; }
  anonymous::Members<ModelAtomics>& members() { return all; }
  std::uint32_t leaves() const { return Leaves; }

  Barrier barrier() { return {*this, os}; }
  void prepare() {
    for (auto& d : domains) d.phase.word.store(0, rl::mo_relaxed, RL_INFO);
    bell().store(0, rl::mo_relaxed, RL_INFO);
    os.add_bell(&bell());
    barrier().open(Count, 1);
  }
  std::uint32_t entry(unsigned member) const { return Crowd ? 0 : member % Leaves; }
  // The completer of an episode calls `step` before it releases the others.
  template <class Step>
  Arrival arrive(unsigned member, Step&& step, std::uint32_t arrivals = 1) {
    return barrier().arrive(
        entry(member), arrivals,
        [&](std::uint64_t token) {
          step();
          barrier().release(token);
        },
        [&](std::uint64_t token) { await<false>(of(member), bell(), token, os); });
  }
  Arrival arrive(unsigned member) {
    return arrive(member, [] {});
  }
  Arrival drop(unsigned member) {
    barrier().drop();
    return arrive(member);
  }
  void finished() { barrier().finished(); }
  void reopen(std::uint32_t count) { barrier().open(count, barrier().next_number()); }
  anonymous::Phase<ModelAtomics>& of(unsigned member) { return domains[entry(member)].phase; }
  auto& bell() { return domains[0].phase.bell; }
};

// N members meet Episodes times. Each writes plain data before a meeting; all see them afterwards, and the
// writer overwrites them after one further episode.
template <class Memory, std::uint32_t N, std::uint64_t Episodes, bool Parks>
struct MeetSuite : Suite<N> {
  Memory memory;
  std::array<std::array<rl::var<std::uint64_t>, 2>, N> written;

  void before() override {
    memory.prepare();
    for (auto& pair : written)
      for (auto& word : pair) word(RL_INFO) = 0;
  }
  void thread(unsigned member) override {
    memory.os.enter(member);
    for (std::uint64_t episode = 1; episode <= Episodes; ++episode) {
      written[member][episode % 2](RL_INFO) = episode;
      const Arrival arrival = memory.arrive(member);
      await<Parks>(memory.of(member), memory.bell(), arrival.token, memory.os);
      for (auto& pair : written) RL_ASSERT(pair[episode % 2](RL_INFO) == episode);
    }
  }
};

// Three threads make four arrivals, two per phase: two threads wait for their phase, the third arrives twice
// and does not wait.
template <class Memory, bool Parks>
struct StrangerSuite : Suite<3> {
  Memory memory;
  ModelAtomics::Atomic<std::uint32_t> filled{0};

  void before() override { memory.prepare(); }
  void thread(unsigned member) override {
    memory.os.enter(member);
    for (int i = 0; i < (member == 2 ? 2 : 1); ++i) {
      const Arrival arrival = memory.arrive(member);
      if (arrival.last) ModelAtomics::add_relaxed(filled, std::uint32_t{1});
      if (member < 2) await<Parks>(memory.of(member), memory.bell(), arrival.token, memory.os);
    }
  }
  void after() override { RL_ASSERT(filled.load(rl::mo_relaxed, RL_INFO) == 2); }
};

// One arrival per phase: each thread completes its phases alone, and only the barrier orders the two threads.
template <class Memory>
struct AloneSuite : Suite<2> {
  Memory memory;
  ModelAtomics::Atomic<std::uint32_t> filled{0};

  void before() override { memory.prepare(); }
  void thread(unsigned member) override {
    memory.os.enter(member);
    for (int i = 0; i < 2; ++i) {
      const Arrival arrival = memory.arrive(member);
      RL_ASSERT(arrival.last && anonymous::is_over(memory.of(member), arrival.token));
      ModelAtomics::add_relaxed(filled, std::uint32_t{1});
    }
  }
  void after() override { RL_ASSERT(filled.load(rl::mo_relaxed, RL_INFO) == 4); }
};

// The completer of an episode accesses plain data before it releases the others.
template <class Memory>
struct StepSuite : Suite<2> {
  Memory memory;
  rl::var<std::uint64_t> steps;

  void before() override {
    memory.prepare();
    steps(RL_INFO) = 0;
  }
  void thread(unsigned member) override {
    memory.os.enter(member);
    for (std::uint64_t episode = 1; episode <= 2; ++episode) {
      const Arrival arrival = memory.arrive(member, [&] { steps(RL_INFO) = steps(RL_INFO) + 1; });
      await<false>(memory.of(member), memory.bell(), arrival.token, memory.os);
      RL_ASSERT(steps(RL_INFO) == episode);
    }
  }
};

// Two members meet twice. Each makes half of the arrivals of a tree whose leaves need more than one group.
template <class Memory, std::uint32_t Each>
struct HalvesSuite : Suite<2> {
  Memory memory;
  std::array<std::array<rl::var<std::uint64_t>, 2>, 2> written;
  ModelAtomics::Atomic<std::uint32_t> filled{0};

  void before() override {
    memory.prepare();
    for (auto& pair : written)
      for (auto& word : pair) word(RL_INFO) = 0;
  }
  void thread(unsigned member) override {
    memory.os.enter(member);
    for (std::uint64_t episode = 1; episode <= 2; ++episode) {
      written[member][episode % 2](RL_INFO) = episode;
      const Arrival arrival = memory.arrive(member, [] {}, Each);
      if (arrival.last) ModelAtomics::add_relaxed(filled, std::uint32_t{1});
      await<false>(memory.of(member), memory.bell(), arrival.token, memory.os);
      for (auto& pair : written) RL_ASSERT(pair[episode % 2](RL_INFO) == episode);
    }
  }
  void after() override { RL_ASSERT(filled.load(rl::mo_relaxed, RL_INFO) == 2); }
};

// The last member drops in the second episode (of two members: in the first); the others continue.
template <class Memory, std::uint32_t N>
struct DropSuite : Suite<N> {
  static constexpr std::uint64_t kEpisodes = 3;
  Memory memory;
  std::array<std::array<rl::var<std::uint64_t>, 2>, N> written;

  void before() override {
    memory.prepare();
    for (auto& pair : written)
      for (auto& word : pair) word(RL_INFO) = 0;
  }
  void thread(unsigned member) override {
    memory.os.enter(member);
    const std::uint64_t last = N == 2 ? 1 : 2;
    for (std::uint64_t episode = 1; episode <= kEpisodes; ++episode) {
      written[member][episode % 2](RL_INFO) = episode;
      if (member == N - 1 && episode == last) {
        memory.drop(member);
        return;
      }
      const Arrival arrival = memory.arrive(member);
      await<false>(memory.of(member), memory.bell(), arrival.token, memory.os);
      for (std::uint32_t other = 0; other < N; ++other)
        if (other < N - 1 || episode <= last) RL_ASSERT(written[other][episode % 2](RL_INFO) == episode);
    }
    if (member == 0) memory.finished();
  }
};

// A waiter destroys the barrier as soon as its wait is over, and makes a barrier of Next members in the same
// memory, which it uses alone. Other members may still be leaving the first barrier.
template <class Memory, bool Parks = false, std::uint32_t Next = 3>
struct RecycleSuite : Suite<3> {
  Memory memory;
  std::array<rl::var<std::uint64_t>, 3> written;

  void before() override {
    memory.prepare();
    for (auto& word : written) word(RL_INFO) = 0;
  }
  void thread(unsigned member) override {
    memory.os.enter(member);
    written[member](RL_INFO) = 1;
    const Arrival arrival = memory.arrive(member);
    await<Parks>(memory.of(member), memory.bell(), arrival.token, memory.os);
    for (auto& word : written) RL_ASSERT(word(RL_INFO) == 1);
    if (member != 0 || arrival.last) return;
    memory.finished();
    memory.reopen(Next);
    RL_ASSERT(anonymous::is_over(memory.of(0), arrival.token));  // for members still leaving
    const Arrival first = memory.arrive(0);
    for (std::uint32_t n = 2; n < Next; ++n) RL_ASSERT(!memory.arrive(0).last);
    RL_ASSERT(!first.last && !anonymous::is_over(memory.of(0), first.token));
    const Arrival last = memory.arrive(0);
    RL_ASSERT(last.last && last.token == first.token && anonymous::is_over(memory.of(0), first.token));
  }
};

// N members meet Episodes times. The last arriver of the last episode destroys the barrier and makes another
// one in its memory. A member that was still inside would read the overwritten memory.
template <std::uint32_t N, std::uint64_t Episodes, bool Parks>
struct SharedSuite : Suite<N> {
  anonymous::Shared<ModelAtomics> barrier;
  AnonymousOs<N> os;
  std::array<std::array<rl::var<std::uint64_t>, 2>, N> written;
  rl::var<std::uint32_t> life;

  void before() override {
    barrier.open(N);
    os.add_bell(&barrier.phase().bell);
    os.add_bell(&barrier.gone());
    for (auto& pair : written)
      for (auto& word : pair) word(RL_INFO) = 0;
    life(RL_INFO) = 1;
  }
  void thread(unsigned member) override {
    os.enter(member);
    Arrival arrival;
    for (std::uint64_t episode = 1; episode <= Episodes; ++episode) {
      written[member][episode % 2](RL_INFO) = episode;
      arrival = barrier.arrive(os);
      await<Parks>(barrier.phase(), barrier.phase().bell, arrival.token, os);
      for (auto& pair : written) RL_ASSERT(pair[episode % 2](RL_INFO) == episode);
      RL_ASSERT(life(RL_INFO) == 1);
      barrier.leave(os);
    }
    if (!arrival.last) return;
    barrier.await_gone(os, Parks ? 0 : UINT32_MAX, 0);
    life(RL_INFO) = 2;
    barrier.open(1);
    RL_ASSERT(barrier.arrive(os).last);
    barrier.leave(os);
    barrier.await_gone(os, Parks ? 0 : UINT32_MAX, 0);
  }
};

// Two threads take and return entries of a list of two; each entry has one owner at a time.
struct FreeListSuite : Suite<2> {
  ModelAtomics::Atomic<std::uint64_t> head;
  std::array<ModelAtomics::Atomic<std::uint32_t>, 3> links;
  std::array<rl::var<std::uint64_t>, 3> uses;

  void before() override {
    head.store(1, rl::mo_relaxed, RL_INFO);
    links[1].store(2, rl::mo_relaxed, RL_INFO);
    links[2].store(0, rl::mo_relaxed, RL_INFO);
    for (auto& use : uses) use(RL_INFO) = 0;
  }
  void thread(unsigned) override {
    const auto next = [this](std::uint32_t entry) -> auto& { return links[entry]; };
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t entry = anonymous::pop_free<ModelAtomics>(head, next);
      RL_ASSERT(entry != 0);
      uses[entry](RL_INFO) = uses[entry](RL_INFO) + 1;
      anonymous::push_free<ModelAtomics>(head, entry, next);
    }
  }
  void after() override { RL_ASSERT(uses[1](RL_INFO) + uses[2](RL_INFO) == 4); }
};

template <class Memory, std::uint32_t N, std::uint64_t Episodes, bool Parks = false>
bool meet(rl::test_params& params) {
  return run<MeetSuite<Memory, N, Episodes, Parks>>(params);
}

}  // namespace fermata::model
#endif
