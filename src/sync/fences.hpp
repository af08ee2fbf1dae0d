// Fences: which side of a team's doorbells (sync/doorbell.hpp) pays for their order, the store before the
// load. Each side has a cheap and an expensive way:
//
//   mode       a sender, for each signal        a parker, for each park
//   light      nothing                          membarrier, a system call: it acts at the senders, too
//   full       a fence, some 20 cycles          a fence
//   changing   a fence                          membarrier
//
// Where parks are rare, light is cheaper, else full. Both changes go by way of `changing`, which suits every
// parker and every sender:
// - raise(): after the membarrier every sender that has not seen `changing` has published its signal. So
//   parkers, which may find `full` from then on, see that signal in the check after they have read the mode.
// - lower(): a parker that reads `full` again after its fence has armed before the fence of lower(). So a
//   sender that reads `light`, which is written after that fence, sees the parker armed.
// Whoever writes `changing` is the only one that may go on from there. If it dies, the mode stays.
#ifndef FERMATA_SYNC_FENCES_HPP
#define FERMATA_SYNC_FENCES_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

template <class A>
struct Fences {
  static constexpr std::uint32_t kLight = 0, kChanging = 1, kFull = 2;
  static constexpr std::uint32_t kAlwaysFull = 3;  // a process cannot use membarrier, or a team is crowded

  typename A::template Atomic<std::uint32_t> mode;

  // Sender's side: between the signal and the check for parkers.
  void order_signal() const {
    // order: compiler fence: the signal stays before the reads of the mode and of `armed`. In light mode the
    // parker's membarrier does the rest. Pairs with kDoorFence.
    A::template light_fence<Site::kRingFence>();
    // order: acquire: a sender that reads `light` after lower() reads `armed` after the fence there. Pairs
    // with kLowerFence.
    if (A::template load_acquire<Site::kFencesRead>(mode) == kLight) return;
    // order: store-load, between the signal and the read of `armed`. Pairs with kDoorFence.
    A::template full_fence<Site::kRingFence>();
  }

  // Parker's side: between arming and the last check. Os::heavy_fence() is membarrier.
  template <class Os>
  void order_arming(Os& os) const {
    // order: relaxed: a hint; it is read again
    if (A::load_relaxed(mode) >= kFull) {
      // order: store-load, between arming and the check, and the read of the mode. Pairs with kRingFence,
      // kGuardFence and kLowerFence.
      A::template full_fence<Site::kDoorFence>();
      // order: acquire: the check comes after it, and so after the membarrier of a raise() since the fence.
      // Pairs with kRaiseFence.
      if (A::template load_acquire<Site::kFencesKept>(mode) >= kFull) return;
    }
    // order: store-load, likewise, here and at each sender
    os.template heavy_fence<Site::kDoorFence>();
  }

  // From now on parks are frequent.
  template <class Os>
  void raise(Os& os) {
    // order: relaxed, both: the fence follows
    if (A::load_relaxed(mode) != kLight) return;
    if (!A::compare_exchange_relaxed(mode, kLight, kChanging)) return;  // order: see above
    // order: store-load at each sender, between a signal before it and a read of the mode after it. Pairs
    // with kFencesKept.
    os.template heavy_fence<Site::kRaiseFence>();
    // order: relaxed: the fence makes it a release. Pairs with kFencesKept.
    A::compare_exchange_relaxed(mode, kChanging, kFull);
  }

  // From now on parks are rare.
  void lower() {
    // order: relaxed: the fence follows
    if (!A::compare_exchange_relaxed(mode, kFull, kChanging)) return;
    // order: seq_cst: store-load, between `changing` and a sender's read of `armed`. Pairs with kDoorFence
    // and kFencesRead.
    A::template full_fence<Site::kLowerFence>();
    // order: relaxed: the fence makes it a release. Pairs with kFencesRead.
    A::compare_exchange_relaxed(mode, kChanging, kLight);
  }
};

}  // namespace fermata
#endif
