// The atomics policy of the model: RealAtomics' interface (sync/atomics.hpp) with the checker's atomics. One
// site can be weakened: its accesses become relaxed (or lose one half of acq_rel), its fence is left out.
#ifndef FERMATA_TESTS_MODEL_POLICY_HPP
#define FERMATA_TESTS_MODEL_POLICY_HPP

#include "checker.hpp"
#include "sync/atomics.hpp"

namespace fermata::model {

enum class Half : std::uint8_t { kBoth, kAcquire, kRelease };  // the half of an acq_rel that is taken away

// Chosen before the simulation and constant during it: one compilation of a scenario serves all sites.
struct Weakened {
  Site site = Site::kCount;  // kCount: none
  Half half = Half::kBoth;
};
inline Weakened weakened;

struct ModelAtomics {
  template <class T>
  using Atomic = rl::atomic<T>;
  // the checker reports a race if two members access it unordered, and one of them writes
  using Plain = rl::var<std::uint64_t>;

  template <Site S, class T>
  static T load_acquire(const Atomic<T>& a) {
    return a.load(is_weak(S) ? rl::mo_relaxed : rl::mo_acquire, RL_INFO);
  }
  template <class T>
  static T load_relaxed(const Atomic<T>& a) {
    return a.load(rl::mo_relaxed, RL_INFO);
  }
  template <Site S, class T>
  static void store_release(Atomic<T>& a, T v) {
    a.store(v, is_weak(S) ? rl::mo_relaxed : rl::mo_release, RL_INFO);
  }
  template <class T>
  static void store_relaxed(Atomic<T>& a, T v) {
    a.store(v, rl::mo_relaxed, RL_INFO);
  }
  template <Site S, class T>
  static T add_acq_rel(Atomic<T>& a, T v) {
    return a.fetch_add(v, both<S>(), RL_INFO);
  }
  template <Site S, class T>
  static T sub_acq_rel(Atomic<T>& a, T v) {
    return a.fetch_sub(v, both<S>(), RL_INFO);
  }
  template <Site S, class T>
  static bool compare_exchange_release(Atomic<T>& a, T from, T to) {
    const rl::memory_order order = is_weak(S) ? rl::mo_relaxed : rl::mo_release;
    return a.compare_exchange_strong(from, to, order, RL_INFO, rl::mo_relaxed, RL_INFO);
  }
  template <Site S, class T>
  static bool compare_exchange_acquire(Atomic<T>& a, T from, T to) {
    return a.compare_exchange_strong(from, to, is_weak(S) ? rl::mo_relaxed : rl::mo_acquire, RL_INFO,
                                     rl::mo_relaxed, RL_INFO);
  }
  template <class T>
  static bool compare_exchange_relaxed(Atomic<T>& a, T from, T to) {
    return a.compare_exchange_strong(from, to, rl::mo_relaxed, RL_INFO, rl::mo_relaxed, RL_INFO);
  }
  template <Site S, class T>
  static T add_release(Atomic<T>& a, T v) {
    return a.fetch_add(v, is_weak(S) ? rl::mo_relaxed : rl::mo_release, RL_INFO);
  }
  template <class T>
  static T add_relaxed(Atomic<T>& a, T v) {
    return a.fetch_add(v, rl::mo_relaxed, RL_INFO);
  }
  template <class T>
  static T sub_relaxed(Atomic<T>& a, T v) {
    return a.fetch_sub(v, rl::mo_relaxed, RL_INFO);
  }
  template <Site S, class T>
  static T exchange_release(Atomic<T>& a, T v) {
    return a.exchange(v, is_weak(S) ? rl::mo_relaxed : rl::mo_release, RL_INFO);
  }
  template <class T>
  static T or_relaxed(Atomic<T>& a, T v) {
    return a.fetch_or(v, rl::mo_relaxed, RL_INFO);
  }
  template <class T>
  static T and_relaxed(Atomic<T>& a, T v) {
    return a.fetch_and(v, rl::mo_relaxed, RL_INFO);
  }
  template <Site S>
  static void full_fence() {
    if (!is_weak(S)) rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
  }
  // A compiler fence does nothing here: the checker runs each thread in program order. A read gets an old
  // value only where the memory orders allow it.
  template <Site>
  static void light_fence() {}
  static std::uint64_t plain_load(const Plain& p) { return p(RL_INFO); }
  static void plain_store(Plain& p, std::uint64_t v) { p(RL_INFO) = v; }
  static const std::uint64_t* plain_words(const Plain* p, std::uint32_t words, std::uint64_t* room) {
    for (std::uint32_t i = 0; i < words; ++i) room[i] = plain_load(p[i]);
    return room;
  }
  static void pause() { rl::yield(1, RL_INFO); }

  static bool is_weak(Site site) { return weakened.site == site; }

 private:
  template <Site S>
  static rl::memory_order both() {
    if (!is_weak(S)) return rl::mo_acq_rel;
    if (weakened.half == Half::kBoth) return rl::mo_relaxed;
    return weakened.half == Half::kAcquire ? rl::mo_release : rl::mo_acquire;
  }
};

}  // namespace fermata::model
#endif
