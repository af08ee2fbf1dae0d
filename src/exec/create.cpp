// How a team is made: from checked programs to a segment that holds them.
#include <string.h>

#include "exec/blocks.hpp"
#include "exec/proof/proof.hpp"
#include "exec/team.hpp"

namespace fermata::exec {
namespace {

// Sets the offsets of each plan's blob and regions. Regions start on a page of their own, because members
// write to them.
std::size_t lay_out(const TeamOptions& options, TeamLayout& header) {
  std::size_t at = plans_offset(options.members);
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    if (options.programs[i] == nullptr) continue;
    header.plans[i].program = at;
    at += round_up(program_header(options.programs[i]).bytes, kMaxLine);
  }
  header.model = options.model_bytes != 0 ? at : 0;
  at += round_up(options.model_bytes, 8);
  header.refresh = options.refresh_bytes != 0 ? at : 0;
  at += options.refresh_bytes;
  if (options.hosts != nullptr) {
    header.hosts = at = round_up(at, kMaxLine);
    at += (options.members + 1) * sizeof(std::uint32_t);
  }
  at = round_up(at, kMaxPage);
  if (options.hosts != nullptr) {
    header.window = at;
    at += regions_in_window(options.members);
  }
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    if (options.programs[i] == nullptr) continue;
    header.plans[i].regions = at;
    const ProgramHeader& program = program_header(options.programs[i]);
    at += std::size_t{program.region_bytes} * program.regions;
  }
  return round_up(at, kMaxPage);
}

constexpr std::size_t kMostProof = std::size_t{2} << 30;  // bytes of memory during a proof

// A team within another allocates up to this many bytes at once. A lack of memory is then an error of
// create(), not a crash of a member.
constexpr std::uint64_t kMostFront = std::uint64_t{1} << 17;

// The CPUs that all members can use: the machine's, or fewer by the cgroup's quota. The creator's own
// affinity does not count, because the creator may be pinned.
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

Status check_options(const TeamOptions& options, const char** detail) {
  if (options.members < 1 || options.members > kMaxTeamMembers)
    return refuse(Status::kArgument, "members must be 1..4096", detail);
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const void* const program = options.programs[i];
    if (program == nullptr) continue;
    if (!program_is_sound(program, program_header(program).bytes) ||
        program_header(program).members != options.members ||
        !is_for(static_cast<PlanSlot>(i), program_header(program), options.tagged) ||
        (options.hosts == nullptr && leaves_host(program, program_header(program))))
      return refuse(Status::kArgument,
                    "a compiled plan is malformed, or for another number of members or of hosts", detail);
    // No program runs without this proof, also if this process compiled it.
    const Proof proof =
        prove_program(program_header(program), {.hosts = options.hosts, .most_bytes = kMostProof});
    if (!proof) return refuse(Status::kVerify, proof.flaw, detail);
  }
  return Status::kOk;
}

// Lays out the whole segment. Sets laid.bytes, and in *front the bytes before the ring buffers.
TeamLayout layout_for(const TeamOptions& options, double usable_cpus, std::size_t* front) {
  TeamLayout laid;
  laid.magic = kTeamMagic;
  laid.version = kTeamVersion;
  laid.members = options.members;
  laid.shared = options.shared;
  laid.tagged = options.tagged;
  laid.reproducible = options.reproducible;
  laid.wait = static_cast<std::uint32_t>(options.wait);
  laid.stall_ns = options.stall_ns;
  laid.model_bytes = options.model_bytes;
  laid.refresh_bytes = options.refresh_bytes;
  laid.usable_cpus = usable_cpus;
  std::size_t bytes = lay_out(options, laid);
  *front = bytes;
  if (options.blocks && options.members <= kMostBlockMembers) {
    // the same on all hosts
    const std::uint64_t most =
        options.hosts == nullptr ? most_ring_lines(options.members / usable_cpus) : kMostLinesOverHosts;
    bytes = lay_out_blocks(bytes, most, laid);
  }
  if (options.shared && options.within == nullptr) {
    laid.places = bytes;
    bytes = round_up(bytes + sizeof(PlaceTable), kMaxPage);
  }
  laid.bytes = bytes;
  laid.hash = options.members;
  for (const void* const program : options.programs)
    if (program != nullptr) laid.hash = with_plan(laid.hash, program_header(program).hash);
  return laid;
}

