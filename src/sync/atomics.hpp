// The atomics policy: named operations for memory that threads share. Code whose memory orders are
// model-checked uses these operations, and names a site where an order matters. RealAtomics compiles to
// std::atomic. tests/model provides a policy with the same interface over a model checker, which can weaken
// one site at a time. docs/memory-order.md is generated from the `order:` comments at the uses.
#ifndef FERMATA_SYNC_ATOMICS_HPP
#define FERMATA_SYNC_ATOMICS_HPP

#include <atomic>
#include <cstdint>

#include "base/word.hpp"

namespace fermata {

// Each name stands for one kind of access whose order matters. tests/model weakens each site and expects a
// failure.
enum class Site : std::uint8_t {
  kSlotPublish,     // the sender writes a slot's header, after the payload
  kSlotAwait,       // the receiver reads a slot's header, before the payload
  kWordAdd,         // a member arrives at a counter
  kWordPoll,        // a waiter reads a counter or a phase
  kWordFlip,        // the completer writes a phase
  kCreditGive,      // the receiver tells that it has read the slot
  kCreditAwait,     // the sender checks that it may write the slot again
  kDoorFence,       // doorbell: the parker's fence between arming and its last check
  kRingFence,       // doorbell: the sender's fence between its signal and the check for parkers
  kFencesRead,      // fences: a sender reads which side pays
  kFencesKept,      // fences: a parker reads again which side pays, after its own fence
  kRaiseFence,      // fences: membarrier, before parkers no longer run it
  kLowerFence,      // fences: the fence after which parkers run membarrier again
  kGuardFence,      // doorbell: the guard's fence, after it has stopped, before its check for parkers
  kBellRing,        // doorbell: the ringer increases the bell's number
  kBellRead,        // doorbell: the parker reads the number to sleep on
  kCallText,        // status line: the member writes a call's descriptor
  kCallNumber,      // status line: the member writes the call's number, after the descriptor
  kCallLook,        // status line: a reader reads the number, before the descriptor
  kCallRead,        // status line: a reader reads the descriptor, before it reads the number again
  kLeft,            // status line: the member has joined or left
  kLeftRead,        // status line: a reader checks whether the member has left, before its call number
  kReferenceDrop,   // a holder drops its reference; the last holder frees the object
  kReferencesRead,  // the owner checks that all references are dropped, before it uses the object again
  kJoin,            // a member has joined and published its CPUs
  kJoinedRead,      // a reader reads how many members have joined, before their CPUs
  kMove,            // a thread publishes the object to which all threads move
  kMovedRead,       // a thread reads where that object is, before the object
  kHandIn,          // a thread pushes an item for others to use
  kTakeAll,         // a thread takes all pushed items
  kFlipAwait,       // tree barrier: a thread that climbs or releases waits for the previous release
  kRecycle,         // a new barrier's word is written where an old barrier was
  kPoolPush,        // a thread gives an entry back to a pool
  kPoolPop,         // a thread reads which entry of a pool it can take
  kGone,            // a thread leaves a barrier in shared memory
  kGoneRead,        // the destroyer checks that all threads have left, before it frees the memory
  kReadFence,       // single copy: the reader's fence between its flag and the check for a broken team
  kReadEnd,         // single copy: the reader has finished
  kReadEndAwait,    // single copy: the owner checks that nobody reads, before it reuses its block
  kWithdrawFence,   // single copy: the owner's fence after it sees the team broken, before kReadEndAwait
  kBiasedLock,      // biased lock: a thread takes it, or checks that it need not
  kBiasedUnlock,    // biased lock: a thread releases it
  kCount
};

struct RealAtomics {
  template <class T>
  using Atomic = std::atomic<T>;
  using Plain = std::uint64_t;  // a word of payload: not atomic; the slot's header orders it

