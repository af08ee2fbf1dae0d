// A team's segment (exec/) in the checker: the cells that the programs name, the doors, and the futex.
#ifndef FERMATA_TESTS_MODEL_MEMORY_HPP
#define FERMATA_TESTS_MODEL_MEMORY_HPP

#include <algorithm>

#include "exec/cursor.hpp"
#include "policy.hpp"
#include "programs.hpp"
#include "sync/doorbell.hpp"
#include "sync/landing.hpp"

namespace fermata::model {

inline constexpr std::size_t kMaxCells = 8;
inline constexpr std::size_t kMaxDoors = 10;

// The fences of a doorbell: full on both sides, or membarrier on the parker's side only.
enum class Fencing : std::uint8_t { kFull, kMembarrier };

// The offsets in a program's region, gathered before the simulation: the model makes one object for each.
class Places {
 public:
  void gather(const Programs& programs, std::uint32_t payload_words) {
    *this = Places{};
    members_ = static_cast<std::uint32_t>(programs.steps.size());
    for (const auto& member : programs.steps)
      for (const Step& step : member) gather_step(step, payload_words);
  }

  std::size_t cell(std::uint32_t offset) const { return find(cells_, offset); }
  std::size_t payload(std::uint32_t offset) const { return find(payloads_, offset); }
  std::size_t door(const Step& step) const {
    return step.rings == 1 ? step.door : members_ + find(doors_, step.door);
  }
  std::size_t cells() const { return cells_.size(); }
  std::size_t payloads() const { return payloads_.size(); }
  std::size_t doors() const { return members_ + doors_.size(); }

 private:
  using Offsets = std::vector<std::uint32_t>;

  static void note(Offsets& offsets, std::uint32_t offset) {
    if (std::find(offsets.begin(), offsets.end(), offset) == offsets.end()) offsets.push_back(offset);
  }
  static std::size_t find(const Offsets& offsets, std::uint32_t offset) {
    return static_cast<std::size_t>(std::find(offsets.begin(), offsets.end(), offset) - offsets.begin());
  }

  void gather_step(const Step& step, std::uint32_t payload_words) {
    if (step.code == Code::kEnd || step.code == Code::kJump) return;
    if (step.rings == 2) note(doors_, step.door);
    const bool slots = step.code == Code::kSend || step.code == Code::kAwait || step.code == Code::kSendAway;
    for (std::uint32_t s = 0; s <= (slots ? step.mask : 0); ++s) {
      const std::uint32_t slot = step.offset + s * step.stride;
      note(cells_, slot);
      for (std::uint32_t i = 0; slots && i < payload_words; ++i) note(payloads_, slot + 8 + 8 * i);
    }
  }

  std::uint32_t members_ = 0;
  Offsets cells_, payloads_, doors_;
};

inline Places places;  // of the scenario that runs

// The part of the operating system that doorbells need. sleep() has no time-out: a lost wake-up is a
// deadlock, which the checker reports. With a limit it ends at once, as if the time had passed. The kernel
// compares and enqueues under one lock and after its own fence. So it compares with the latest value, and
// nothing comes between. Sleeping and waking order nothing else.
template <std::uint32_t N>
class ModelOs {
 public:
  using Bell = rl::atomic<std::uint32_t>;

  void add_bell(const Bell* bell) { bells_[bell_count_++] = bell; }
  void enter(std::uint32_t member) {
    // A thread that starts to run passes a fence, as any context switch does. Without it, no other thread
    // could run a fence on its behalf.
    threads_[member] = rl::ctx().threadx_;
    if (fenced_) rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
  }

  void wake_all(Bell& bell) {
    rl::ctx().sched();
    waiting(bell).unpark_all(rl::ctx(), RL_INFO);
  }
  static constexpr std::int64_t kNoLimit = 0;
  void sleep(Bell& bell, std::uint32_t seen, std::int64_t ns) {
    rl::ctx().sched();
    if (bell.debug_value() != seen || ns != kNoLimit) {
      ModelAtomics::pause();  // a call takes time: the new value of the bell becomes visible
      return;
    }
    waiting(bell).park_current(rl::ctx(), false, false, false, RL_INFO);
  }

