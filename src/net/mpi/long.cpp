// Long messages of an MpiPort: each is an MPI message with a tag of its own.
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
  if (bytes > INT_MAX || peer.is_lost || peer.has_closed) return 0;
  *number = peer.longs;
  const std::uint64_t id = p.add_long({.process = process,
                                       .tag = tag_of(*number),
                                       .bytes = static_cast<int>(bytes),
                                       .at = const_cast<void*>(from)});
  if (id != 0) ++peer.longs;
  return id;
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
std::uint64_t MpiPort::add_long(Long message) {
  try {
    Long& added = longs_[++last_id_] = std::move(message);
    if (may_call()) move_long(added);
    return last_id_;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

// Begins the message, or looks whether it is over.
void MpiPort::move_long(Long& m) {
  bool& is_lost = peers_[static_cast<std::size_t>(m.process)].is_lost;
  if (!m.has_begun) {
    m.has_begun = true;
    const int rc = m.receives ? mpi.Irecv(m.at, m.bytes, MPI_BYTE, m.process, m.tag, comm_, &m.request)
                              : mpi.Isend(m.at, m.bytes, MPI_BYTE, m.process, m.tag, comm_, &m.request);
    is_lost = is_lost || rc != MPI_SUCCESS;
    return;
  }
  int over = 0;
  if (m.request == MPI_REQUEST_NULL) return;
  is_lost = is_lost || mpi.Test(&m.request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  m.is_over = over != 0;
}

void MpiPort::move_longs() {
  for (auto at = longs_.begin(); at != longs_.end();) {
    Long& m = at->second;
    if (!m.is_over) move_long(m);
    at = m.is_over && m.unwanted != nullptr ? longs_.erase(at) : std::next(at);
  }
}

int MpiPort::is_over(void* self, std::uint64_t id) {
  MpiPort& p = of(self);
  const std::lock_guard lock(p.guard_);
  const auto found = p.longs_.find(id);
  return found == p.longs_.end() || found->second.is_over ? 1 : 0;
}

// A send cannot be cancelled: its receiver takes it when it closes, if not before.
void MpiPort::end_long(void* self, std::uint64_t id, std::int64_t most_ns) {
  MpiPort& p = of(self);
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(most_ns);
  for (bool first = true;; first = false) {
    {
      const std::lock_guard lock(p.guard_);
      const auto found = p.longs_.find(id);
      if (found == p.longs_.end()) return;
      Long& m = found->second;
      if (p.may_call() && !m.is_over) {
        if (first && m.receives && m.has_begun) mpi.Cancel(&m.request);
        if (m.has_begun) p.move();
      }
      if (m.is_over || !m.has_begun || p.peers_[static_cast<std::size_t>(m.process)].is_lost) {
        p.longs_.erase(found);
        return;
      }
    }
    if (std::chrono::steady_clock::now() >= until) return;
    std::this_thread::yield();
  }
}

// Receives long messages that were given up here before they came.
void MpiPort::take_unwanted() {
  int found = 0;
  MPI_Status status;
  int bytes = 0;
  for (const int source : receives_.sources) {
    if (mpi.Iprobe(source, MPI_ANY_TAG, comm_, &found, &status) != MPI_SUCCESS) return;
    if (found != 0 || source == MPI_ANY_SOURCE) break;
  }
  if (found == 0) return;
  if (status.MPI_TAG < kFirstTag || mpi.Get_count(&status, MPI_BYTE, &bytes) != MPI_SUCCESS) return;
  Long message{.process = status.MPI_SOURCE, .tag = status.MPI_TAG, .bytes = bytes, .receives = true};
  try {
    message.unwanted = std::make_unique_for_overwrite<unsigned char[]>(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {
    return;
  }
  message.at = message.unwanted.get();
  add_long(std::move(message));
}

}  // namespace fermata::net
