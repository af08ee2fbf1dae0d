// The best hand-written barriers of two members, as floors for every barrier of two. Variants pause zero, one
// or four times between two polls; the fastest variant of the run is the floor. They
// call no functions, and they need no parity, since episode numbers only grow.
#include <atomic>

#include "bench/floors/floors.hpp"

namespace fermata::bench {
namespace {

using Word = std::atomic<std::uint64_t>;

template <int kPauses>
void await(const Word& word, std::uint64_t value) {
  // order: acquire: earlier writes of the other member are visible; pairs with the release of its flag or
  // counter.
  while (word.load(std::memory_order_acquire) < value) {
    for (int p = 0; p < kPauses; ++p) cpu_pause();
  }
}

// Flags on two lines by parity: a polling member never holds the line that is written next.
template <int kPauses>
class ParityFlags final : public Subject {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    base_ = arena.make_array<Line>(4);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Line* const mine = base_ + 2 * rank;
    const Line* const other = base_ + 2 * (1 - rank);
    std::uint64_t e = episode_[rank].value;
    turn.run(rank, [&] {
      ++e;
      // order: release: as in Flags; pairs with the acquire in await.
      mine[e & 1].word.store(e, std::memory_order_release);
      await<kPauses>(other[e & 1].word, e);
    });
    episode_[rank].value = e;
  }

 private:
  struct alignas(kMaxLine) Line {
    Word word{0};
  };
  Line* base_ = nullptr;
  Episode episode_[2];
};

// One flag for each member; kSpacing, the bytes between the flags, decides whether they share a line.
template <int kPauses, std::size_t kSpacing>
class Flags final : public Subject {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    auto* base = static_cast<std::byte*>(arena.allocate(2 * kMaxLine));
    for (std::size_t i = 0; i < 2; ++i) flags_[i] = ::new (base + i * kSpacing) Word(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Word& mine = *flags_[rank];
    const Word& other = *flags_[1 - rank];
    std::uint64_t e = episode_[rank].value;
    turn.run(rank, [&] {
      ++e;
      // order: release: earlier writes of this member are visible with its flag; pairs with the acquire in
      // await.
      mine.store(e, std::memory_order_release);
      await<kPauses>(other, e);
    });
    episode_[rank].value = e;
  }

 private:
  Word* flags_[2] = {};
  Episode episode_[2];
};

template <int kPauses>
class Counter final : public Subject {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    word_ = arena.make<Word>(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Word& word = *word_;
    std::uint64_t goal = 2 * episode_[rank].value;
    turn.run(rank, [&] {
      goal += 2;
      // order: acq_rel: releases this member's writes, and the second member acquires the first one's; pairs
      // with the acquire in await.
      if (word.fetch_add(1, std::memory_order_acq_rel) + 1 < goal) await<kPauses>(word, goal);
    });
    episode_[rank].value = goal / 2;
  }

 private:
  Word* word_ = nullptr;
  Episode episode_[2];
};

// A probe, not a floor: member 1 answers member 0, so that an episode takes exactly two one-way latencies.
template <int kPauses>
class PingPong final : public Subject {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    for (auto& flag : flags_) flag = arena.make<Word>(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Word& mine = *flags_[rank];
    const Word& other = *flags_[1 - rank];
    std::uint64_t e = episode_[rank].value;
    turn.run(rank, [&] {
      ++e;
      if (rank == 1) await<kPauses>(other, e);
      // order: release: earlier writes are visible; pairs with the acquire in await.
      mine.store(e, std::memory_order_release);
      if (rank == 0) await<kPauses>(other, e);
    });
    episode_[rank].value = e;
  }

 private:
  Word* flags_[2] = {};
  Episode episode_[2];
};

// Two members on one CPU yield it to each other: an episode takes two switches of the scheduler.
class Switch final : public Subject {
 public:
  std::string prepare(const Case&, Arena& arena) override {
    word_ = arena.make<Word>(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    Word& word = *word_;
    std::uint64_t goal = 2 * episode_[rank].value;
    turn.run(rank, [&] {
      goal += 2;
      // order: acq_rel: as in Counter; pairs with the acquire below.
      word.fetch_add(1, std::memory_order_acq_rel);
      // order: acquire: as in await; pairs with the fetch_add above.
      while (word.load(std::memory_order_acquire) < goal) yield();
    });
    episode_[rank].value = goal / 2;
  }

 private:
  Word* word_ = nullptr;
  Episode episode_[2];
};

}  // namespace

std::unique_ptr<Subject> floor_private_pause() { return std::make_unique<Flags<1, kMaxLine>>(); }
std::unique_ptr<Subject> floor_private_plain() { return std::make_unique<Flags<0, kMaxLine>>(); }
std::unique_ptr<Subject> floor_private_pauses() { return std::make_unique<Flags<4, kMaxLine>>(); }
std::unique_ptr<Subject> floor_private_slots_pause() { return std::make_unique<ParityFlags<1>>(); }
std::unique_ptr<Subject> floor_private_slots_plain() { return std::make_unique<ParityFlags<0>>(); }
std::unique_ptr<Subject> floor_packed_pause() { return std::make_unique<Flags<1, sizeof(Word)>>(); }
std::unique_ptr<Subject> floor_packed_pauses() { return std::make_unique<Flags<4, sizeof(Word)>>(); }
std::unique_ptr<Subject> floor_packed_plain() { return std::make_unique<Flags<0, sizeof(Word)>>(); }
std::unique_ptr<Subject> floor_counter_pause() { return std::make_unique<Counter<1>>(); }
std::unique_ptr<Subject> floor_counter_plain() { return std::make_unique<Counter<0>>(); }
std::unique_ptr<Subject> probe_one_way_pause() { return std::make_unique<PingPong<1>>(); }
std::unique_ptr<Subject> probe_one_way_plain() { return std::make_unique<PingPong<0>>(); }
std::unique_ptr<Subject> probe_switch() { return std::make_unique<Switch>(); }

}  // namespace fermata::bench
