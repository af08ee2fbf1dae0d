// Teams over several hosts: the port, the lines that land here, and the notices between hosts that a member
// has left or the team is broken.
#include <stdlib.h>
#include <string.h>

#include "base/word.hpp"
#include "exec/blocks.hpp"
#include "exec/segment_layout.hpp"
#include "exec/team.hpp"
#include "sync/landing.hpp"

namespace fermata::exec {
namespace {

// How long to wait for lines in transit: when a member leaves, and when a process closes its port.
constexpr std::int64_t kFlushNs = 1'000'000'000;
constexpr std::int64_t kCloseNs = 1'000'000'000;

}  // namespace

Status Team::connect(const net::Port& port, const char** detail) {
  *detail = "set all functions of the port, and its size to sizeof(fermata_port)";
  const bool whole = port.open != nullptr && port.write != nullptr && port.progress != nullptr &&
                     port.is_gone != nullptr && port.flush != nullptr && port.close != nullptr;
  if (port.size != sizeof port || !whole) return Status::kArgument;
  *detail = "all members of this team are on one host, so it takes no port";
  if (!is_over_hosts()) return Status::kArgument;
  *detail = "this process has already connected a port to this team";
  if (port_.write != nullptr) return Status::kBusy;
  if (layout_.refresh_bytes != 0 && link_delays_ == nullptr) {
    std::uint32_t last = 0;
    for (std::uint32_t r = 0; r < members_; ++r) last = hosts()[r] > last ? hosts()[r] : last;
    link_delays_ = LinkDelays::make(last + 1);
    *detail = "malloc failed";
    if (link_delays_ == nullptr) return Status::kMemory;
  }
  const net::Window window{segment_.base, segment_.bytes, land_here, this};
  const auto opened = static_cast<Status>(port.open(port.self, &window));
  *detail = "the port's open function failed";
  if (opened != Status::kOk) return opened;
  port_ = port;
  return Status::kOk;
}

// Locks a port owner's list of sub-teams. Only threads of this process take it, and landing is short.
class SubteamsLock {
 public:
  explicit SubteamsLock(BiasedLock<RealAtomics>& lock) : lock_(lock) {
    while (!lock_.try_lock()) os::yield();
  }
  ~SubteamsLock() { lock_.unlock(BiasedLock<RealAtomics>::kFree); }
  SubteamsLock(const SubteamsLock&) = delete;