  template <Site, class T>
  static T load_acquire(const Atomic<T>& a) {
    return a.load(std::memory_order_acquire);  // order: as the calling site says
  }
  template <class T>
  static T load_relaxed(const Atomic<T>& a) {
    return a.load(std::memory_order_relaxed);  // order: none needed; the calling site says why
  }
  template <Site, class T>
  static void store_release(Atomic<T>& a, T v) {
    a.store(v, std::memory_order_release);  // order: as the calling site says
  }
  template <class T>
  static void store_relaxed(Atomic<T>& a, T v) {
    a.store(v, std::memory_order_relaxed);  // order: none needed; the calling site says why
  }
  template <Site, class T>
  static T add_acq_rel(Atomic<T>& a, T v) {
    return a.fetch_add(v, std::memory_order_acq_rel);  // order: as the calling site says
  }
  template <Site, class T>
  static T add_release(Atomic<T>& a, T v) {
    return a.fetch_add(v, std::memory_order_release);  // order: as the calling site says
  }
  template <Site, class T>
  static T sub_acq_rel(Atomic<T>& a, T v) {
    return a.fetch_sub(v, std::memory_order_acq_rel);  // order: as the calling site says
  }
  // Returns true if the old value was `from`. A failed exchange orders nothing.
  template <Site, class T>
  static bool compare_exchange_release(Atomic<T>& a, T from, T to) {
    // order: as the calling site says
    return a.compare_exchange_strong(from, to, std::memory_order_release, std::memory_order_relaxed);
  }
  template <Site, class T>
  static bool compare_exchange_acquire(Atomic<T>& a, T from, T to) {
    // order: as the calling site says
    return a.compare_exchange_strong(from, to, std::memory_order_acquire, std::memory_order_relaxed);
  }
  template <class T>
  static bool compare_exchange_relaxed(Atomic<T>& a, T from, T to) {
    // order: none needed; the calling site says why
    return a.compare_exchange_strong(from, to, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  template <class T>
  static T add_relaxed(Atomic<T>& a, T v) {
    return a.fetch_add(v, std::memory_order_relaxed);  // order: none needed; the calling site says why
  }
  template <class T>
  static T sub_relaxed(Atomic<T>& a, T v) {
    return a.fetch_sub(v, std::memory_order_relaxed);  // order: none needed; the calling site says why
  }
  template <Site, class T>
  static T exchange_release(Atomic<T>& a, T v) {
    return a.exchange(v, std::memory_order_release);  // order: as the calling site says
  }
  template <class T>
  static T or_relaxed(Atomic<T>& a, T v) {
    return a.fetch_or(v, std::memory_order_relaxed);  // order: none needed; the calling site says why
  }
  template <class T>
  static T and_relaxed(Atomic<T>& a, T v) {
    return a.fetch_and(v, std::memory_order_relaxed);  // order: none needed; the calling site says why
  }
  template <Site>
  static void full_fence() {
    // order: store-load; nothing weaker orders a store before a load
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  // The cheap half of an asymmetric fence. The other side runs membarrier, which acts as a full fence here,
  // too.
  template <Site>
  static void light_fence() {
    // order: compiler fence; membarrier at kDoorFence or kRaiseFence does the rest
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  static std::uint64_t plain_load(const Plain& p) { return opaque(p); }
  static void plain_store(Plain& p, std::uint64_t v) { p = opaque(v); }
  // Adjacent words, for a function that reads them at once, in place. Other policies may copy them to `room`.
  static const std::uint64_t* plain_words(const Plain* p, std::uint32_t, std::uint64_t*) { return p; }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb");  // on most cores yield does nothing; isb pauses about as long as x86's pause
#elif defined(__powerpc64__)
    __asm__ __volatile__("or 1,1,1; or 2,2,2" ::: "memory");  // low SMT priority, then medium again
#else
    // order: the compiler must not merge the loop's reads
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
};

// A loop of that many iterations, each about one CPU cycle.
inline void delay(std::uint32_t cycles) {
  for (; cycles != 0; --cycles) asm volatile("");
}

}  // namespace fermata
#endif
