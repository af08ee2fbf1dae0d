#include "exec/team.hpp"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/blocks.hpp"
#include "exec/proof/proof.hpp"
#include "exec/segment_layout.hpp"
#include "sync/status_line.hpp"

namespace fermata::exec {
namespace {

const ProgramHeader& header_of(const void* p) { return *static_cast<const ProgramHeader*>(p); }

// Sets the offsets of each plan's blob and regions. Regions start on a page of their own, because members
// write to them.
std::size_t lay_out(const TeamOptions& options, TeamLayout& header) {
  std::size_t at = plans_offset(options.members);
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    if (options.programs[i] == nullptr) continue;
    header.plans[i].program = at;
    at += round_up(header_of(options.programs[i]).bytes, kMaxLine);
  }
  header.model = options.model_bytes != 0 ? at : 0;
  at += round_up(options.model_bytes, 8);
  header.refresh = options.refresh_bytes != 0 ? at : 0;
  at += options.refresh_bytes;
  if (options.hosts != nullptr) {
    header.hosts = at = round_up(at, kMaxLine);
    at += (options.members + 1) * sizeof(std::uint32_t);
  }
  at = round_up(at, 4096);
  if (options.hosts != nullptr) {
    header.window = at;
    at += regions_in_window(options.members);
  }
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    if (options.programs[i] == nullptr) continue;
    header.plans[i].regions = at;
    const ProgramHeader& program = header_of(options.programs[i]);
    at += std::size_t{program.region_bytes} * program.regions;
  }
  return round_up(at, 4096);
}

// No program runs without this proof, also if this process compiled it.
constexpr std::size_t kMostProof = std::size_t{2} << 30;  // bytes of memory during the proof
Status prove(const ProgramHeader& program, const std::uint32_t* hosts, const char** detail) {
  const Proof proof = prove_program(program, {.hosts = hosts, .most_bytes = kMostProof});
  if (proof) return Status::kOk;
  *detail = proof.flaw;
  return Status::kVerify;
}

// A team within another allocates up to this many bytes at once. A lack of memory is then an error of
// create(), not a crash of a member.
constexpr std::uint64_t kMostFront = std::uint64_t{1} << 17;

// The CPUs that all members can use: the machine's, or fewer by the cgroup's quota. The creator's own
// affinity does not count, because the creator may be pinned. If there are more members than CPUs, a context
// switch costs far more than a fence and parks are frequent. Then membarrier costs more than it saves, so
// doorbells use full fences.
double cpus_for_members() {
  const double quota = os::cgroup_quota().cpus;
  const std::int32_t cpus = os::online_cpus();
  return quota > 0 && quota < cpus ? quota : cpus;
}

std::uint64_t most_ring_lines(double per_cpu) {
  if (per_cpu <= 1) return kMostRingLines;
  std::uint64_t lines = kMostCrowdedLines;
  while (lines > kMostRingLines && static_cast<double>(lines) * per_cpu > kLinesOfACpu) lines /= 2;
  return lines;
}

}  // namespace

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

Team* Team::adopt(const os::Segment& segment, WaitKind wait, std::int64_t stall_ns) {
  void* memory = malloc(sizeof(Team));
  if (memory == nullptr) return nullptr;
  Team* team = new (memory) Team;
  team->segment_ = segment;
  team->wait_ = wait;
  team->stall_ns_ = stall_ns;
  team->generation_ = os::fork_generation();
  return team;
}