 private:
  BiasedLock<RealAtomics>& lock_;
};

Status Team::use_port_of(Team& port_owner, const std::uint32_t* owner_ranks, std::uint32_t subteam,
                         bool replaces, const char** detail) {
  *detail = "this process has already connected a port to this team";
  if (port_.write != nullptr) return Status::kBusy;
  owner_ranks_ = static_cast<std::uint32_t*>(malloc(members_ * sizeof *owner_ranks_));
  *detail = "malloc failed";
  if (owner_ranks_ == nullptr) return Status::kMemory;
  memcpy(owner_ranks_, owner_ranks, members_ * sizeof *owner_ranks_);
  port_owner.retain();
  port_owner_ = &port_owner;
  subteam_ = subteam;
  replaces_ = replaces;
  link_delays_ = port_owner.link_delays_;
  port_ = port_owner.port_;
  const SubteamsLock lock(port_owner.subteams_lock_);
  next_subteam_ = port_owner.subteams_;
  port_owner.subteams_ = this;
  return Status::kOk;
}

void Team::leave_port_owner() {
  const SubteamsLock lock(port_owner_->subteams_lock_);
  Team** at = &port_owner_->subteams_;
  while (*at != this) at = &(*at)->next_subteam_;
  *at = next_subteam_;
}

void Team::see_subteam(std::uint32_t number) {
  std::uint32_t seen = subteams_seen_.load(std::memory_order_relaxed);  // order: relaxed: a number
  // order: relaxed: a number
  while (seen < number && !RealAtomics::compare_exchange_relaxed(subteams_seen_, seen, number))
    seen = subteams_seen_.load(std::memory_order_relaxed);  // order: relaxed: a number
}

void Team::write(net::Line& line, const net::Block* block) const {
  line.subteam = subteam_;
  line.rank = line.to;
  line.to = rank_in_port_owner(line.rank);
  if (link_delays_ != nullptr) {
    line.from = static_cast<std::uint16_t>(port_owner_ != nullptr ? port_owner_->host() : host());
    line.sent_ns = os::now_ns();
  }
  port_.write(port_.self, &line, block);
}

// The line's offset is not in the window, so the line does not land.
void Team::probe(std::uint32_t rank) const {
  net::Line line{.to = rank};
  write(line);
}

// Does nothing in a forked child: the port belongs to the parent.
void Team::close_port() {
  if (port() == nullptr || generation_ != os::fork_generation()) return;
  if (port_owner_ != nullptr) leave_port_owner();
  else port_.close(port_.self, kCloseNs);
}

void Team::land_here(void* self, const net::Line* line, const net::Block* block) {
  auto& team = *static_cast<Team*>(self);
  if (line->sent_ns != 0 && team.link_delays_ != nullptr)
    team.link_delays_->note(line->from, os::now_ns() - line->sent_ns, line->offset == 0);
  if (line->subteam == 0) return team.land(line->rank, *line, block);
  const SubteamsLock lock(team.subteams_lock_);
  for (Team* subteam = team.subteams_; subteam != nullptr; subteam = subteam->next_subteam_)
    if (subteam->subteam_ == line->subteam) return subteam->land(line->rank, *line, block);
}

// Ignores a line whose place is outside the window or whose rank does not exist: another version of Fermata
// sent it.
void Team::land(std::uint32_t rank, const net::Line& line, const net::Block* block) {
  const std::uint64_t bytes = 8 + std::uint64_t{line.words} * 8;
  if (line.words > net::kLineWords || rank >= members_ || line.offset % 8 != 0) return;
  const auto lies_there = [&](std::uint64_t at, std::uint64_t length) {
    return at >= layout_.window && length <= segment_.bytes && at <= segment_.bytes - length;
  };
  if (!lies_there(line.offset, bytes) || (block != nullptr && !lies_there(block->offset, block->bytes)))
    return;
  auto& slot = *reinterpret_cast<std::atomic<std::uint64_t>*>(segment_.base + line.offset);
  auto* words = reinterpret_cast<std::uint64_t*>(segment_.base + line.offset + 8);
  const auto payload = [words](std::uint32_t i) -> std::uint64_t& { return words[i]; };
  const auto bring = [&] {
    if (block != nullptr) memcpy(segment_.base + block->offset, block->from, block->bytes);
  };
  if (!fermata::land<RealAtomics>(slot, payload, line.header, line.words, line.payload, bring)) return;
  const OsCalls calls{.shared = shared_};
  // order: relaxed: see Member::reserve()
  const bool full = header().full_fence.load(std::memory_order_relaxed) != 0;
  ring<RealAtomics>(door(rank), full, calls);
}

void Team::attend_port() {
  if (link_delays_ != nullptr) link_delays_->look(os::now_ns());
  port_.progress(port_.self);
  if (replaces_ && is_broken<RealAtomics>(port_owner_->header()) && !is_broken<RealAtomics>(header())) {
    break_once<RealAtomics>(header(), port_owner_->breach());
    wake_everybody();
  }
  if (!is_over_hosts()) return;
  // order: relaxed: readers use only the word itself
  const std::uint64_t word = abroad().load(std::memory_order_relaxed);
  if (word == 0 || is_broken<RealAtomics>(header())) return;
  break_once<RealAtomics>(header(),
                          {static_cast<std::uint32_t>(word & 0xff), static_cast<std::uint32_t>(word >> 8)});
  wake_everybody();
}

void Team::leave_hosts(std::uint32_t rank) {
  if (!is_over_hosts()) return;
  if (is_broken<RealAtomics>(header())) return tell_abroad();
  port_.flush(port_.self, kFlushNs);
  for (std::uint32_t r = 0; r < members_; ++r) tell(r, left_offset(rank, r), 1);
}

// Each process that finds the team broken tells all members on other hosts: it may reach a member that
// another process cannot reach.
void Team::tell_abroad() {
  if (!is_over_hosts()) return;
  // order: relaxed: the thread that comes second has nothing to do
  if (!RealAtomics::compare_exchange_relaxed(told_, 0u, 1u)) return;
  const Breach now = breach();
  const Breach what = now.cause != 0 ? now : kAborted;  // a faulty member may have written 0
  for (std::uint32_t r = 0; r < members_; ++r)
    tell(r, layout_.window, std::uint64_t{what.culprit} << 8 | what.cause);
}

// A word holds the call's number in its upper bits, so that the greater word is the newer one. The lower bits
// hold a part of the call's descriptor.
constexpr unsigned kPartBits = 24;
static_assert(kSaidWords * kPartBits >= 64);

std::uint64_t Team::said_offset(std::uint32_t rank, std::uint32_t viewer) const {
  const std::uint64_t pair = std::uint64_t{viewer} * members_ + rank;
  return layout_.window + kMaxLine + left_bytes(members_) + pair * kSaidWords * sizeof(std::uint64_t);
}

void Team::say_abroad(std::uint32_t rank, std::uint64_t number, std::uint64_t call) const {
  constexpr std::uint64_t kPart = (std::uint64_t{1} << kPartBits) - 1;
  for (std::uint32_t r = 0; r < members_; ++r)
    for (std::uint64_t i = 0; i < kSaidWords; ++i)
      tell(r, said_offset(rank, r) + i * sizeof(std::uint64_t),
           number << kPartBits | (call >> i * kPartBits & kPart));
}

bool Team::hear(std::uint32_t rank, std::uint32_t viewer, std::uint64_t* number, std::uint64_t* call) const {
  const auto* const words =
      reinterpret_cast<const std::atomic<std::uint64_t>*>(base() + said_offset(rank, viewer));
  *call = 0;
  for (std::uint64_t i = 0; i < kSaidWords; ++i) {
    // order: relaxed: readers use only the word itself
    const std::uint64_t word = words[i].load(std::memory_order_relaxed);
    if (i != 0 && word >> kPartBits != *number) return false;  // the other words have not come yet
    *number = word >> kPartBits;
    *call |= (word << (64 - kPartBits) >> (64 - kPartBits)) << i * kPartBits;
  }
  return *number != 0;
}

// Does nothing if the rank is on this host.
void Team::tell(std::uint32_t rank, std::uint64_t offset, std::uint64_t word) const {
  net::Line line{.offset = offset, .header = word, .to = rank};
  if (is_away(rank)) write(line);
}

// Like send(), but writes the piece through the port.
BlockOperation::Moved BlockOperation::send_away(const BlockTransfer& x, Work& w) {
  const Team& team = *call_.team;
  const std::size_t elements = piece_elements(w);
  const std::size_t bytes = elements * call_.element;
  const std::byte* from = w.from + w.done * call_.element;
  const auto offset_of = [&](const std::byte* at) { return static_cast<std::uint64_t>(at - team.base()); };
  net::Line out{.offset = offset_of(line(w)), .header = w.end->next, .to = x.peer, .words = 1};
  out.payload[0] = tag_of(w);
  net::Block block;
  if (bytes <= kOnLine) {
    out.words = static_cast<std::uint16_t>(1 + (bytes + 7) / 8);
    copy_bytes(&out.payload[1], from, static_cast<std::uint32_t>(bytes));
  } else {
    block = {offset_of(room_for(w, bytes)), bytes, from};
  }
  team.write(out, block.bytes != 0 ? &block : nullptr);
  ++w.end->next;
  w.done += elements;
  spend(bytes);
  return Moved::kQuietly;
}

void BlockOperation::give_credit_away(const BlockTransfer& x, const Work& w, std::uint64_t piece) const {
  const Team& team = *call_.team;
  net::Line credit{.offset = static_cast<std::uint64_t>(w.ring - team.base()), .header = piece, .to = x.peer};
  team.write(credit);
}

}  // namespace fermata::exec
