#include "exec/team.hpp"

#include <stdlib.h>

#include <new>

#include "sync/status_line.hpp"

namespace fermata::exec {

Team* Team::listed_ = nullptr;

Team* Team::adopt(SegmentMemory memory, Team* segment_owner, const char** detail) {
  void* const at = malloc(sizeof(Team));
  if (at == nullptr) {
    memory.unmap();
    *detail = "malloc failed";
    return nullptr;
  }
  Team* const team = new (at) Team(memory);
  if (segment_owner != nullptr) segment_owner->retain();
  team->segment_owner_ = segment_owner;
  return team;
}

Status Team::adopt_checked(const SegmentMemory& memory, Team* segment_owner, const WaitKind* wait,
                           std::int64_t stall_ns, Team** out, const char** detail) {
  Team* const team = adopt(memory, segment_owner, detail);
  if (team == nullptr) return Status::kMemory;
  Status status = team->segment_.check();
  if (status == Status::kOk) status = team->programs_.check();
  if (status == Status::kOk) status = team->hosts_.check(team->segment_);
  if (status == Status::kOk) {
    const TeamLayout& layout = team->layout();
    team->wait_ = wait != nullptr ? *wait : static_cast<WaitKind>(layout.wait);
    team->stall_ns_ = layout.stall_ns != 0 ? layout.stall_ns : stall_ns;
    *out = team;
    return status;
  }
  *detail = "this is not the segment of a team, or another version of Fermata created it";
  team->close();
  team->destroy();
  return status;
}

Status Team::attach(std::int32_t fd, const WaitKind* wait, std::int64_t stall_ns, Team** out,
                    const char** detail) {
  const os::ProcessLock lock;
  const os::FileId file = os::identify(fd);
  for (Team* team = listed_; team != nullptr; team = team->next_) {
    SegmentMemory& known = team->segment_.memory();
    if (!known.owns_file(file)) continue;
    known.keep(fd);
    team->retain();
    *out = team;
    return Status::kOk;
  }
  SegmentMemory memory;
  if (const Status mapped = SegmentMemory::map_file(fd, &memory); mapped != Status::kOk)
    return refuse(mapped, "mapping the team's segment failed", detail);
  // The file may also hold places, after the team's own segment.
  std::uint64_t own = memory.bytes() < sizeof(TeamHeader)
                          ? 0
                          : reinterpret_cast<const TeamHeader*>(memory.base())->layout.bytes;
  asm volatile("" : "+r"(own));  // others can write to the segment: do not read the size again
  if (own >= sizeof(TeamHeader) && own < memory.bytes()) memory.shorten(own);
  const Status status = adopt_checked(memory, nullptr, wait, stall_ns, out, detail);
  if (status == Status::kOk) (*out)->list();
  return status;
}

Status Team::attach_within(Team& neighbour, std::uint64_t place, const WaitKind* wait, std::int64_t stall_ns,
                           Team** out, const char** detail) {
  Team& segment_owner = neighbour.segment_owner();
  SegmentMemory memory;
  const Status mapped = SegmentMemory::map_place(segment_owner.segment_.places(), place, &memory);
  if (mapped == Status::kOk) return adopt_checked(memory, &segment_owner, wait, stall_ns, out, detail);
  return refuse(mapped,
                mapped == Status::kArgument ? "the team does not exist or has been destroyed"
                                            : "mapping the team's memory failed",
                detail);
}

Status Team::use_port_of(Team& port_owner, const std::uint32_t* owner_ranks, std::uint32_t subteam,
                         bool replaces, const char** detail) {
  const Status status = port_.use_port_of(port_owner.port_, owner_ranks, subteam, detail);
  if (status != Status::kOk) return status;
  port_owner.retain();
  port_owner_ = &port_owner;
  replaces_ = replaces;
  return status;
}

void Team::retain() {
  references_.fetch_add(1, std::memory_order_relaxed);  // order: relaxed: the caller already has a reference
}

void Team::release() {
  if (!shared()) {
    if (!drop_reference<RealAtomics>(references_)) return;
    close();
  } else {
    // The lock also covers the closing of descriptors. Closing drops all record locks of this process on the
    // file, also a lock that a concurrent attach() has just taken.
    const os::ProcessLock lock;
    if (!drop_reference<RealAtomics>(references_)) return;
    close();
  }
  destroy();
}

void Team::list() {
  next_ = listed_;
  listed_ = this;
}

// A team that owns a file is closed under os::ProcessLock.
void Team::close() {
  port_.close();
  if (shared() && segment_owner_ == nullptr)
    for (Team** at = &listed_; *at != nullptr; at = &(*at)->next_)
      if (*at == this) {
        *at = next_;
        break;
      }
  segment_.memory().unmap();
}

void Team::destroy() {
  Team* const port_owner = port_owner_;
  Team* const segment_owner = segment_owner_;
  this->~Team();
  free(this);
  if (port_owner != nullptr) port_owner->release();
  if (segment_owner != nullptr) segment_owner->release();
}

Where Team::where_is(std::uint32_t rank, const os::ProcessMemory& process) const {
  if (!shared()) return Where::kHere;
  const StatusLine& s = status(rank);
  const auto state = static_cast<MemberState>(state_of<RealAtomics>(s));
  if (state != MemberState::kJoined && state != MemberState::kLeft) return Where::kUnknown;
  // order: relaxed: written before the state, which state_of() acquires
  const bool here = s.process.load(std::memory_order_relaxed) == process.process &&
                    s.home.load(std::memory_order_relaxed) == process.word;
  return here ? Where::kHere : Where::kElsewhere;
}

bool Team::is_free(std::uint32_t rank) const {
  return static_cast<MemberState>(state_of<RealAtomics>(status(rank))) == MemberState::kAbsent;
}

bool Team::is_gone(std::uint32_t rank, std::uint32_t viewer) const {
  if (hosts_.is_away(rank)) return notices_.has_left(rank, viewer) || port_.is_gone(rank);
  const auto state = static_cast<MemberState>(state_of<RealAtomics>(status(rank)));
  if (state == MemberState::kLeft) return true;
  if (state != MemberState::kJoined || !shared() || where_is(rank, os::own_memory()) == Where::kHere)
    return false;
  return !segment_.memory().is_claimed_elsewhere(rank);
}

bool Team::break_with(Status status, std::uint32_t culprit) {
  const auto cause = static_cast<std::uint32_t>(-static_cast<std::int32_t>(status));
  const bool first = break_once<RealAtomics>(header(), {cause, culprit + 1});
  segment_.wake_everybody();
  return first;
}

// Breaks this team as another team or host is broken.
void Team::break_as(Breach elsewhere) {
  if ((elsewhere.cause == 0 && elsewhere.culprit == 0) || is_broken<RealAtomics>(header())) return;
  break_once<RealAtomics>(header(), elsewhere);
  segment_.wake_everybody();
}

void Team::attend_port() {
  port_.progress();
  if (replaces_) break_as(port_owner_->breach());
  if (hosts_.are_several()) break_as(notices_.told_breach());
}

void Team::tell_abroad() {
  if (!hosts_.are_several()) return;
  const Breach now = breach();
  notices_.tell_breach(now.cause != 0 ? now : kAborted);  // a faulty member may have written 0
}

void Team::leave_hosts(std::uint32_t rank) {
  if (!hosts_.are_several()) return;
  if (is_broken<RealAtomics>(header())) return tell_abroad();
  port_.flush();
  notices_.tell_left(rank);
}

}  // namespace fermata::exec
