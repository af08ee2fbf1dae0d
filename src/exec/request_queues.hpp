// The active requests of a member, and the lock that says which thread works on them.
//
// `active` counts the requests in both queues, and a request that is about to enter one or has just left it.
// Outside of a Hold: while requests other than `call` are active, the member is in its thread's list
// (exec/busy_members.hpp) and its lock is not biased. In the scope of a Hold only the calling thread works on
// the requests.
#ifndef FERMATA_EXEC_REQUEST_QUEUES_HPP
#define FERMATA_EXEC_REQUEST_QUEUES_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exec/blocks.hpp"
#include "exec/busy_members.hpp"
#include "exec/call.hpp"
#include "sync/biased_lock.hpp"

namespace fermata::exec {

class Member;

// A block operation that a member has begun or may begin. Its owner keeps it, and all memory to which it
// points, until it ends.
struct BlockRequest {
  BlockOperation operation;
  Call call;
  // on the shared channel, in the same order at all members; else on a channel of its own
  bool ordered = true;
  bool active = false;
  bool adapted = false;         // it continues with the others' length
  Status status = Status::kOk;  // of the last use that has ended
  std::uint64_t uses = 0;       // of an unordered request: how often it was started, the tag of its pieces
  // Of an ordered request: the number of its call, and the digest of the history before it (exec/call.hpp).
  std::uint64_t number = 0, before = 0;
  // For an ordered request of a member in which lengths may differ (CallLog::set_bounded): how many episodes
  // its collective's plans for 8 and for 56 bytes had for its root before it. Line calls of other collectives
  // count, if they use the plan. The others may make this call as a line call. Then these numbers tell which
  // episode it is.
  std::uint64_t episodes[2] = {};
  // Rebuilds the request for blocks of `bytes` bytes, the length that the senders of its data use. False: not
  // possible.
  bool (*adapt)(BlockRequest* request, std::uint64_t bytes) = nullptr;
  // may begin requests, also this one; must not wait
  void (*completed)(BlockRequest* request, void* context) = nullptr;
  void* context = nullptr;
  BlockRequest* next = nullptr;  // while active
};

// Requests in the order in which they are advanced.
struct RequestQueue {
  BlockRequest* first = nullptr;
  BlockRequest* last = nullptr;
  std::uint32_t count = 0;
  void push(BlockRequest* request) {
    request->next = nullptr;
    (first == nullptr ? first : last->next) = request;
    last = request;
    ++count;
  }
  BlockRequest* pop() {
    BlockRequest* const request = first;
    first = request->next;
    --count;
    return request;
  }
};

// Bytes that a request may move at a time while other requests are active. An ordered request moves only
// after the operations of all earlier ones are over.
inline constexpr std::size_t kFairShare = 65536;

class RequestQueues {
 public:
  RequestQueue ordered, unordered;
  Channel channel;                      // of the ordered requests; base null: this team moves no blocks
  BlockRequest* interrupted = nullptr;  // the request of a blocking call whose wait has ended early
  bool progressing = false;             // a function advances requests or runs a callback: do not nest
  std::uint32_t active = 0;             // requests that are active
  BlockRequest* call = nullptr;         // the request that a call waits for; no other thread needs it
  std::uint64_t ended = 0;              // requests that have ended

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
  // Outside of a Hold: true if no request is outstanding except the request that a call waits for.
  bool is_idle() const { return lock_.is_biased(); }
  // True if requests other than `call` are active.
  bool has_others() const { return active != (call != nullptr ? 1u : 0u); }
  // True in a Hold of this thread, for example in a callback, which must not wait.
  bool is_held() const {
    // order: relaxed: this thread's own store, or another value, which is not this thread
    return holder_.load(std::memory_order_relaxed) == BusyMembers::self();
  }
  void become_held() {  // for a thread that has got the lock otherwise
    holder_.store(BusyMembers::self(), std::memory_order_relaxed);  // order: relaxed: see is_held()
  }
  void let_go() {
    holder_.store(nullptr, std::memory_order_relaxed);  // order: relaxed: see is_held()
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
  BiasedLock<RealAtomics> lock_;              // kBiased: no other thread uses the requests
  std::atomic<const void*> holder_{nullptr};  // the thread that works on the requests
  BusyLink link_;
};

}  // namespace fermata::exec
#endif
