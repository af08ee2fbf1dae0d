// The protocols other than signals, in the checker: status lines (sync/status_line.hpp), hand-overs
// (sync/handover.hpp), biased locks (sync/biased_lock.hpp), ring buffers (sync/ring.hpp), single copy
// (sync/single_copy.hpp), and the doorbell of a broken team (sync/doorbell.hpp).
#ifndef FERMATA_TESTS_MODEL_PROTOCOLS_HPP
#define FERMATA_TESTS_MODEL_PROTOCOLS_HPP

#include "memory.hpp"
#include "sync/biased_lock.hpp"
#include "sync/handover.hpp"
#include "sync/ring.hpp"
#include "sync/single_copy.hpp"
#include "sync/status_line.hpp"

namespace fermata::model {

template <class T>
using Shared = ModelAtomics::Atomic<T>;

struct ModelLine {
  Shared<std::uint64_t> sequence{0}, calls[2]{{0}, {0}};
  Shared<std::uint32_t> state{0};
};

// One member begins three calls, and its line keeps the latest two. Another member looks up the first call
// twice: it finds that call's descriptor or nothing.
struct StatusLineSuite : Suite<2> {
  ModelLine line;

  void thread(unsigned member) override {
    if (member == 0) {
      for (std::uint64_t n = 1; n <= 3; ++n) say_call<ModelAtomics>(line, n, n * 10);
      say_over<ModelAtomics>(line, 3);
      return;
    }
    for (int look = 0; look < 2; ++look) {
      std::uint64_t call = 0;
      if (recall<ModelAtomics>(line, 1, call) == Recalled::kKnown) RL_ASSERT(call == 10);
    }
  }
};

// A member that sees another as joined knows its process. A member that sees another as left sees its calls
// finished, so nobody reports it missing in a call.
struct StateSuite : Suite<2> {
  ModelLine line;
  Shared<std::uint32_t> process{0};

  void thread(unsigned member) override {
    constexpr std::uint32_t kJoined = 1, kLeft = 2;
    if (member == 0) {
      ModelAtomics::store_relaxed(process, std::uint32_t{5});
      say_state<ModelAtomics>(line, kJoined);
      say_call<ModelAtomics>(line, 1, 10);
      say_over<ModelAtomics>(line, 1);
      say_state<ModelAtomics>(line, kLeft);
      return;
    }
    const std::uint32_t state = state_of<ModelAtomics>(line);
    if (state != 0) RL_ASSERT(ModelAtomics::load_relaxed(process) == 5);
    if (state == kLeft) RL_ASSERT(newest_call<ModelAtomics>(line) == 3);
  }
};

// Two members break the team at once: the cause and the culprit both come from the same one.
struct BreakSuite : Suite<3> {
  struct {
    Shared<std::uint32_t> breach{0};
  } header;

  void thread(unsigned member) override {
    if (member > 0) {
      break_once<ModelAtomics>(header, {10 + member, member});
      RL_ASSERT(is_broken<ModelAtomics>(header));
      return;
    }
    const Breach first = breach_of<ModelAtomics>(header);
    if (first.cause == 0) return;
    RL_ASSERT(first.culprit + 10 == first.cause);
    RL_ASSERT(breach_of<ModelAtomics>(header).cause == first.cause);
  }
};

// Three members use an object; the last one to drop its reference frees it.
struct ReferenceSuite : Suite<3> {
  Shared<std::uint32_t> count{3};
  rl::var<std::uint64_t> object{0};

  void thread(unsigned) override {
    RL_ASSERT(object(RL_INFO) == 0);
    if (drop_reference<ModelAtomics>(count)) object(RL_INFO) = 1;
  }
};

// Two members use an object of a third, which uses it again after both have dropped it. kCounted: the drops
// are counted, from 0 to 2.
template <bool kCounted>
struct CollectSuite : Suite<3> {
  Shared<std::uint32_t> count{kCounted ? 0 : 2};
  rl::var<std::uint64_t> object{0};

  bool are_gone() {
    return kCounted ? have_dropped<ModelAtomics>(count, 2) : references_are_gone<ModelAtomics>(count);
  }
  void thread(unsigned member) override {
    if (member > 0) {
      RL_ASSERT(object(RL_INFO) == 0);
      if constexpr (kCounted) drop_another<ModelAtomics>(count);
      else drop_reference<ModelAtomics>(count);
    } else if (are_gone()) {
      object(RL_INFO) = 1;
    }
  }
};

// A member that counts two joined members sees the CPUs of both.
struct JoinSuite : Suite<3> {
  Shared<std::uint32_t> joined{0};
  Shared<std::uint64_t> cpus{0};