  template <Site S>
  void heavy_fence() {
    if (!ModelAtomics::is_weak(S)) membarrier();
  }

 private:
  // membarrier: a fence here, one in each other thread at its present place and at a time of its own, and a
  // second one here.
  void membarrier() {
    rl::context& c = rl::ctx();
    rl::thread_info_base* const self = c.threadx_;
    fenced_ = true;
    rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
    for (rl::thread_info_base* other : threads_) {
      if (other == nullptr || other == self) continue;
      c.sched();
      c.disable_preemption();
      c.threadx_ = other;
      rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
      c.threadx_ = self;
      c.enable_preemption();
    }
    rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
  }

  rl::waitset<N>& waiting(const Bell& bell) {
    const auto end = bells_.begin() + static_cast<std::ptrdiff_t>(bell_count_);
    return waitsets_[static_cast<std::size_t>(std::find(bells_.begin(), end, &bell) - bells_.begin())];
  }

  std::array<const Bell*, kMaxDoors> bells_{};
  std::array<rl::waitset<N>, kMaxDoors> waitsets_;
  std::array<rl::thread_info_base*, N> threads_{};
  std::size_t bell_count_ = 0;
  bool fenced_ = false;
};

// Before the simulation: nobody parks at the door.
template <class Os>
void prepare(Door<ModelAtomics>& door, Os& os) {
  door.armed.store(0, rl::mo_relaxed, RL_INFO);
  door.bell.store(0, rl::mo_relaxed, RL_INFO);
  door.guarded.store(0, rl::mo_relaxed, RL_INFO);
  os.add_bell(&door.bell);
}

// The memory that a program's offsets refer to, as in exec::TeamMemory.
template <std::uint32_t N>
class ModelMemory {
 public:
  using Counter = ModelAtomics::Atomic<std::uint64_t>;
  using Payload = ModelAtomics::Plain;

  void prepare(Fencing fencing) {
    const bool full = fencing == Fencing::kFull;
    fences.mode.store(full ? fences.kAlwaysFull : fences.kLight, rl::mo_relaxed, RL_INFO);
    for (std::size_t i = 0; i < places.cells(); ++i) cells_[i].store(0, rl::mo_relaxed, RL_INFO);
    for (std::size_t i = 0; i < places.payloads(); ++i) payloads_[i](RL_INFO) = 0;
    for (std::size_t i = 0; i < places.doors(); ++i) model::prepare(doors_[i], os);
  }

  Counter& header(std::uint32_t offset) { return cells_[places.cell(offset)]; }
  Counter& word(std::uint32_t offset) { return header(offset); }
  Counter& credit(std::uint32_t offset) { return header(offset); }
  Payload& payload(std::uint32_t slot, std::uint32_t i) {
    return payloads_[places.payload(slot + 8 + 8 * i)];
  }
  Door<ModelAtomics>& door(const Step& step) { return doors_[places.door(step)]; }
  bool must_wake(const Step& step) {
    return parks && step.rings != 0 && is_armed<ModelAtomics>(door(step), fences);
  }
  void wake(const Step& step) { fermata::wake<ModelAtomics>(door(step), os); }
  void ring(const Step& step) {
    if (must_wake(step)) wake(step);
  }

  // The transport is not under test: a line arrives at once.
  void carry(const Step& step, std::uint32_t offset, std::uint64_t header_bits, std::uint32_t words,
             const std::uint64_t* from) {
    const auto word = [&](std::uint32_t i) -> Payload& { return payload(offset, i); };
    if (land<ModelAtomics>(header(offset), word, header_bits, words, from, [] {})) ring(step);
  }

  Fences<ModelAtomics> fences;
  ModelOs<N> os;
  // false: members spin, and the search leaves out the unused doors
  bool parks = false;

 private:
  std::array<Counter, kMaxCells> cells_;
  std::array<Payload, kMaxCells> payloads_;
  std::array<Door<ModelAtomics>, kMaxDoors> doors_;
};

}  // namespace fermata::model
#endif
