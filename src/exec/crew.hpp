// Crew: the thread's members that have requests outstanding. A thread that waits in one of its members also
// advances the others. So threads that wait for the same operations of several teams in different orders do
// not block each other.
//
// A member belongs to the thread that last made a call for its requests. It joins the set of that thread
// when such a call leaves requests outstanding, and stays until they are over. During that time a thread
// takes the biased lock of the member (sync/turn.hpp) to work on its requests: another thread may have taken
// over the member while the previous thread is still in a wait.
#ifndef FERMATA_EXEC_CREW_HPP
#define FERMATA_EXEC_CREW_HPP

#include <atomic>
#include <cstdint>

#include "sync/turn.hpp"

namespace fermata::exec {

class Member;
class Crew;

// A member's place in such a set. Written with the set locked.
struct CrewPlace {
  Crew* crew = nullptr;
  Member* next = nullptr;
  Member* before = nullptr;
  const void* thread = nullptr;
};

// Threads whose numbers collide share a set. Each takes only its own members from it.
class Crew {
 public:
  // Identifies the calling thread. A later thread can have the same value only after this one has ended.
  static const void* self() { return &thread_; }
  static Crew& mine();

  // True if no member of the set had requests outstanding a moment ago. Exact for the calling thread's own
  // members.
  bool is_empty() const {
    // order: relaxed: the thread's own store, or a hint
    return first_.load(std::memory_order_relaxed) == nullptr;
  }
  void add(Member* member);
  static void remove(Member* member);
  // Returns the next member of this thread after `after` (null: the first), but not `except`, and takes its
  // lock. Null: no more. The caller holds the lock of `after`.
  Member* take_next(const Member* after, const Member* except) { return take_next(after, except, self()); }

  // For the progress thread: all sets, and the members of any thread.
  static constexpr std::size_t kCrews = 128;
  static Crew& number(std::size_t n);
  Member* take_any(const Member* after) { return take_next(after, nullptr, nullptr); }

 private:
  Member* take_next(const Member* after, const Member* except, const void* thread);
  void lock();
  void unlock() { turn_.give(Turn<RealAtomics>::kFree); }

  [[gnu::tls_model("initial-exec")]] static constinit thread_local char thread_;

  Turn<RealAtomics> turn_;
  // The fork generation for which first_ is valid. A forked child gets copies of its parent's sets, perhaps
  // locked.
  std::uint32_t generation_ = 0;
  std::atomic<Member*> first_{nullptr};
};

// Which thread works on a member's requests.
class Holder {
 public:
  // order: relaxed: this thread's own store, or another value, which is not this thread
  bool is_this_thread() const { return thread_.load(std::memory_order_relaxed) == Crew::self(); }
  // order: relaxed: see above
  void become_this_thread() { thread_.store(Crew::self(), std::memory_order_relaxed); }
  void become_nobody() { thread_.store(nullptr, std::memory_order_relaxed); }  // order: relaxed: see above

 private:
  std::atomic<const void*> thread_{nullptr};
};

}  // namespace fermata::exec
#endif
