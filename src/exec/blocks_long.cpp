// Long messages: the end of a long transfer to another host goes by the port from memory to memory
// (net::Port::send_long). A message can begin to flow after a round trip, when its receiver has said where it
// goes. So the sender announces it by the transfer's first line, and meanwhile sends the begin of the data
// through the ring. The sender alone decides.
#include <stdlib.h>

#include "exec/blocks.hpp"
#include "os/os.hpp"

namespace fermata::exec {
namespace {

constexpr std::size_t kMostLong = std::size_t{1} << 30;
constexpr std::int64_t kMissedNs = 1'000'000'000, kMissedByteNs = 10;

}  // namespace

// How many elements at the end of a send go by a long message.
std::size_t BlockOperation::elements_in_long(const Work& w) const {
  const std::size_t bytes = w.elements * call_.element;
  if (bytes < call_.before_long || bytes - call_.before_long < kLeastLong || w.overwritten) return 0;
  const std::size_t elements = (bytes - call_.before_long) / call_.element;
  return elements * call_.element <= kMostLong ? elements : 0;
}

// Begins to send the end of a transfer, of which nothing was sent yet, and fills the line that announces it.
// False: all goes through the ring.
bool BlockOperation::begin_to_send_long(const BlockTransfer& x, Work& w, net::Line& line) {
  const std::size_t elements = elements_in_long(w);
  if (elements == 0) return false;
  std::uint64_t number = 0;
  w.long_id = call_.team->port().send_long(x.peer, w.from + (w.elements - elements) * call_.element,
                                           elements * call_.element, &number);
  if (w.long_id == 0) return false;
  ++messages_;
  w.in_long = elements;
  line.payload[1] = number;
  line.payload[2] = elements;
  line.words = 3;
  return true;
}

// A line has come that announces a long message, and the receive may write all that it gets. If it folds, or
// keeps only a part, the message goes to memory of its own. False: the line is not one of this team, or there
// is no memory.
bool BlockOperation::begin_to_receive_long(const BlockTransfer& x, Work& w, const std::uint64_t* words) {
  const TeamPort& port = call_.team->port();
  const std::uint64_t number = words[0], elements = words[1];
  const bool fits = w.done == 0 && w.in_long == 0 && elements != 0 && elements <= w.elements &&
                    elements <= kMostLong / call_.element;
  if (!fits || !port.has_long()) {
    fail(x.peer);
    return false;
  }
  const std::size_t bytes = elements * call_.element;
  std::byte* to = w.to + (w.elements - elements) * call_.element;
  if (x.code != BlockCode::kReceive || w.elements > w.room)
    to = w.apart = static_cast<std::byte*>(malloc(bytes));
  if (to != nullptr) w.long_id = port.receive_long(x.peer, number, to, bytes);
  if (w.long_id == 0) {
    free(w.apart);
    w.apart = nullptr;
    status_ = Status::kMemory;
    return false;
  }
  ++messages_;
  w.in_long = elements;
  return true;
}

bool BlockOperation::long_is_over(const Work& w) const {
  return w.long_id == 0 || call_.team->port().is_over(w.long_id);
}

// All of the transfer that goes through the ring has been moved.
BlockOperation::Moved BlockOperation::finish_long(std::uint32_t t) {
  Work& w = work_[t];
  if (!long_is_over(w)) return Moved::kNothing;
  if (w.long_id != 0) call_.team->port().end_long(w.long_id, 0);
  w.long_id = 0;
  if (w.apart == nullptr) {
    w.done = w.elements;
    spend(w.in_long * call_.element);
  } else {
    const std::size_t turn = (left_ - 1) / call_.element + 1, left = w.elements - w.done;
    const std::size_t come = w.done - (w.elements - w.in_long);
    take(program_->transfers[t], w, w.apart + come * call_.element, turn < left ? turn : left);
  }
  if (is_done(t)) forget_long(w);
  return Moved::kQuietly;
}

void BlockOperation::forget_long(Work& w) {
  free(w.apart);
  w.apart = nullptr;
  w.long_id = 0;
  --messages_;
}

// Memory that the port may still use stays (fermata/hosts.h).
void BlockOperation::end_messages(std::int64_t until) {
  const TeamPort& port = call_.team->port();
  for (std::uint32_t t = 0; t < program_->transfer_count; ++t) {
    Work& w = work_[t];
    if (w.long_id == 0 && w.apart == nullptr) continue;
    const std::int64_t left = until != 0 ? until - os::now_ns() : 0;
    const bool is_free = w.long_id == 0 || port.end_long(w.long_id, left > 0 ? left : 0);
    if (!is_free && until == 0) continue;
    if (!is_free) w.apart = nullptr, has_left_ = true;
    forget_long(w);
  }
}

// A member that has left has mostly done its part of a long message, which then comes soon: within 1 s, and
// more for a very long one.
bool BlockOperation::lacks_long(std::uint32_t t) const {
  Work& w = work_[t];
  const std::int64_t now = os::now_ns();
  if (w.missed_ns == 0) w.missed_ns = now;
  const auto bytes = static_cast<std::int64_t>(w.in_long * call_.element);
  return now - w.missed_ns > kMissedNs + bytes * kMissedByteNs ||
         call_.team->port().is_gone(program_->transfers[t].peer);
}

}  // namespace fermata::exec
