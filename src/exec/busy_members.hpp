// BusyMembers: the thread's members that have requests outstanding. A thread that waits in one of its members
// also advances the others. So threads that wait for the same operations of several teams in different orders
// do not block each other.
//
// A member belongs to the thread that last made a call for its requests. It joins that thread's list when
// such a call leaves requests outstanding, and stays until they are over. During that time a thread takes the
// member's biased lock (sync/biased_lock.hpp) to work on its requests: another thread may have taken over the
// member while the previous thread is still in a wait.
#ifndef FERMATA_EXEC_BUSY_MEMBERS_HPP
#define FERMATA_EXEC_BUSY_MEMBERS_HPP

#include <atomic>
#include <cstdint>

#include "sync/biased_lock.hpp"

namespace fermata::exec {

class BusyMembers;
class RequestQueues;

// A member's links in a list. Written with the list locked.
struct BusyLink {
  BusyMembers* busy = nullptr;
  RequestQueues* next = nullptr;
  RequestQueues* before = nullptr;
  const void* thread = nullptr;
};

// A hash of self() selects a thread's list, so several threads may share one. Each takes only its own members
// from it; the progress thread takes any.
class BusyMembers {
 public:
  // Identifies the calling thread. A later thread can have the same value only after this one has ended.
  static const void* self() { return &thread_; }
  static BusyMembers& mine();

  // True: no member of the list had requests outstanding a moment ago. In the calling thread's own list
  // (mine()) this is certain for its own members. False says nothing of them: the list may have only other
  // threads' members.
  bool is_empty() const {
    // order: relaxed: the thread's own store, or a hint
    return first_.load(std::memory_order_relaxed) == nullptr;
  }
  void add(RequestQueues& member);
  static void remove(RequestQueues& member);
  // Returns the next member of this thread after `after` (null: the first), but not `except`, and takes its
  // lock. Skips members whose lock another thread holds. Null: no more. The caller holds the lock of `after`
  // and still holds it afterwards; it releases both.
  RequestQueues* take_next(const RequestQueues* after, const RequestQueues* except) {
    return take_next(after, except, self());
  }

  // For the progress thread: all lists, and the members of any thread.
  static constexpr std::size_t kLists = 128;
  static BusyMembers& number(std::size_t n);
  RequestQueues* take_any(const RequestQueues* after) { return take_next(after, nullptr, nullptr); }

 private:
  RequestQueues* take_next(const RequestQueues* after, const RequestQueues* except, const void* thread);
  void lock();
  void unlock() { lock_.unlock(BiasedLock<RealAtomics>::kFree); }

  [[gnu::tls_model("initial-exec")]] static constinit thread_local char thread_;

  BiasedLock<RealAtomics> lock_;
  // The fork generation for which first_ is valid. A forked child gets copies of its parent's lists, perhaps
  // locked.
  std::uint32_t generation_ = 0;
  std::atomic<RequestQueues*> first_{nullptr};
};

}  // namespace fermata::exec
#endif
