#include "exec/team.hpp"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/segment_layout.hpp"
#include "sync/status_line.hpp"

namespace fermata::exec {

Team* Team::listed_ = nullptr;

StatusLine* Team::statuses() const {
  return reinterpret_cast<StatusLine*>(segment_.base + statuses_offset());
}
DoorLine* Team::doors() const { return reinterpret_cast<DoorLine*>(segment_.base + doors_offset(members_)); }

const ProgramHeader* Team::program(PlanSlot slot) const {
  const auto i = static_cast<int>(slot);
  return layout_.plans[i].program == 0 ? nullptr : &programs_[i];
}

std::byte* Team::region(PlanSlot slot, std::uint32_t root) const {
  const ProgramHeader& p = programs_[static_cast<int>(slot)];
  const std::uint64_t index = p.regions == 1 ? 0 : root;
  return segment_.base + layout_.plans[static_cast<int>(slot)].regions + index * p.region_bytes;
}

Where Team::where_is(std::uint32_t rank, const os::ProcessMemory& process) const {
  if (!shared_) return Where::kHere;
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
  if (is_away(rank)) {
    const auto& left =
        *reinterpret_cast<const std::atomic<std::uint64_t>*>(base() + left_offset(rank, viewer));
    // order: acquire: the thread that landed this notice has landed all of the rank's signals. Pairs with
    // land()'s kSlotPublish.
    return RealAtomics::load_acquire<Site::kSlotAwait>(left) != 0 || port_says_gone(rank);
  }
  const auto state = static_cast<MemberState>(state_of<RealAtomics>(status(rank)));
  if (state == MemberState::kLeft) return true;
  if (state != MemberState::kJoined || !shared() || where_is(rank, os::own_memory()) == Where::kHere)
    return false;
  return !os::byte_is_locked(fd(), lock_of(rank));
}

std::uint32_t Team::usable_cpus() const {
  std::uint32_t cpus = 0;
  for (const auto& word : header().cpus)
    // order: relaxed: a hint
    cpus += static_cast<std::uint32_t>(__builtin_popcountll(word.load(std::memory_order_relaxed)));
  return os::within_quota(cpus);
}

Status Team::attach(std::int32_t fd, WaitKind wait, std::int64_t stall_ns, Team** out, const char** detail) {
  const os::ProcessLock lock;
  const os::FileId file = os::identify(fd);
  for (Team* team = listed_; team != nullptr; team = team->next_) {
    if (!(team->file_ == file)) continue;
    team->keep(fd);
    team->retain();
    *out = team;
    return Status::kOk;
  }
  os::Segment segment;
  Status status = os::map_shared(fd, &segment);
  if (status != Status::kOk) {
    *detail = "mapping the team's segment failed";
    return status;
  }
  // The file may also hold places, after the team's own segment.
  std::uint64_t own = segment.bytes < sizeof(TeamHeader)
                          ? 0
                          : reinterpret_cast<const TeamHeader*>(segment.base)->layout.bytes;
  asm volatile("" : "+r"(own));  // others can write to the segment: do not read the size again
  if (own >= sizeof(TeamHeader) && own < segment.bytes) os::shorten(&segment, own);
  Team* team = adopt(segment, wait, stall_ns);
  if (team == nullptr) {
    os::unmap(&segment);
    *detail = "malloc failed";
    return Status::kMemory;
  }
  status = team->check_segment(detail);
  if (status != Status::kOk) {
    team->release();
    return status;
  }
  team->shared_ = true;
  team->list();
  *out = team;
  return Status::kOk;
}

void Team::retain() {
  references_.fetch_add(1, std::memory_order_relaxed);  // order: relaxed: the caller already has a reference
}

void Team::release() {
  if (!shared_) {
    if (!drop_reference<RealAtomics>(references_)) return;
    close_port();
    os::unmap(&segment_);
  } else {
    // The lock also covers the closing of descriptors. Closing drops all record locks of this process on the
    // file, also a lock that a concurrent attach() has just taken.
    const os::ProcessLock lock;
    if (!drop_reference<RealAtomics>(references_)) return;
    free_segment();
  }
  Team* const port_owner = port_owner_;
  Team* const segment_owner = segment_owner_;
  free(owner_ranks_);
  free(hosts_);
  Team** const handoffs = handoffs_;
  const std::uint32_t members = members_;
  if (port_owner == nullptr) free(link_delays_);
  this->~Team();
  free(this);
  if (port_owner != nullptr) port_owner->release();
  if (segment_owner != nullptr) segment_owner->release();
  for (std::uint32_t r = 0; handoffs != nullptr && r < members; ++r)
    if (handoffs[r] != nullptr) handoffs[r]->release();
  free(handoffs);
}

void Team::list() {
  file_ = os::identify(segment_.fd);
  next_ = listed_;
  listed_ = this;
}

void Team::keep(std::int32_t fd) {
  auto* more = static_cast<std::int32_t*>(realloc(spare_, (spares_ + 1) * sizeof *spare_));
  if (more == nullptr) return;  // then the descriptor stays open until the process ends
  spare_ = more;
  spare_[spares_++] = fd;
}

void Team::free_segment() {
  close_port();
  if (segment_owner_ != nullptr) {
    os::unmap(&segment_);
    if (!is_in_child()) segment_owner_->places().drop(place_, offset_, layout_.bytes);
    return;
  }
  Team** at = &listed_;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  for (std::uint32_t i = 0; i < spares_; ++i) close(spare_[i]);
  free(spare_);
  os::unmap(&segment_);
}

bool Team::break_with(Status status, std::uint32_t culprit) {
  const auto cause = static_cast<std::uint32_t>(-static_cast<std::int32_t>(status));
  const bool first = break_once<RealAtomics>(header(), {cause, culprit + 1});
  wake_everybody();
  return first;
}

void Team::wake_everybody() {
  // Members that poll a word park at doors in the regions. These are not woken here: their parks have a time
  // limit.
  const OsCalls calls{.shared = shared_};
  for (std::uint32_t r = 0; r < members_; ++r) fermata::wake<RealAtomics>(door(r), calls);
}

}  // namespace fermata::exec
