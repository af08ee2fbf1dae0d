#include "exec/team.hpp"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bit>

#include "exec/blocks.hpp"
#include "sync/status_line.hpp"

namespace fermata::exec {
namespace {

constexpr std::uint32_t kTeamMagic = 0x464d544d;  // "FMTM"
constexpr std::uint32_t kTeamVersion = 5;

std::size_t statuses_offset() { return round_up(sizeof(TeamHeader), kMaxLine); }
std::size_t doors_offset(std::uint32_t members) { return statuses_offset() + members * sizeof(StatusLine); }
std::size_t plans_offset(std::uint32_t members) { return doors_offset(members) + members * sizeof(DoorLine); }

const ProgramHeader& blob(const void* p) { return *static_cast<const ProgramHeader*>(p); }

// Where each plan's blob and regions go. Regions start on a page of their own: they are what members write.
std::size_t lay_out(const TeamOptions& options, TeamHeader& header) {
  std::size_t at = plans_offset(options.members);
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    if (options.programs[i] == nullptr) continue;
    header.plans[i].program = at;
    at += round_up(blob(options.programs[i]).bytes, kMaxLine);
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
    at += kMaxLine + round_up(std::size_t{options.members} * options.members * sizeof(std::uint64_t), kMaxLine);
  }
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    if (options.programs[i] == nullptr) continue;
    header.plans[i].regions = at;
    const ProgramHeader& program = blob(options.programs[i]);
    at += std::size_t{program.region_bytes} * program.regions;
  }
  return round_up(at, 4096);
}

// Rings for all pairs, then the heap: address space. As many lines, and behind them bytes, as keep the rings within kRingSpace: a
// quarter of it for lines.
constexpr std::uint64_t kRingSpace = std::uint64_t{32} << 20;
constexpr std::uint64_t kHeapSpace = std::uint64_t{16} << 20;
constexpr std::uint32_t kMostBlockMembers = 1024;

std::size_t lay_out_blocks(std::size_t at, std::uint64_t most_lines, TeamHeader& header) {
  const std::uint64_t pairs = std::uint64_t{header.members} * header.members;
  const std::uint64_t fits = kRingSpace / pairs;
  header.ring_lines = most_lines;
  while (header.ring_lines > kLeastRingLines && header.ring_lines * kRingLine > fits / 4) header.ring_lines /= 2;
  const std::uint64_t lines = header.ring_lines * kRingLine;
  const std::uint64_t in_quarter = fits > lines ? (fits - lines) / kRingQuarters / kRingLine * kRingLine : 0;
  header.in_quarter = in_quarter < kMostInQuarter ? in_quarter : kMostInQuarter;
  header.rings = at;
  header.heap = at + round_up(pairs * Channel::ring_bytes(header.ring_lines, header.in_quarter), 4096);
  header.heap_bytes = kHeapSpace;
  return header.heap + header.heap_bytes;
}

// More members than CPUs: a switch costs far more than a fence, and parks are frequent, so membarrier would cost more
// than it saves. The creator's own affinity says little (it may be pinned): the machine's CPUs and the quota decide.
double members_per_cpu(std::uint32_t members) {
  const double quota = os::cgroup_quota().cpus;
  const std::int32_t cpus = os::online_cpus();
  return members / (quota > 0 && quota < cpus ? quota : cpus);
}

std::uint64_t most_ring_lines(double per_cpu) {
  if (per_cpu <= 1) return kMostRingLines;
  std::uint64_t lines = kMostCrowdedLines;
  while (lines > kMostRingLines && static_cast<double>(lines) * per_cpu > kLinesOfACpu) lines /= 2;
  return lines;
}

}  // namespace

Team* Team::listed_ = nullptr;

StatusLine* Team::statuses() const { return reinterpret_cast<StatusLine*>(segment_.base + statuses_offset()); }
DoorLine* Team::doors() const { return reinterpret_cast<DoorLine*>(segment_.base + doors_offset(members_)); }

const ProgramHeader* Team::program(PlanSlot slot) const {
  const PlanEntry& entry = header().plans[static_cast<int>(slot)];
  return entry.program == 0 ? nullptr : reinterpret_cast<const ProgramHeader*>(segment_.base + entry.program);
}

const Step* Team::steps_at(PlanSlot slot, std::uint32_t index) const {
  const ProgramHeader* p = program(slot);
  const auto* base = reinterpret_cast<const std::byte*>(p);
  const auto* programs = reinterpret_cast<const MemberProgram*>(base + p->programs_offset);
  return reinterpret_cast<const Step*>(base + p->steps_offset) + programs[index].first;
}

std::byte* Team::region(PlanSlot slot, std::uint32_t root) const {
  const ProgramHeader* p = program(slot);
  const std::uint64_t index = p->regions == 1 ? 0 : root;
  return segment_.base + header().plans[static_cast<int>(slot)].regions + index * p->region_bytes;
}

