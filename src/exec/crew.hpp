// The members of this process that have requests outstanding, by the thread that they belong to: a thread that waits in one of its
// members advances the others, too, so that threads which wait for the same operations of several teams in different orders all go on.
//
// A member belongs to the thread that last called for its requests. It is in the crew of that thread from a call that leaves requests
// outstanding until they are over, and then whoever works on its requests takes turns (sync/turn.hpp): another thread may have taken
// the member over while the one before still is in a wait.
#ifndef FERMATA_EXEC_CREW_HPP
#define FERMATA_EXEC_CREW_HPP

#include <atomic>
#include <cstdint>

#include "sync/turn.hpp"

namespace fermata::exec {

class Member;
class Crew;

// A member's place in a crew; written with the crew locked.
struct CrewPlace {
  Crew* crew = nullptr;
  Member* next = nullptr;
  Member* before = nullptr;
  const void* thread = nullptr;
};

// Threads share a crew where their numbers collide; then each takes its own members only.
class Crew {
 public:
  // The calling thread; another one's only when that has ended.
  static const void* self() { return &thread_; }
  static Crew& mine();

  // Nobody in it had requests outstanding a moment ago. For the calling thread's own members it is exact.
  bool is_empty() const {
    return first_.load(std::memory_order_relaxed) == nullptr;  // order: the thread's own store, or a hint
  }
  void add(Member* member);
  static void remove(Member* member);
  // Of this thread's members the next one behind `after` (null: from the beginning) but `except`, its turn taken; null: no more.
  // `after` is held by the caller.
  Member* take_next(const Member* after, const Member* except) { return take_next(after, except, self()); }

  // For the progress thread: all crews' members, whosoever they are, one after the other.
  static constexpr std::size_t kCrews = 128;
  static Crew& number(std::size_t n);
  Member* take_any(const Member* after) { return take_next(after, nullptr, nullptr); }

 private:
  Member* take_next(const Member* after, const Member* except, const void* thread);
  void lock();
  void unlock() { turn_.give(Turn<RealAtomics>::kFree); }

  [[gnu::tls_model("initial-exec")]] static constinit thread_local char thread_;

  Turn<RealAtomics> turn_;
  std::uint32_t generation_ = 0;  // a forked child finds the crews of its parent's threads, maybe locked
  std::atomic<Member*> first_{nullptr};
};

// The thread that works on a member's requests.
class Holder {
 public:
  // order: relaxed: this thread's own store, or one that says that it isn't this thread
  bool is_this_thread() const { return thread_.load(std::memory_order_relaxed) == Crew::self(); }
  void become_this_thread() { thread_.store(Crew::self(), std::memory_order_relaxed); }  // order: see above
  void become_nobody() { thread_.store(nullptr, std::memory_order_relaxed); }            // order: see above

 private:
  std::atomic<const void*> thread_{nullptr};
};

}  // namespace fermata::exec
#endif
