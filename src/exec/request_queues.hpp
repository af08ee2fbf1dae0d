// The active requests of a member, and the lock that says which thread works on them.
//
// `active` counts the requests in both queues, and a request that is about to enter one. While requests other
// than `call` are active, the member is in its thread's list (exec/busy_members.hpp) and its lock is not
// biased. In the scope of a Hold only the calling thread works on the requests.
#ifndef FERMATA_EXEC_REQUEST_QUEUES_HPP
#define FERMATA_EXEC_REQUEST_QUEUES_HPP

#include <cstdint>

#include "exec/block_request.hpp"
#include "exec/busy_members.hpp"
#include "sync/biased_lock.hpp"

namespace fermata::exec {

class Member;

class RequestQueues {
 public:
  RequestQueue ordered, unordered;
  Channel channel;  // of the ordered requests; base null: this team moves no blocks
  BlockRequest* interrupted = nullptr;
  bool progressing = false;
  std::uint32_t active = 0;      // requests that are active
  BlockRequest* call = nullptr;  // the request that a call waits for; no other thread needs it
  std::uint64_t ended = 0;       // requests that have ended

  explicit RequestQueues(Member& owner) : owner_(owner) { lock_.init(BiasedLock<RealAtomics>::kBiased); }
  // Callbacks already run in such a scope.
  class Hold {
   public:
    explicit Hold(RequestQueues& queues) : queues_(queues), outer_(queues.hold()) {}
    ~Hold() {
      if (outer_) queues_.let_go();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    RequestQueues& queues_;
    bool outer_;
  };

  Member& owner() const { return owner_; }
  // True if no request is outstanding except the request that a call waits for.
  bool is_idle() const { return lock_.is_biased(); }
  bool has_others() const { return active != (call != nullptr ? 1u : 0u); }
  bool is_held() const { return holder_.is_this_thread(); }  // true in a callback, which must not wait
  void become_held() { holder_.become_this_thread(); }       // for a thread that has got the lock otherwise
  void let_go() {
    holder_.become_nobody();
    if (has_others() || link_.busy != nullptr) [[unlikely]]
      unlock();
  }
  // Calls f(request) for all requests, until it returns true. Returns whether it did.
  template <class F>
  bool any(F&& f) const {
    for (const RequestQueue* queue : {&ordered, &unordered})
      for (const BlockRequest* r = queue->first; r != nullptr; r = r->next)
        if (f(*r)) return true;
    return false;
  }

 private:
  friend class BusyMembers;
  // Takes the biased lock. False: this thread holds it already.
  bool hold() {
    if (is_held()) return false;
    if (!lock_.is_biased()) [[unlikely]]
      lock();
    become_held();
    return true;
  }
  // Waits while another thread advances the requests or runs their callbacks.
  void lock();
  void unlock();

  Member& owner_;
  BiasedLock<RealAtomics> lock_;  // kBiased: no other thread uses the requests
  Holder holder_;                 // of the lock
  BusyLink link_;
};

}  // namespace fermata::exec
#endif