Where Team::where_is(std::uint32_t rank, const os::Lender& process) const {
  if (!shared_) return Where::kHere;
  const StatusLine& s = status(rank);
  const auto state = static_cast<MemberState>(state_of<RealAtomics>(s));
  if (state != MemberState::kJoined && state != MemberState::kLeft) return Where::kUnknown;
  // order: relaxed: written before the state that was acquired above
  const bool here = s.process.load(std::memory_order_relaxed) == process.process && s.home.load(std::memory_order_relaxed) == process.word;
  return here ? Where::kHere : Where::kElsewhere;
}

bool Team::is_free(std::uint32_t rank) const {
  return static_cast<MemberState>(state_of<RealAtomics>(status(rank))) == MemberState::kAbsent;
}

bool Team::is_gone(std::uint32_t rank, std::uint32_t viewer) const {
  if (is_away(rank)) {
    const auto& left = *reinterpret_cast<const std::atomic<std::uint64_t>*>(base() + left_offset(rank, viewer));
    // order: acquire: what it signalled before has landed before, and by who landed this. Pairs with land()'s kSlotPublish.
    return RealAtomics::load_acquire<Site::kSlotAwait>(left) != 0 || port_says_gone(rank);
  }
  const auto state = static_cast<MemberState>(state_of<RealAtomics>(status(rank)));
  if (state == MemberState::kLeft) return true;
  if (state != MemberState::kJoined || where_is(rank, os::lend()) == Where::kHere) return false;
  return !os::byte_is_locked(fd(), rank);
}

std::uint32_t Team::usable_cpus() const {
  std::uint32_t cpus = 0;
  for (const auto& word : header().cpus)
    cpus += static_cast<std::uint32_t>(__builtin_popcountll(word.load(std::memory_order_relaxed)));  // order: a hint
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
  for (const void* program : options.programs) {
    if (program == nullptr) continue;
    if (!program_is_sound(program, blob(program).bytes) || blob(program).members != options.members ||
        (options.hosts == nullptr && leaves_host(blob(program)))) {
      *detail = "a compiled plan is malformed, or for another number of members or of hosts";
      return Status::kArgument;
    }
  }
  os::install_fork_hook();
  TeamHeader laid = {};
  laid.members = options.members;
  std::size_t bytes = lay_out(options, laid);
  const double per_cpu = members_per_cpu(options.members);
  if (options.blocks && options.members <= kMostBlockMembers)
    bytes = lay_out_blocks(bytes, options.hosts == nullptr ? most_ring_lines(per_cpu) : kMostRingLines, laid);  // alike on all hosts
  os::Segment segment;
  const Status status =
      options.shared ? os::create_shared("fermata", bytes, &segment) : os::create_private(bytes, &segment);
  if (status != Status::kOk) {
    *detail = options.shared ? "memfd_create, ftruncate or mmap failed" : "mmap failed";
    return status;
  }
  auto* header = reinterpret_cast<TeamHeader*>(segment.base);
  header->magic = kTeamMagic;
  header->version = kTeamVersion;
  header->members = options.members;
  header->shared = options.shared;
  header->tagged = options.tagged;
  header->bytes = bytes;
  header->rings = laid.rings;
  header->ring_lines = laid.ring_lines;
  header->in_quarter = laid.in_quarter;
  header->heap = laid.heap;
  header->heap_bytes = laid.heap_bytes;
  header->model = laid.model;
  header->model_bytes = options.model_bytes;
  header->refresh = laid.refresh;
  header->refresh_bytes = options.refresh_bytes;
  header->hosts = laid.hosts;
  header->window = laid.window;
  if (options.hosts != nullptr) {
    auto* hosts = reinterpret_cast<std::uint32_t*>(segment.base + laid.hosts);
    memcpy(hosts, options.hosts, options.members * sizeof *hosts);
    hosts[options.members] = options.host;
  }
  if (options.cpus != nullptr) {
    auto* statuses = reinterpret_cast<StatusLine*>(segment.base + statuses_offset());
    for (std::uint32_t r = 0; r < options.members; ++r) statuses[r].planned_cpu = static_cast<std::uint32_t>(options.cpus[r]) + 1;
  }
  if (options.model_bytes != 0) memcpy(segment.base + laid.model, options.model, options.model_bytes);
  if (options.refresh_bytes != 0) memcpy(segment.base + laid.refresh, options.refresh, options.refresh_bytes);
  // order: nobody else has the segment yet
  header->full_fence.store(per_cpu > 1 || !os::register_fence(options.shared), std::memory_order_relaxed);
  excuse(header->pace, 0);
  std::uint64_t hash = options.members;
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    header->plans[i] = laid.plans[i];
    if (options.programs[i] == nullptr) continue;
    memcpy(segment.base + laid.plans[i].program, options.programs[i], blob(options.programs[i]).bytes);
    hash = with_plan(hash, blob(options.programs[i]).hash);
  }
  header->hash = hash;
  Team* team = adopt(segment, options.wait, options.stall_ns);
  if (team == nullptr) {
    os::unmap(&segment);
    *detail = "malloc failed";
    return Status::kMemory;
  }
  team->members_ = options.members;
  team->shared_ = options.shared;
  if (options.shared) {
    const os::ProcessLock lock;
    team->list();
  }
  *out = team;
  return Status::kOk;
}

