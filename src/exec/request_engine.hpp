// RequestEngine: begins the requests of a member, advances them, and ends them.
//
// Ordered requests share one channel, so they are advanced one after the other, in the order in which they
// began. Each unordered request has a channel of its own. A request leaves its queue before it ends.
#ifndef FERMATA_EXEC_REQUEST_ENGINE_HPP
#define FERMATA_EXEC_REQUEST_ENGINE_HPP

#include <cstddef>
#include <cstdint>

#include "exec/lengths.hpp"
#include "exec/patience.hpp"
#include "exec/waiter.hpp"

namespace fermata::exec {

class RequestEngine : Parts {
 public:
  RequestEngine(const Parts& parts, Lengths& lengths) : Parts(parts), lengths_(lengths) {}

  // Starts a request, which stays active until it ends; it may end here. Waits for other members only to
  // report an error that it meets.
  Status begin(BlockRequest* request);
  // Advances ordered requests, each by about `most` bytes, up to the first that is not over then. Then
  // advances unordered requests, each by about `most` bytes. After each of these it stops if the time is
  // `until` or later (0: no limit); the next call continues with the rest. True: something has moved.
  // Advances no request in a completion callback.
  bool progress(std::size_t most, std::int64_t until);
  // After something has moved: an answer may come soon, so looks for it a little longer (exec/patience.hpp).
  void be_patient();
  const Patience& patience() const { return patience_; }
  // For the progress thread, which holds the lock; releases it. True: something has moved.
  bool push_data();
  // Precondition: the request has left its queue.
  void end(BlockRequest* request, Status status) {
    if (request == queues_.call) queues_.call = nullptr;
    if (request->operation.has_messages()) [[unlikely]]
      request->operation.end_messages(given_up_until_ != 0 ? given_up_until_ : os::now_ns() + kGiveUpNs);
    request->active = false;
    --queues_.active;
    ++queues_.ended;
    request->status = status;
    if (request->completed != nullptr) request->completed(request, request->context);
  }
  // Ends all requests of this member, after the team has broken or the member has left: nothing will move any
  // more.
  void fail(Status status);

 private:
  bool begin_now(BlockRequest* request);
  bool advance(BlockRequest* request, std::size_t most);
  [[gnu::cold]] Status failure(const BlockRequest& request);
  // Ends a request that is over. last: no ordered request is left.
  [[gnu::always_inline]] void end_as_it_did(BlockRequest* request, bool last) {
    Status status = request->operation.status();
    if (status != Status::kOk) [[unlikely]]
      status = failure(*request);
    else if (request->operation.truncated()) status = Status::kTruncated;
    if (last && seat_.broken() == Status::kOk && status != Status::kRetracted) log_.say_over();
    end(request, status);
  }
  void take_back();
  void ring(std::uint32_t rank) {
    const TeamMemory& memory = lines_.memory();
    fermata::ring<RealAtomics>(team_.segment().door(rank), *memory.fences, memory.calls);
  }

  std::uint64_t next_look_ = Waiter::kSeldom;  // so many requests have ended when begin() looks at the team
  Lengths& lengths_;
  Patience patience_;
  bool taken_back_ = false;
  // How long to wait for long messages that were given up, and until when, if several requests fail at once.
  static constexpr std::int64_t kGiveUpNs = 1'000'000'000;
  std::int64_t given_up_until_ = 0;
};

}  // namespace fermata::exec
#endif