Status Team::create(const TeamOptions& options, Team** out, const char** detail) {
  if (options.members < 1 || options.members > kMaxMembers) {
    *detail = "members must be 1..4096";
    return Status::kArgument;
  }
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const void* const program = options.programs[i];
    if (program == nullptr) continue;
    if (!program_is_sound(program, header_of(program).bytes) ||
        header_of(program).members != options.members ||
        !is_for(static_cast<PlanSlot>(i), header_of(program), options.tagged) ||
        (options.hosts == nullptr && leaves_host(program, header_of(program)))) {
      *detail = "a compiled plan is malformed, or for another number of members or of hosts";
      return Status::kArgument;
    }
    if (const Status proved = prove(header_of(program), options.hosts, detail); proved != Status::kOk)
      return proved;
  }
  TeamLayout laid;
  laid.magic = kTeamMagic;
  laid.version = kTeamVersion;
  laid.members = options.members;
  laid.shared = options.shared;
  laid.tagged = options.tagged;
  laid.reproducible = options.reproducible;
  laid.model_bytes = options.model_bytes;
  laid.refresh_bytes = options.refresh_bytes;
  std::size_t bytes = lay_out(options, laid);
  const std::size_t front = bytes < kMostFront ? bytes : kMostFront;
  laid.usable_cpus = options.within != nullptr ? options.within->layout_.usable_cpus : cpus_for_members();
  const double per_cpu = options.members / laid.usable_cpus;
  if (options.blocks && options.members <= kMostBlockMembers)
    // the same on all hosts
    bytes = lay_out_blocks(bytes, options.hosts == nullptr ? most_ring_lines(per_cpu) : kMostRingLines, laid);
  if (options.shared && options.within == nullptr) {
    laid.places = bytes;
    bytes = round_up(bytes + sizeof(PlaceTable), 4096);
  }
  SegmentPart part;
  os::Segment& segment = part.segment;
  const Status status = options.within != nullptr
                            ? take_part(options.within->segment_owner(), bytes, front, &part)
                        : options.shared ? os::create_shared("fermata", bytes, &segment)
                                         : os::create_private(bytes, &segment);
  if (status != Status::kOk) {
    *detail = options.within != nullptr
                  ? "the file of the enclosing team has no room for another team, or there is no memory"
              : options.shared && status == Status::kMemory
                  ? "there is no memory, or the limit of a file's size (ulimit -f) is too low"
              : options.shared ? "memfd_create or ftruncate failed"
                               : "mmap failed";
    return status;
  }
  auto* header = reinterpret_cast<TeamHeader*>(segment.base);
  if (options.hosts != nullptr) {
    auto* hosts = reinterpret_cast<std::uint32_t*>(segment.base + laid.hosts);
    memcpy(hosts, options.hosts, options.members * sizeof *hosts);
    hosts[options.members] = options.host;
  }
  if (options.cpus != nullptr) {
    auto* statuses = reinterpret_cast<StatusLine*>(segment.base + statuses_offset());
    for (std::uint32_t r = 0; r < options.members; ++r)
      statuses[r].cpu = static_cast<std::uint32_t>(options.cpus[r]) + 1;
  }
  if (options.model_bytes != 0) memcpy(segment.base + laid.model, options.model, options.model_bytes);
  if (options.refresh_bytes != 0) memcpy(segment.base + laid.refresh, options.refresh, options.refresh_bytes);
  // order: relaxed: no other thread has the segment yet
  header->full_fence.store(per_cpu > 1 || !os::register_fence(options.shared), std::memory_order_relaxed);
  exclude_until(header->pace, 0);
  laid.bytes = bytes;
  laid.hash = options.members;
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    if (options.programs[i] == nullptr) continue;
    memcpy(segment.base + laid.plans[i].program, options.programs[i], header_of(options.programs[i]).bytes);
    laid.hash = with_plan(laid.hash, header_of(options.programs[i]).hash);
  }
  header->layout = laid;
  Team* team = adopt(segment, options.wait, options.stall_ns);
  auto* hosts = options.hosts != nullptr
                    ? static_cast<std::uint32_t*>(malloc((options.members + 1) * sizeof(std::uint32_t)))
                    : nullptr;
  if (team == nullptr || (options.hosts != nullptr && hosts == nullptr)) {
    free(hosts);
    free(team);
    os::unmap(&segment);
    if (options.within != nullptr)
      options.within->segment_owner().places().drop(part.place, part.offset, bytes);
    *detail = "malloc failed";
    return Status::kMemory;
  }
  team->members_ = options.members;
  team->shared_ = options.shared;
  team->layout_ = laid;
  team->hosts_ = hosts;
  if (hosts != nullptr) {
    memcpy(hosts, options.hosts, options.members * sizeof *hosts);
    hosts[options.members] = options.host;
  }
  for (std::uint32_t i = 0; i < kPlanSlots; ++i)
    if (options.programs[i] != nullptr) team->programs_[i] = header_of(options.programs[i]);
  if (options.within != nullptr) {
    team->settle_in(options.within->segment_owner(), part);
  } else if (options.shared) {
    const os::ProcessLock lock;
    team->list();
  }
  *out = team;
  return Status::kOk;
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
