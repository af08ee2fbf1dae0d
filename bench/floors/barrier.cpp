// The best hand-written barriers of two members, as floors for every barrier of two. They call no functions,
// and they need no parity, since episode numbers only grow.
#include <sched.h>

#include <atomic>

#include "bench/floors/floors.hpp"

namespace fermata::bench {
namespace {

using Word = std::atomic<std::uint64_t>;

template <int kPauses>
void await(const Word& word, std::uint64_t value) {
  // order: acquire: earlier writes of the other member are visible; pairs with the release of its flag or
  // counter.
  while (word.load(std::memory_order_acquire) < value) pause<kPauses>();
}

// Flags on two lines by parity: a polling member never holds the line that is written next.
template <int kPauses>
class ParityFlags final : public Floor {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    base_ = arena.make_array<Line>(4);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Line* const mine = base_ + 2 * rank;
    const Line* const other = base_ + 2 * (1 - rank);
    run(rank, turn, [=](std::uint64_t e) {
      // order: release: as in Flags; pairs with the acquire in await.
      mine[e & 1].word.store(e, std::memory_order_release);
      await<kPauses>(other[e & 1].word, e);
    });
  }

 private:
  struct alignas(kMaxLine) Line {
    Word word{0};
  };
  Line* base_ = nullptr;
};

// One flag for each member; kSpacing, the bytes between the flags, decides whether they share a line.
template <int kPauses, std::size_t kSpacing>
class Flags final : public Floor {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    auto* base = static_cast<std::byte*>(arena.allocate(2 * kMaxLine));
    for (std::size_t i = 0; i < 2; ++i) flags_[i] = ::new (base + i * kSpacing) Word(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Word& mine = *flags_[rank];
    const Word& other = *flags_[1 - rank];
    run(rank, turn, [&](std::uint64_t e) {
      // order: release: earlier writes of this member are visible with its flag; pairs with the acquire in
      // await.
      mine.store(e, std::memory_order_release);
      await<kPauses>(other, e);
    });
  }

 private:
  Word* flags_[2] = {};
};

template <int kPauses>
class Counter final : public Floor {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    word_ = arena.make<Word>(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Word& word = *word_;
    run(rank, turn, [&](std::uint64_t e) {
      const std::uint64_t goal = 2 * e;
      // order: acq_rel: releases this member's writes, and the second member acquires the first one's; pairs
      // with the acquire in await.
      if (word.fetch_add(1, std::memory_order_acq_rel) + 1 < goal) await<kPauses>(word, goal);
    });
  }

 private:
  Word* word_ = nullptr;
};

// A probe, not a floor: member 1 answers member 0, so that an episode takes exactly two one-way latencies.
template <int kPauses>
class PingPong final : public Floor {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    for (auto& flag : flags_) flag = arena.make<Word>(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Word& mine = *flags_[rank];
    const Word& other = *flags_[1 - rank];
    run(rank, turn, [&](std::uint64_t e) {
      if (rank == 1) await<kPauses>(other, e);
      // order: release: earlier writes are visible; pairs with the acquire in await.
      mine.store(e, std::memory_order_release);
      if (rank == 0) await<kPauses>(other, e);
    });
  }

 private:
  Word* flags_[2] = {};
};

// Two members on one CPU yield it to each other: an episode takes one switch of the scheduler.
class Switch final : public Floor {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    word_ = arena.make<Word>(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Word& word = *word_;
    run(rank, turn, [&](std::uint64_t e) {
      const std::uint64_t goal = 2 * e;
      // order: acq_rel: as in Counter; pairs with the acquire below.
      word.fetch_add(1, std::memory_order_acq_rel);
      // order: acquire: as in await; pairs with the fetch_add above.
      while (word.load(std::memory_order_acquire) < goal) sched_yield();
    });
  }

 private:
  Word* word_ = nullptr;
};

template <int kPauses>
using PrivateFlags = Flags<kPauses, kMaxLine>;
template <int kPauses>
using PackedFlags = Flags<kPauses, sizeof(Word)>;

}  // namespace

std::unique_ptr<Subject> floor_private(int pauses) { return with_pauses<PrivateFlags>(pauses); }
std::unique_ptr<Subject> floor_private_slots(int pauses) { return with_pauses<ParityFlags>(pauses); }
std::unique_ptr<Subject> floor_packed(int pauses) { return with_pauses<PackedFlags>(pauses); }
std::unique_ptr<Subject> floor_counter(int pauses) { return with_pauses<Counter>(pauses); }
std::unique_ptr<Subject> probe_one_way(int pauses) { return with_pauses<PingPong>(pauses); }
std::unique_ptr<Subject> probe_switch() { return std::make_unique<Switch>(); }

}  // namespace fermata::bench
