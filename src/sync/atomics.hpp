// The atomics policy: every shared access of sync/ and exec/ goes through one of these named operations, at a named
// site. RealAtomics compiles to std::atomic; tests/model gives a policy of the same shape over a model checker, which
// can weaken one site at a time. docs/memory-order.md is generated from the `order:` comments at the uses.
#ifndef FERMATA_SYNC_ATOMICS_HPP
#define FERMATA_SYNC_ATOMICS_HPP

#include <atomic>
#include <cstdint>

#include "base/word.hpp"

namespace fermata {

// One name per place where an order matters; tests/model weakens each and expects a failure.
enum class Site : std::uint8_t {
  kSlotPublish,     // header of a slot, written after its payload
  kSlotAwait,       // header of a slot, read before its payload
  kWordAdd,         // arrival at a counter
  kWordPoll,        // a waiter's read of a counter or phase
  kWordFlip,        // the completer's write of a phase
  kCreditGive,      // the receiver has read the slot
  kCreditAwait,     // the sender may write the slot again
  kDoorFence,       // between arming and looking again
  kRingFence,       // between signalling and looking whether somebody parks
  kBellRing,        // the bell's number moves on
  kBellRead,        // the number to sleep on
  kCallText,        // status line: descriptor of a call
  kCallNumber,      // status line: the call's number, written after its descriptor
  kCallLook,        // a look at the number, before the descriptor
  kCallRead,        // a look at the descriptor, before the number again
  kLeft,            // status line: this member has left
  kLeftRead,        // a look whether it has, before its number
  kReferenceDrop,   // a reference is given back; the last one frees
  kReferencesRead,  // whether all have been, before what they were to is used again
  kJoin,            // one more member has joined and published its CPUs
  kJoinedRead,      // how many have, read before their CPUs
  kMove,            // where the members have moved on to
  kMovedRead,       // a look at it, before what is there
  kHandIn,          // something is handed in for others to use
  kTakeAll,         // all that was handed in is taken
  kFlipAwait,       // who climbs a tree, or completes an episode, sees the one before released
  kRecycle,         // the word of a barrier that is made where another one was
  kPoolPush,        // an entry is given back to a pool
  kPoolPop,         // a look at the entry to take
  kGone,            // whoever met in a barrier of shared memory is out of it
  kGoneRead,        // a look whether all are, before its memory is given up
  kReadFence,       // between saying that a lent block is being read and looking whether the team is broken
  kReadEnd,         // it was read
  kReadEndAwait,    // a look whether anybody still reads, before the lender's owner has its block again
  kWithdrawFence,   // between the team's being broken and that look
  kTurnTake,        // a turn at something that one thread works on at a time, or a look whether none is needed
  kTurnGive,        // the end of a turn
  kCount
};

struct RealAtomics {
  template <class T>
  using Atomic = std::atomic<T>;
  using Plain = std::uint64_t;  // a word of payload: not atomic, ordered by its slot's header

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
  // True if `from` was there; on failure nothing is ordered.
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
    std::atomic_thread_fence(std::memory_order_seq_cst);  // order: store-load; nothing weaker orders a store before a load
  }
  // The cheap half of an asymmetric fence: the other side runs membarrier, which is a full fence here too.
  template <Site>
  static void light_fence() {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // order: the compiler's; membarrier at kDoorFence does the rest
  }
  static std::uint64_t plain_load(const Plain& p) { return opaque(p); }
  static void plain_store(Plain& p, std::uint64_t v) { p = opaque(v); }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb");  // yield is a no-op on most cores; isb gives the pause that x86's has
#elif defined(__powerpc64__)
    __asm__ __volatile__("or 27,27,27; or 2,2,2" ::: "memory");  // low SMT priority, then medium again
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);  // order: keeps the loop from being merged
#endif
  }
};

}  // namespace fermata
#endif
