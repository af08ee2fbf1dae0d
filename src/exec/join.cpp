// How a member joins its team and leaves it.
#include <stdlib.h>
#include <string.h>

#include "exec/member.hpp"

namespace fermata::exec {
namespace {

constexpr const char* kChanged = "the plans in the team's segment have changed since the team was created";

// Adds the calling thread's affinity to its team's.
void publish_affinity(TeamHeader& header) {
  std::int32_t cpus[kCpuWords * 64];
  const std::int32_t n = os::affinity_list(cpus, kCpuWords * 64);
  for (std::int32_t i = 0; i < n && i < static_cast<std::int32_t>(kCpuWords * 64); ++i) {
    const auto cpu = static_cast<std::uint32_t>(cpus[i]);
    if (cpu < kCpuWords * 64)
      // order: relaxed: count_joined() releases it
      header.cpus[cpu / 64].fetch_or(std::uint64_t{1} << cpu % 64, std::memory_order_relaxed);
  }
  count_joined<RealAtomics>(header.joined);
}

// Of all of the program's awaits; 0: it has none, or they differ.
std::uint32_t own_pauses(const Step* step) {
  std::uint32_t pauses = 0;
  for (; step->code != Code::kEnd; ++step) {
    if (step->code != Code::kAwait) continue;
    if (pauses != 0 && step->pauses != pauses) return 0;
    pauses = step->pauses;
  }
  return pauses;
}

// Rounds up to whole cache lines: each program begins on a cache line, and a short one fits on it.
std::uint32_t on_lines(std::uint32_t steps) {
  return round_up(steps, static_cast<std::uint32_t>(kMaxLine / sizeof(Step)));
}

// Checks that this rank can join here.
Status check_rank(const Team& team, std::uint32_t rank, const char** detail) {
  if (team.forked())
    return refuse(Status::kForked,
                  "a team of threads cannot be joined from a forked child; use FERMATA_PROCESSES", detail);
  if (rank >= team.members()) return refuse(Status::kArgument, "rank must be 0..members-1", detail);
  if (team.hosts().is_away(rank))
    return refuse(Status::kArgument, "this rank belongs to another host", detail);
  if (team.hosts().are_several() && !team.port().is_connected())
    return refuse(Status::kArgument, "the team is on several hosts: connect a port before you join", detail);
  return Status::kOk;
}

// Makes the rank absent again, for a member that has claimed it.
void disclaim_rank(Team& team, std::uint32_t rank) {
  if (team.shared()) team.segment().memory().disclaim(rank);
  say_state<RealAtomics>(team.status(rank), static_cast<std::uint32_t>(MemberState::kAbsent));
}

Status claim_rank(Team& team, std::uint32_t rank, const char** detail) {
  StatusLine& status = team.status(rank);
  // order: relaxed: the exchange only claims the rank and publishes nothing
  if (!RealAtomics::compare_exchange_relaxed(status.state, static_cast<std::uint32_t>(MemberState::kAbsent),
                                             static_cast<std::uint32_t>(MemberState::kJoining)))
    return refuse(Status::kBusy, "a member has already joined with this rank", detail);
  if (!team.shared()) return Status::kOk;
  const Status locked = team.segment().memory().claim(rank, detail);
  if (locked != Status::kOk) {
    say_state<RealAtomics>(status, static_cast<std::uint32_t>(MemberState::kAbsent));
    return locked;
  }
  // order: relaxed: this process uses full fences from now on, and parkers use at least a full fence. A
  // sender in another process that has not seen the store yet can miss a park here; the park's time limit
  // bounds the delay.
  if (!os::register_fence(true))
    RealAtomics::store_relaxed(team.header().fences.mode, Fences<RealAtomics>::kAlwaysFull);
  return Status::kOk;
}

}  // namespace

// Offsets in a member's memory: the member, the steps of its programs, the episodes of each region, the ends
// of its ring buffers, and their parts (Channel::last_in_parts).
struct Member::Memory {
  std::uint32_t counts[kPlanSlots];
  std::size_t steps = 0, episodes = 0, ends = 0, parts = 0;

  // Counts for the programs that a member runs without a root or for root 0. False: one is not sound.
  bool count(const Team& team, std::uint32_t rank) {
    for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
      const auto slot = static_cast<PlanSlot>(i);
      counts[i] = 0;
      const ProgramHeader* const p = team.programs().header(slot);
      if (p == nullptr) continue;
      counts[i] = team.programs().copy_steps(slot, rank, nullptr, 0);
      if (counts[i] == 0) return false;
      steps += on_lines(counts[i]);
      episodes += p->regions;
    }
    if (team.layout().rings != 0) ends = Channel::ends_of(team.members());
    if (ends != 0 && team.hosts().are_several()) parts = team.members() * kMostParts;
    return true;
  }
  static constexpr std::size_t kSteps = round_up(sizeof(Member), kMaxLine);
  std::size_t episodes_at() const { return kSteps + steps * sizeof(Step); }
  std::size_t ends_at() const { return episodes_at() + episodes * sizeof(std::uint64_t); }
  std::size_t parts_at() const { return ends_at() + ends * sizeof(Channel::End); }
  std::size_t bytes() const { return round_up(parts_at() + parts * sizeof(std::uint64_t), kMaxLine); }
};