Status Team::check_segment(const char** detail) const {
  const TeamHeader& h = header();
  *detail = "the offered segment is not a team's, or from another version of the library";
  if (segment_.bytes < sizeof(TeamHeader) || h.magic != kTeamMagic || h.version != kTeamVersion) return Status::kMismatch;
  if (h.bytes != segment_.bytes || h.members < 1 || h.members > kMaxMembers) return Status::kMismatch;
  if (plans_offset(h.members) > segment_.bytes) return Status::kMismatch;
  std::uint64_t hash = h.members;
  for (const PlanEntry& entry : h.plans) {
    if (entry.program == 0) continue;
    if (entry.program > segment_.bytes - sizeof(ProgramHeader) || entry.regions > segment_.bytes) return Status::kMismatch;
    const auto* program = reinterpret_cast<const ProgramHeader*>(segment_.base + entry.program);
    if (!program_is_sound(program, segment_.bytes - entry.program)) return Status::kMismatch;
    if (h.hosts == 0 && leaves_host(*program)) return Status::kMismatch;
    if (std::uint64_t{program->region_bytes} * program->regions > segment_.bytes - entry.regions) return Status::kMismatch;
    hash = with_plan(hash, program_hash(*program));
  }
  if (hash != h.hash) return Status::kMismatch;
  if (h.model > segment_.bytes || h.model_bytes > segment_.bytes - h.model) return Status::kMismatch;
  if (h.refresh > segment_.bytes || h.refresh_bytes > segment_.bytes - h.refresh) return Status::kMismatch;
  const bool whole = h.hosts % sizeof(std::uint32_t) == 0 && h.hosts <= segment_.bytes && h.window % 8 == 0 && h.window < segment_.bytes;
  if (!whole || (h.hosts != 0 && (h.members + 1) * sizeof(std::uint32_t) > segment_.bytes - h.hosts)) return Status::kMismatch;
  if (h.rings != 0) {
    TeamHeader blocks = {};
    blocks.members = h.members;
    if (h.members > kMostBlockMembers || h.rings > segment_.bytes || h.rings % 4096 != 0) return Status::kMismatch;
    if (h.ring_lines > kMostCrowdedLines || !std::has_single_bit(h.ring_lines)) return Status::kMismatch;
    if (lay_out_blocks(h.rings, h.ring_lines, blocks) != segment_.bytes || blocks.ring_lines != h.ring_lines ||
        blocks.in_quarter != h.in_quarter || blocks.heap != h.heap || blocks.heap_bytes != h.heap_bytes)
      return Status::kMismatch;
  }
  *detail = "";
  return Status::kOk;
}

Status Team::attach(std::int32_t fd, WaitKind wait, std::int64_t stall_ns, Team** out, const char** detail) {
  os::install_fork_hook();
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
  team->members_ = team->header().members;
  team->shared_ = true;
  team->list();
  *out = team;
  return Status::kOk;
}

void Team::retain() {
  references_.fetch_add(1, std::memory_order_relaxed);  // order: who retains already has a reference
}

void Team::release() {
  if (!shared_) {
    if (!drop_reference<RealAtomics>(references_)) return;
    close_port();
    os::unmap(&segment_);
  } else {
    // Also the closing: who attached meanwhile would lose the locks that it takes.
    const os::ProcessLock lock;
    if (!drop_reference<RealAtomics>(references_)) return;
    free_segment();
  }
  Team* const trunk = trunk_;
  free(trunk_ranks_);
  if (trunk == nullptr) free(arrivals_);
  this->~Team();
  free(this);
  if (trunk != nullptr) trunk->release();
}

void Team::list() {
  file_ = os::identify(segment_.fd);
  next_ = listed_;
  listed_ = this;
}

void Team::keep(std::int32_t fd) {
  auto* more = static_cast<std::int32_t*>(realloc(spare_, (spares_ + 1) * sizeof *spare_));
  if (more == nullptr) return;  // then it stays open until the process ends
  spare_ = more;
  spare_[spares_++] = fd;
}

void Team::free_segment() {
  close_port();
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
  // Pollers of words park on doors in the regions, which are not listed here: their parks are timed.
  const OsCalls calls{.shared = shared_};
  for (std::uint32_t r = 0; r < members_; ++r) fermata::wake<RealAtomics>(door(r), calls);
}

}  // namespace fermata::exec
