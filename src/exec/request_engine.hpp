// The engine of a member's requests: which are active, and which thread works on them.
#ifndef FERMATA_EXEC_REQUEST_ENGINE_HPP
#define FERMATA_EXEC_REQUEST_ENGINE_HPP

#include <cstdint>

#include "exec/block_request.hpp"
#include "exec/busy_members.hpp"
#include "sync/biased_lock.hpp"

namespace fermata::exec {

class RequestEngine {
 public:
  RequestQueue ordered, unordered;
  BlockRequest* interrupted = nullptr;
  bool progressing = false, taken_back = false;
  std::uint32_t active = 0;      // requests that are active
  BlockRequest* call = nullptr;  // the request that a call waits for; no other thread needs it
  std::uint64_t ended = 0;       // requests that have ended
  std::uint64_t looked_at = 0;   // `ended` when pending_ns was set
  std::int64_t pending_ns = 0;   // no request has ended since this time
  std::int64_t next_look_ns = 0;

  void init() { lock_.init(BiasedLock<RealAtomics>::kBiased); }
  // True if no request is outstanding except the request that a call waits for.
  bool is_idle() const { return lock_.is_biased(); }
  bool has_others() const { return active != (call != nullptr ? 1u : 0u); }
  bool is_held() const { return holder_.is_this_thread(); }  // true in a callback, which must not wait
  // Takes the biased lock. False: this thread holds it already. `member`: the engine's owner.
  bool hold(Member* member) {
    if (is_held()) return false;
    if (!lock_.is_biased()) [[unlikely]]
      lock(member);
    holder_.become_this_thread();
    return true;
  }
  void become_held() { holder_.become_this_thread(); }  // for a thread that has got the lock otherwise
  void let_go(Member* member) {
    holder_.become_nobody();
    if (has_others() || link_.busy != nullptr) [[unlikely]]
      unlock(member);
  }

 private:
  friend class BusyMembers;
  // Waits while another thread advances the requests or runs their callbacks.
  void lock(Member* member);
  void unlock(Member* member);

  BiasedLock<RealAtomics> lock_;  // kBiased: no other thread uses the requests
  Holder holder_;                 // of the lock
  BusyLink link_;
};

}  // namespace fermata::exec
#endif