const char* why_no_segment(const TeamOptions& options, Status status) {
  if (options.within != nullptr)
    return "the file of the enclosing team has no room for another team, or there is no memory";
  if (!options.shared) return "mmap failed";
  return status == Status::kMemory
             ? "there is no memory, or the limit of a file's size (ulimit -f) is too low"
             : "memfd_create or ftruncate failed";
}

void fill_segment(const TeamOptions& options, const TeamLayout& laid, std::byte* base) {
  if (options.hosts != nullptr) {
    auto* const hosts = reinterpret_cast<std::uint32_t*>(base + laid.hosts);
    memcpy(hosts, options.hosts, options.members * sizeof *hosts);
    hosts[options.members] = options.host;
  }
  if (options.cpus != nullptr) {
    auto* statuses = reinterpret_cast<StatusLine*>(base + statuses_offset());
    for (std::uint32_t r = 0; r < options.members; ++r)
      statuses[r].cpu = static_cast<std::uint32_t>(options.cpus[r]) + 1;
  }
  if (options.model_bytes != 0) memcpy(base + laid.model, options.model, options.model_bytes);
  if (options.refresh_bytes != 0) memcpy(base + laid.refresh, options.refresh, options.refresh_bytes);
  for (std::uint32_t i = 0; i < kPlanSlots; ++i)
    if (options.programs[i] != nullptr)
      memcpy(base + laid.plans[i].program, options.programs[i], program_header(options.programs[i]).bytes);
  auto* header = reinterpret_cast<TeamHeader*>(base);
  // In a crowd parks are frequent, and switches cost far more than fences.
  const bool crowded = options.members / laid.usable_cpus > 1;
  // order: relaxed: no other thread has the segment yet
  RealAtomics::store_relaxed(header->fences.mode, crowded || !os::register_fence(options.shared)
                                                      ? Fences<RealAtomics>::kAlwaysFull
                                                      : Fences<RealAtomics>::kLight);
  exclude_until(header->pace, 0);
  header->layout = laid;
}

}  // namespace

Status Team::create(const TeamOptions& options, Team** out, const char** detail) {
  if (const Status good = check_options(options, detail); good != Status::kOk) return good;
  Team* const owner = options.within != nullptr ? &options.within->segment_owner() : nullptr;
  std::size_t front = 0;
  const double cpus = owner != nullptr ? options.within->layout().usable_cpus : cpus_for_members();
  const TeamLayout laid = layout_for(options, cpus, &front);
  SegmentMemory memory;
  const Status got = owner == nullptr
                         ? SegmentMemory::create(options.shared, laid.bytes, &memory)
                         : SegmentMemory::take_place(owner->segment().places(), laid.bytes,
                                                     front < kMostFront ? front : kMostFront, &memory);
  if (got != Status::kOk) return refuse(got, why_no_segment(options, got), detail);
  fill_segment(options, laid, memory.base());
  Team* const team = adopt(memory, owner, detail);
  if (team == nullptr) return Status::kMemory;
  team->wait_ = options.wait;
  team->stall_ns_ = options.stall_ns;
  team->awake_us_ = options.awake_us;
  team->beside_ = options.beside;
  team->segment_.set_layout(laid);
  team->programs_.set(options.programs);
  if (options.shared && owner == nullptr) {
    const os::ProcessLock lock;
    team->list();
  }
  const auto* const hosts = reinterpret_cast<const std::uint32_t*>(memory.base() + laid.hosts);
  if (options.hosts != nullptr && team->hosts_.copy(hosts, options.members) != Status::kOk) {
    team->release();
    return refuse(Status::kMemory, "malloc failed", detail);
  }
  *out = team;
  return Status::kOk;
}

}  // namespace fermata::exec
