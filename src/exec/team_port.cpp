#include "exec/team_port.hpp"

#include <stdlib.h>
#include <string.h>

#include "base/word.hpp"
#include "sync/landing.hpp"

namespace fermata::exec {
namespace {

// How long to wait for lines in transit: when a member leaves, and when a process closes its port.
constexpr std::int64_t kFlushNs = 1'000'000'000;
constexpr std::int64_t kCloseNs = 1'000'000'000;

constexpr const char* kIncomplete =
    "set all functions of the port, or all but the four of long messages, and its size as "
    "fermata/hosts.h says";
constexpr const char* kConnected = "this process has already connected a port to this team";

bool is_whole(const net::Port& p) {
  const bool lines = p.open != nullptr && p.write != nullptr && p.progress != nullptr &&
                     p.is_gone != nullptr && p.flush != nullptr && p.close != nullptr;
  const bool all =
      p.send_long != nullptr && p.receive_long != nullptr && p.is_over != nullptr && p.end_long != nullptr;
  const bool none =
      p.send_long == nullptr && p.receive_long == nullptr && p.is_over == nullptr && p.end_long == nullptr;
  return lines && (all || none);
}

}  // namespace

TeamPort::~TeamPort() {
  free(owner_ranks_);
  if (!is_borrowed()) free(delays_);
}

Status TeamPort::connect(const net::Port& port, const char** detail) {
  net::Port whole;
  if (port.size == sizeof whole || port.size == net::kPortWithoutLong) memcpy(&whole, &port, port.size);
  if (!is_whole(whole)) return refuse(Status::kArgument, kIncomplete, detail);
  if (!hosts_.are_several())
    return refuse(Status::kArgument, "all members of this team are on one host, so it takes no port", detail);
  if (is_connected()) return refuse(Status::kBusy, kConnected, detail);
  if (segment_.layout().refresh_bytes != 0 && delays_ == nullptr) {
    delays_ = LinkDelays::make(hosts_.count());
    if (delays_ == nullptr) return refuse(Status::kMemory, "malloc failed", detail);
  }
  const net::Window window{segment_.base(), segment_.bytes(), land_here, this};
  const auto opened = static_cast<Status>(port.open(port.self, &window));
  if (opened != Status::kOk) return refuse(opened, "the port's open function failed", detail);
  port_ = whole;
  return Status::kOk;
}

Status TeamPort::use_port_of(TeamPort& owner, const std::uint32_t* owner_ranks, std::uint32_t number,
                             const char** detail) {
  if (is_connected()) return refuse(Status::kBusy, kConnected, detail);
  const std::size_t bytes = segment_.members() * sizeof *owner_ranks_;
  owner_ranks_ = static_cast<std::uint32_t*>(malloc(bytes));
  if (owner_ranks_ == nullptr) return refuse(Status::kMemory, "malloc failed", detail);
  memcpy(owner_ranks_, owner_ranks, bytes);
  owner_ = &owner;
  delays_ = owner.delays_;
  port_ = owner.port_;
  entry_ = {.port = this, .number = number};
  owner.subteams_.add(entry_);
  return Status::kOk;
}

// Does nothing in a forked child: the port belongs to the parent.
void TeamPort::close() {
  if (!is_connected() || segment_.memory().is_in_child()) return;
  if (is_borrowed()) owner_->subteams_.remove(entry_);
  else port_.close(port_.self, kCloseNs);
}

void TeamPort::write(net::Line& line, const net::Block* block) const {
  line.subteam = entry_.number;
  line.rank = line.to;
  line.to = rank_in_owner(line.rank);
  if (delays_ != nullptr) {
    line.from = static_cast<std::uint16_t>(is_borrowed() ? owner_->hosts_.here() : hosts_.here());
    line.sent_ns = os::now_ns();
  }
  port_.write(port_.self, &line, block);
}

// The line's offset is not in the window, so the line does not land.
void TeamPort::probe(std::uint32_t rank) const {
  net::Line line{.to = rank};
  write(line);
}

void TeamPort::progress() const {
  if (delays_ != nullptr) delays_->look(os::now_ns());
  port_.progress(port_.self);
}

void TeamPort::flush() const {
  if (delays_ != nullptr) delays_->look(os::now_ns());
  port_.flush(port_.self, kFlushNs);
}

std::uint64_t TeamPort::send_long(std::uint32_t to, const std::byte* from, std::size_t bytes,
                                  std::uint64_t* number) const {
  return port_.send_long(port_.self, rank_in_owner(to), from, bytes, number);
}

std::uint64_t TeamPort::receive_long(std::uint32_t from, std::uint64_t number, std::byte* to,
                                     std::size_t bytes) const {
  return port_.receive_long(port_.self, rank_in_owner(from), number, to, bytes);
}

bool TeamPort::end_long(std::uint64_t id, std::int64_t most_ns) const {
  return port_.end_long(port_.self, id, most_ns) != 0;
}

void TeamPort::land_here(void* self, const net::Line* line, const net::Block* block) {
  auto& port = *static_cast<TeamPort*>(self);
  if (line->sent_ns != 0 && port.delays_ != nullptr)
    port.delays_->note(line->from, os::now_ns() - line->sent_ns, line->offset == 0);
  if (line->subteam == 0) return port.land(*line, block);
  port.subteams_.land_in(line->subteam, [&](const TeamPort& subteam) { subteam.land(*line, block); });
}

// Ignores a line whose place is outside the window or whose rank does not exist: another version of Fermata
// sent it.
void TeamPort::land(const net::Line& line, const net::Block* block) const {
  const std::uint64_t bytes = 8 + std::uint64_t{line.words} * 8;
  if (line.words > net::kLineWords || line.rank >= segment_.members() || line.offset % 8 != 0) return;
  const std::uint64_t window = segment_.layout().window;  // 0: all members are on this host
  const auto lies_there = [&](std::uint64_t at, std::uint64_t length) {
    return window != 0 && at >= window && length <= segment_.bytes() && at <= segment_.bytes() - length;
  };
  if (!lies_there(line.offset, bytes) || (block != nullptr && !lies_there(block->offset, block->bytes)))
    return;
  std::byte* const base = segment_.base();
  auto& slot = *reinterpret_cast<std::atomic<std::uint64_t>*>(base + line.offset);
  auto* words = reinterpret_cast<std::uint64_t*>(base + line.offset + 8);
  const auto payload = [words](std::uint32_t i) -> std::uint64_t& { return words[i]; };
  const auto bring = [&] {
    if (block != nullptr) memcpy(base + block->offset, block->from, block->bytes);
  };
  if (!fermata::land<RealAtomics>(slot, payload, line.header, line.words, line.payload, bring)) return;
  const OsCalls calls = segment_.calls();
  ring<RealAtomics>(segment_.door(line.rank), segment_.header().fences, calls);
}

}  // namespace fermata::exec