  void thread(unsigned member) override {
    if (member > 0) {
      ModelAtomics::add_relaxed(cpus, std::uint64_t{1} << member);
      count_joined<ModelAtomics>(joined);
    } else if (joined_so_far<ModelAtomics>(joined) == 2) {
      RL_ASSERT(ModelAtomics::load_relaxed(cpus) == 6);
    }
  }
};

// Two members each make a next team, and one of the two is chosen; a member that moves there sees it
// complete.
struct MoveSuite : Suite<3> {
  using Team = rl::var<std::uint64_t>;
  Team teams[2];
  Shared<Team*> moved{nullptr};

  void thread(unsigned member) override {
    if (member < 2) {
      teams[member](RL_INFO) = 7;
      move_once<ModelAtomics>(moved, &teams[member]);
    } else if (Team* const team = moved_to<ModelAtomics>(moved); team != nullptr) {
      RL_ASSERT((*team)(RL_INFO) == 7);
    }
  }
};

// Two threads hand in one node each. A third takes all nodes that are there, with the contents that they had.
struct HandInSuite : Suite<3> {
  struct Node {
    Shared<Node*> next{nullptr};
    rl::var<std::uint64_t> left{0};
  };
  Node nodes[2];
  Shared<Node*> top{nullptr};

  void thread(unsigned member) override {
    if (member < 2) {
      nodes[member].left(RL_INFO) = 7;
      hand_in<ModelAtomics>(top, &nodes[member]);
      return;
    }
    for (Node* node = take_all<ModelAtomics, Node>(top); node != nullptr;
         node = ModelAtomics::load_relaxed(node->next))
      RL_ASSERT(node->left(RL_INFO) == 7);
  }
};

// Pieces pass through a ring buffer of two slots, each used twice. After the last piece was read, its slot
// belongs to the writer again, as single copy requires.
struct RingSuite : Suite<2> {
  static constexpr std::uint64_t kSlots = 2;
  static constexpr std::uint64_t kPieces = 4;
  using Pieces = Ring<ModelAtomics>;
  Shared<std::uint64_t> header[kSlots], credit;
  rl::var<std::uint64_t> piece[kSlots];

  void before() override {
    credit.store(0, rl::mo_relaxed, RL_INFO);
    for (std::uint64_t s = 0; s < kSlots; ++s) {
      header[s].store(0, rl::mo_relaxed, RL_INFO);
      piece[s](RL_INFO) = 0;
    }
  }

  void thread(unsigned member) override {
    std::uint64_t credit_seen = 0;
    for (std::uint64_t n = 1; n <= kPieces; ++n) {
      const std::uint64_t slot = n % kSlots;
      if (member == 0) {
        while (!Pieces::may_write(credit, credit_seen, n, kSlots)) ModelAtomics::pause();
        piece[slot](RL_INFO) = n * 10;
        Pieces::publish(header[slot], n);
      } else {
        while (!Pieces::has_come(header[slot], n)) ModelAtomics::pause();
        RL_ASSERT(piece[slot](RL_INFO) == n * 10);
        Pieces::give_credit(credit, n, kSlots, n == kPieces);
      }
    }
    if (member != 0) return;
    while (!Pieces::was_read(credit, credit_seen, kPieces)) ModelAtomics::pause();
    piece[kPieces % kSlots](RL_INFO) = 0;
  }
};

// Single copy: a member reads another one's block. After the team is broken and nobody reads the block any
// more, its owner writes it.
struct SingleCopySuite : Suite<2> {
  struct {
    Shared<std::uint32_t> breach{0};
  } header;
  Shared<std::uint32_t> reading{0};
  rl::var<std::uint64_t> block;

  void before() override { block(RL_INFO) = 7; }

