#include "port.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "calls.hpp"

namespace fermata::net {
namespace {

constexpr int kTag = 1;
constexpr std::size_t kLeastReceives = 16;

// MPICH 5.0.2 over TCP: some messages of a stream are never received if the receives name no source. So each
// process on another host gets a receive of its own there. That takes 64 KiB of address space for each of
// them, and a look at each of them in every progress().
bool loses_messages_from_any_source() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  int major = 0;
  return mpi.Get_library_version(text, &length) == MPI_SUCCESS &&
         std::sscanf(text, "MPICH Version: %d", &major) == 1 && major == 5;
}

}  // namespace

MpiPort::MpiPort(MPI_Comm comm, std::vector<int> process_of, std::vector<int> host_of, int members)
    : comm_(comm), process_of_(std::move(process_of)), host_of_(std::move(host_of)), peers_(host_of_.size()) {
  mpi.Comm_rank(comm_, &me_);
  int level = MPI_THREAD_SINGLE;
  mpi.Query_thread(&level);
  // If this process has one member, its calls come one after the other, as MPI_THREAD_SERIALIZED requires.
  any_thread_ = level == MPI_THREAD_MULTIPLE || (level == MPI_THREAD_SERIALIZED && members == 1);
  scratch();  // throws here, where the caller expects it
  prepare_receives();
}

MpiPort::~MpiPort() = default;

fermata_port MpiPort::table() {
  return {sizeof(fermata_port), this,    open,    write, progress, is_gone, flush, close, send_long,
          receive_long,         is_over, end_long};
}

int MpiPort::open(void* self, const fermata_window* window) {
  MpiPort& p = of(self);
  const std::lock_guard lock(p.guard_);
  p.window_ = *window;
  Receives& r = p.receives_;
  for (std::size_t i = 0; i < r.sources.size(); ++i)
    if (mpi.Recv_init(&r.messages[i], sizeof(Message), MPI_BYTE, r.sources[i], kTag, p.comm_,
                      &r.requests[i]) != MPI_SUCCESS)
      return FERMATA_ERR_SYSTEM;
  if (mpi.Startall(static_cast<int>(r.requests.size()), r.requests.data()) != MPI_SUCCESS)
    return FERMATA_ERR_SYSTEM;
  p.opened_ = true;
  return FERMATA_OK;
}

void MpiPort::prepare_receives() {
  std::vector<int> sources;
  if (loses_messages_from_any_source()) {
    for (std::size_t i = 0; i < host_of_.size(); ++i)
      if (is_away(i)) sources.push_back(static_cast<int>(i));
  }
  if (sources.empty()) sources.push_back(MPI_ANY_SOURCE);
  const std::size_t count = std::max(kLeastReceives, sources.size());
  receives_.messages = std::make_unique_for_overwrite<Message[]>(count);
  receives_.requests.assign(count, MPI_REQUEST_NULL);
  receives_.over.resize(count);
  receives_.statuses.resize(count);
  for (std::size_t i = 0; sources.size() < count; ++i) sources.push_back(sources[i]);
  receives_.sources = std::move(sources);
}

unsigned char* MpiPort::scratch() {
  if (scratch_.at == nullptr) scratch_.at = std::make_unique_for_overwrite<unsigned char[]>(Wire::kMost);
  return scratch_.at.get();
}

void MpiPort::queue_scratch(Peer& peer) {
  Bytes copy{std::make_unique_for_overwrite<unsigned char[]>(scratch_.count), scratch_.count};
  std::memcpy(copy.at.get(), scratch_.at.get(), copy.count);
  peer.queue.push_back(std::move(copy));
}

void MpiPort::write(void* self, const fermata_line* line, const fermata_block* block) {
  MpiPort& p = of(self);
  const std::lock_guard lock(p.guard_);
  const int process = p.process_of_[line->to];
  Peer& peer = p.peers_[static_cast<std::size_t>(process)];
  if (peer.is_lost || peer.has_closed) return;
  ++peer.sent;
  if (block != nullptr && block->bytes > FERMATA_MOST_BLOCK) block = nullptr;
  const bool may_call = p.may_call();
  if (may_call) p.send_to(peer, process);
  p.scratch_.count = Wire::encode(*line, peer.flushed, block, p.scratch());
  may_call ? p.send(peer, process, p.scratch_) : p.queue_scratch(peer);
}

// Returns at once if another thread is already at work here.
void MpiPort::progress(void* self) {
  MpiPort& p = of(self);
  if (!p.may_call()) return;
  const std::unique_lock lock(p.guard_, std::try_to_lock);
  if (lock.owns_lock()) p.move();
}

void MpiPort::move() {
  if (!opened_) return;
  receive();
  move_longs();
  for (std::size_t i = 0; i < peers_.size(); ++i)
    if (!peers_[i].queue.empty()) send_to(peers_[i], static_cast<int>(i));
}