Status Member::join(Team* team, std::uint32_t rank, Member** out, const char** detail) {
  const Status reserved = reserve(team, rank, out, detail);
  if (reserved == Status::kOk) (*out)->settle();
  return reserved;
}

void Member::settle() {
  log_.line().thread.store(os::thread_id(), std::memory_order_relaxed);  // order: relaxed: only for reports
  publish_affinity(team().header());
  // After the lock is taken and the process stored: otherwise others could take this member for dead.
  say_state<RealAtomics>(log_.line(), static_cast<std::uint32_t>(MemberState::kJoined));
}

Member::Member(Team& team, std::uint32_t rank)
    : seat_(team, rank),
      lines_(team, rank),
      log_(team.status(rank)),
      waiter_(team.wait(), team.hosts().are_several(), team.stall_ns(), team.awake_us(), team.beside()),
      queues_(*this),
      diagnosis_(seat_, log_, queues_),
      parts_{seat_, lines_, log_, queues_, diagnosis_, team},
      lengths_(parts_),
      engine_(parts_, lengths_),
      lookout_(parts_, lengths_, engine_) {
  team.retain();
  // order: relaxed: settle() publishes it
  log_.line().process.store(os::process_id(), std::memory_order_relaxed);
  log_.line().home.store(home().word, std::memory_order_relaxed);  // order: relaxed: as above
}

// Copies the member's programs into its memory. False: another process has changed them.
bool Member::bind(const Memory& memory) {
  auto* const base = reinterpret_cast<std::byte*>(this);
  auto* steps = reinterpret_cast<Step*>(base + Memory::kSteps);
  auto* next = reinterpret_cast<std::uint64_t*>(base + memory.episodes_at());
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const auto slot = static_cast<PlanSlot>(i);
    const ProgramHeader* p = team().programs().header(slot);
    if (p == nullptr) continue;
    if (team().programs().copy_steps(slot, rank(), steps, memory.counts[i]) != memory.counts[i]) return false;
    lines_.bind(slot, {steps, team().programs().region(slot), p->regions == 1 ? 0 : p->region_bytes, next,
                       own_pauses(steps)});
    steps += on_lines(memory.counts[i]);
    next += p->regions;
  }
  lines_.choose_paths();
  if (memory.ends == 0) return true;
  const TeamLayout& layout = team().layout();
  auto* const first = reinterpret_cast<Channel::End*>(base + memory.ends_at());
  for (std::size_t i = 0; i < memory.ends; ++i) new (first + i) Channel::End;
  auto* const last_in_parts = reinterpret_cast<std::uint64_t*>(base + memory.parts_at());
  queues_.channel = {team().base() + layout.rings,
                     layout.ring_lines,
                     layout.in_quarter,
                     layout.members,
                     first,
                     memory.parts != 0 ? last_in_parts : nullptr};
  return true;
}

Status Member::reserve(Team* team, std::uint32_t rank, Member** out, const char** detail) {
  if (const Status possible = check_rank(*team, rank, detail); possible != Status::kOk) return possible;
  Memory memory;
  if (team->programs().hash() != team->layout().hash || !memory.count(*team, rank))
    return refuse(Status::kMismatch, kChanged, detail);
  if (const Status claimed = claim_rank(*team, rank, detail); claimed != Status::kOk) return claimed;
  void* const at = aligned_alloc(kMaxLine, memory.bytes());
  if (at == nullptr) {
    disclaim_rank(*team, rank);
    return refuse(Status::kMemory, "aligned_alloc failed", detail);
  }
  memset(at, 0, memory.bytes());
  auto* const m = new (at) Member(*team, rank);
  if (!m->bind(memory)) {
    disclaim_rank(*team, rank);
    m->~Member();
    free(m);
    team->release();
    return refuse(Status::kMismatch, kChanged, detail);
  }
  *out = m;
  return Status::kOk;
}

void Member::leave() {
  Team* const team = &this->team();
  if (usable() != Status::kForked) {
    say_state<RealAtomics>(log_.line(), static_cast<std::uint32_t>(MemberState::kLeft));
    if (team->shared()) team->segment().memory().disclaim(rank());
    const RequestQueues::Hold hold(queues_);
    const auto is_used = [](const BlockRequest& r) {
      return r.operation.uses_single_copy() || r.operation.has_messages();
    };
    if (queues_.any(is_used)) team->break_with(Status::kMemberLost, rank());
    if (outstanding() || has_requests()) team->segment().wake_everybody();
    team->leave_hosts(rank());
    seat_.set_broken(Status::kBroken);  // from here on callbacks cannot start requests
    engine_.fail(Status::kBroken);
  }
  this->~Member();
  free(this);
  team->release();
}

}  // namespace fermata::exec