  void thread(unsigned member) override {
    if (member == 1) {
      if (!begin_reading<ModelAtomics>(reading, header)) return;
      RL_ASSERT(block(RL_INFO) == 7);
      end_reading<ModelAtomics>(reading);
      return;
    }
    break_once<ModelAtomics>(header, {1, 1});
    withdraw<ModelAtomics>();
    while (still_reads<ModelAtomics>(reading)) ModelAtomics::pause();
    block(RL_INFO) = 8;
  }
};

// Two threads lock an object twice each; a failed attempt to lock protects nothing.
struct BiasedLockSuite : Suite<2> {
  using ModelLock = BiasedLock<ModelAtomics>;
  ModelLock lock;
  rl::var<std::uint64_t> object{0};

  void before() override { lock.init(ModelLock::kFree); }
  void thread(unsigned) override {
    for (int n = 0; n < 2; ++n) {
      while (!lock.try_lock()) ModelAtomics::pause();
      object(RL_INFO) = object(RL_INFO) + 1;
      lock.unlock(ModelLock::kFree);
    }
  }
  void after() override { RL_ASSERT(object(RL_INFO) == 4); }
};

// One thread takes the lock a last time and then leaves the object alone; the owner works on it without
// locking.
struct BiasedLockBiasedSuite : Suite<2> {
  using ModelLock = BiasedLock<ModelAtomics>;
  ModelLock lock;
  rl::var<std::uint64_t> object{0};

  void before() override { lock.init(ModelLock::kFree); }
  void thread(unsigned member) override {
    if (member == 1) {
      if (!lock.try_lock()) return;
      object(RL_INFO) = 1;
      lock.unlock(ModelLock::kBiased);
    } else if (lock.is_biased()) {
      object(RL_INFO) = 2;
      RL_ASSERT(!lock.try_lock());
    }
  }
};

// Members park at one door until the team is broken.
template <unsigned N>
struct DoorSuite : Suite<N> {
  struct {
    Shared<std::uint32_t> breach{0};
  } header;
  Door<ModelAtomics> door;
  Fences<ModelAtomics> fences{{0}};
  ModelOs<N> os;

  void before() override { prepare(door, os); }
};

// One member parks for another one's signal, and a third one or the first changes which of them pays.
enum class Change : std::uint8_t { kRaise, kLower, kBoth, kAgain };
template <Change kChange>
struct FencesSuite : DoorSuite<kChange == Change::kRaise ? 2 : 3> {
  Shared<std::uint32_t> signal{0};

  void before() override {
    prepare(this->door, this->os);
    if (kChange == Change::kLower || kChange == Change::kAgain)
      this->fences.mode.store(this->fences.kFull, rl::mo_relaxed, RL_INFO);
  }
  void thread(unsigned member) override {
    this->os.enter(member);
    if (member == 2) {
      this->fences.lower();
      if (kChange == Change::kAgain) this->fences.raise(this->os);
      return;
    }
    if (member == 1) {
      ModelAtomics::store_relaxed(signal, std::uint32_t{1});
      return ring<ModelAtomics>(this->door, this->fences, this->os);
    }
    if (kChange == Change::kRaise || kChange == Change::kBoth) this->fences.raise(this->os);
    const auto came = [&] { return ModelAtomics::load_relaxed(signal) != 0; };
    while (!came()) park<ModelAtomics>(this->door, this->fences, this->os, 0, came);
  }
};

// A member parks for a signal that never comes. Another one breaks the team and rings the doorbell without
// checking who is parked.
struct BreakParkedSuite : DoorSuite<2> {
  void thread(unsigned member) override {
    os.enter(member);
    if (member == 1) {
      break_once<ModelAtomics>(header, {1, 1});
      wake<ModelAtomics>(door, os);
      return;
    }
    const auto broken = [&] { return is_broken<ModelAtomics>(header); };
    while (!broken()) park<ModelAtomics>(door, fences, os, 0, broken);
  }
};

// Two members sleep at one door, and a third one has news that rings no doorbell. Each gets it, since one of
// them looks, and rings when it goes.
struct GuardSuite : DoorSuite<3> {
  void before() override {
    DoorSuite::before();
    fences.mode.store(fences.kAlwaysFull, rl::mo_relaxed, RL_INFO);
  }
  void thread(unsigned member) override {
    os.enter(member);
    if (member == 2) {
      break_once<ModelAtomics>(header, {1, 1});
      return;
    }
    const auto broken = [&] { return is_broken<ModelAtomics>(header); };
    Guard<ModelAtomics> guard;
    while (!broken()) guard.park(door, fences, os, 1, broken);
    guard.leave(os);
  }
};

}  // namespace fermata::model
#endif