// Most sends are over at once: MPI has copied the message. Then the message's memory stays the caller's.
void MpiPort::send(Peer& peer, int process, Bytes& message) {
  MPI_Request request = MPI_REQUEST_NULL;
  int over = 0;
  const int bytes = static_cast<int>(message.count);
  peer.is_lost =
      peer.is_lost ||
      mpi.Isend(message.at.get(), bytes, MPI_BYTE, process, kTag, comm_, &request) != MPI_SUCCESS ||
      mpi.Test(&request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  if (over == 0 && request != MPI_REQUEST_NULL) peer.sends.push_back({std::move(message), request});
}

// Sends everything in the queue, without a limit on the sends in progress. The writer may block in its next
// MPI call. MPI then makes progress with the sends, but not with the queue.
void MpiPort::send_to(Peer& peer, int process) {
  end_sends(peer);
  for (; !peer.queue.empty() && !peer.is_lost; peer.queue.pop_front())
    send(peer, process, peer.queue.front());
  if (peer.is_lost) peer.queue.clear();
}

// Removes the oldest sends that are over.
void MpiPort::end_sends(Peer& peer) {
  for (int over = 1; !peer.sends.empty() && !peer.is_lost;) {
    if (mpi.Test(&peer.sends.front().request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS) peer.is_lost = true;
    if (over == 0) return;
    peer.sends.pop_front();
  }
}

void MpiPort::receive() {
  Receives& r = receives_;
  int count = 0;
  if (mpi.Testsome(static_cast<int>(r.requests.size()), r.requests.data(), &count, r.over.data(),
                   r.statuses.data()) != MPI_SUCCESS ||
      count == MPI_UNDEFINED)
    return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto which = static_cast<std::size_t>(r.over[i]);
    int bytes = 0;
    mpi.Get_count(&r.statuses[i], MPI_BYTE, &bytes);
    take(r.messages[which].bytes, static_cast<std::size_t>(bytes), r.statuses[i].MPI_SOURCE);
    mpi.Start(&r.requests[which]);
  }
}

void MpiPort::take(const unsigned char* message, std::size_t bytes, int from) {
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  Letter letter;
  if (!Wire::decode(message, bytes, letter)) return;
  if (letter.is_last) {
    peer.expected = letter.line.header;
    peer.has_closed = true;
    return;
  }
  if (letter.after > peer.received) {
    Bytes copy{std::make_unique_for_overwrite<unsigned char[]>(bytes), bytes};
    std::memcpy(copy.at.get(), message, bytes);
    peer.early.push_back(std::move(copy));
    return;
  }
  land(peer, letter);
  // MPI does not report receives in the order of their messages. So the first early message may have to wait
  // for the second.
  for (auto next = peer.early.begin(); next != peer.early.end();) {
    Letter early;
    Wire::decode(next->at.get(), next->count, early);
    if (early.after > peer.received) {
      ++next;
      continue;
    }
    land(peer, early);
    peer.early.erase(next);
    next = peer.early.begin();
  }
}

void MpiPort::land(Peer& peer, const Letter& letter) {
  ++peer.received;
  window_.land(window_.team, &letter.line, letter.block.bytes != 0 ? &letter.block : nullptr);
}

int MpiPort::is_gone(void* self, std::uint32_t rank) {
  MpiPort& p = of(self);
  const std::lock_guard lock(p.guard_);
  const Peer& peer = p.peers_[static_cast<std::size_t>(p.process_of_[rank])];
  return peer.is_lost || (peer.has_closed && peer.received == peer.expected) ? 1 : 0;
}

bool MpiPort::all_sent() {
  bool all = true;
  for (Peer& peer : peers_) {
    end_sends(peer);
    all = all && (peer.is_lost || (peer.queue.empty() && peer.sends.empty()));
  }
  return all;
}

bool MpiPort::all_closed() const {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = peers_[i];
    if (is_away(i) && !peer.is_lost && !(peer.has_closed && peer.received == peer.expected)) return false;
  }
  return true;
}

void MpiPort::wait_for(std::int64_t most_ns, bool closing) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(most_ns);
  for (;;) {
    {
      const std::lock_guard lock(guard_);
      bool over = false;
      if (may_call()) {
        move();
        over = all_sent() && (!closing || (all_closed() && !moves_long()));
      } else {  // the driver thread sends
        over = true;
        for (const Peer& peer : peers_) over = over && peer.queue.empty();
      }
      if (over || std::chrono::steady_clock::now() >= until) return;
    }
    std::this_thread::yield();
  }
}

void MpiPort::flush(void* self, std::int64_t most_ns) {
  MpiPort& p = of(self);
  {
    const std::lock_guard lock(p.guard_);
    for (Peer& peer : p.peers_) peer.flushed = peer.sent;
  }
  p.wait_for(most_ns, false);
}

// Each process tells every process on another host how many lines it has sent there. It then waits until it
// has received as many lines as the others have announced. Then no message is on its way, and the process can
// free the communicator. If a process announces nothing, the communicator stays.
void MpiPort::close(void* self, std::int64_t most_ns) {
  MpiPort& p = of(self);
  int finalized = 0;
  mpi.Finalized(&finalized);
  if (finalized == 0 && p.opened_) {
    if (!p.may_call()) return;  // MPI still writes to the receives
    {
      const std::lock_guard lock(p.guard_);
      for (std::size_t i = 0; i < p.peers_.size(); ++i) {
        Peer& peer = p.peers_[i];
        if (!p.is_away(i) || peer.is_lost) continue;
        p.scratch_.count = Wire::encode_last(peer.sent, p.scratch());
        p.queue_scratch(peer);
      }
    }
    p.wait_for(most_ns, true);
    p.end_requests(p.all_closed() && p.all_sent() && !p.moves_long());
    if (!p.all_sent() || p.moves_long()) return;  // MPI may still use the messages
  }
  delete &p;
}

void MpiPort::end_requests(bool in_order) {
  for (MPI_Request& request : receives_.requests) {
    MPI_Status status;
    mpi.Cancel(&request);
    mpi.Wait(&request, &status);
    mpi.Request_free(&request);
  }
  if (!in_order) return;
  mpi.Comm_free(&comm_);
}

}  // namespace fermata::net
