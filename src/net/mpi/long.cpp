// Long messages of an MpiPort: each is an MPI message with a tag of its own.
#include <algorithm>
#include <chrono>
#include <climits>
#include <utility>

#include "calls.hpp"
#include "port.hpp"

namespace fermata::net {
namespace {

// Tags up to 32767 are allowed everywhere. A process has far fewer long messages to another one at a time.
constexpr int kFirstTag = 2, kTags = 32766;

int tag_of(std::uint64_t number) { return kFirstTag + static_cast<int>(number % kTags); }

}  // namespace

std::uint64_t MpiPort::send_long(void* self, std::uint32_t to, const void* from, std::uint64_t bytes,
                                 std::uint64_t* number) {
  MpiPort& p = of(self);
  const std::lock_guard lock(p.guard_);
  const int process = p.process_of_[to];
  Peer& peer = p.peers_[static_cast<std::size_t>(process)];
  if (bytes > INT_MAX || peer.is_lost || peer.has_closed || p.longs_.size() >= kTags / 2) return 0;
  // A message that was given up may still be there, and nobody may receive it instead of this one.
  const auto is_taken = [&](const auto& one) {
    return !one.second.receives && one.second.process == process && one.second.tag == tag_of(peer.longs);
  };
  while (std::any_of(p.longs_.begin(), p.longs_.end(), is_taken)) ++peer.longs;
  *number = peer.longs++;
  return p.add_long({.process = process,
                     .tag = tag_of(*number),
                     .bytes = static_cast<int>(bytes),
                     .at = const_cast<void*>(from)});
}

std::uint64_t MpiPort::receive_long(void* self, std::uint32_t from, std::uint64_t number, void* to,
                                    std::uint64_t bytes) {
  MpiPort& p = of(self);
  const std::lock_guard lock(p.guard_);
  if (bytes > INT_MAX) return 0;
  return p.add_long({.process = p.process_of_[from],
                     .tag = tag_of(number),
                     .bytes = static_cast<int>(bytes),
                     .at = to,
                     .receives = true});
}

// Returns its id; 0: there is no memory.
std::uint64_t MpiPort::add_long(const Long& message) {
  try {
    Long& added = longs_[++last_id_] = message;
    if (may_call()) move_long(added);
    return last_id_;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

// Begins the message, or looks whether it is over. Precondition: may_call().
void MpiPort::move_long(Long& m) {
  if (m.state == Long::kWaits) {
    const int rc = m.receives ? mpi.Irecv(m.at, m.bytes, MPI_BYTE, m.process, m.tag, comm_, &m.request)
                              : mpi.Isend(m.at, m.bytes, MPI_BYTE, m.process, m.tag, comm_, &m.request);
    m.state = rc == MPI_SUCCESS ? Long::kMoves : Long::kFailed;
  } else if (m.state == Long::kMoves) {
    if (m.given_up && m.receives && !m.cancels) mpi.Cancel(&m.request);
    m.cancels = m.given_up;
    int over = 0;
    const int rc = mpi.Test(&m.request, &over, MPI_STATUS_IGNORE);
    m.state = rc != MPI_SUCCESS ? Long::kFailed : over != 0 ? Long::kOver : Long::kMoves;
  }
  if (m.state == Long::kFailed) peers_[static_cast<std::size_t>(m.process)].is_lost = true;
}

void MpiPort::move_longs() {
  for (auto& [id, message] : longs_) move_long(message);
}

bool MpiPort::moves_long() const {
  return std::any_of(longs_.begin(), longs_.end(),
                     [](const auto& one) { return one.second.state == Long::kMoves; });
}

// A message that has failed is never over: its peer is lost.
int MpiPort::is_over(void* self, std::uint64_t id) {
  MpiPort& p = of(self);
  const std::lock_guard lock(p.guard_);
  const auto found = p.longs_.find(id);
  return found != p.longs_.end() && found->second.state == Long::kOver ? 1 : 0;
}

// A send cannot be cancelled. If its receiver has not begun to receive it, it never will, and MPI does not
// read the message any more. But nothing says so.
int MpiPort::end_long(void* self, std::uint64_t id, std::int64_t most_ns) {
  MpiPort& p = of(self);
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(most_ns);
  for (;;) {
    {
      const std::lock_guard lock(p.guard_);
      const auto found = p.longs_.find(id);
      if (found == p.longs_.end()) return 1;
      Long& m = found->second;
      if (m.state == Long::kMoves) {
        m.given_up = true;
        if (p.may_call()) p.move();
      }
      if (m.state != Long::kMoves) {
        p.longs_.erase(found);
        return 1;
      }
    }
    if (std::chrono::steady_clock::now() >= until) return 0;
    std::this_thread::yield();
  }
}

}  // namespace fermata::net
