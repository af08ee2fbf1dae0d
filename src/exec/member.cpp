// Calls: from arguments to a started cursor, and from a finished cursor to a result.
#include "exec/member.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace fermata::exec {
namespace {

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

// For a team of two: true if the one-word allreduce is a single exchange, at both members a send and then a
// fold.
bool is_exchange(const Team& team) {
  for (const std::uint32_t rank : {0u, 1u}) {
    Step steps[3];
    if (team.copy_steps(PlanSlot::kAllreduce8, rank, steps, 3) != 3 || !goes_in_rounds<Load::kOneWord>(steps))
      return false;
  }
  return true;
}

// Rounds up to whole cache lines: each program begins on a cache line, and a short one fits on it.
std::uint32_t on_lines(std::uint32_t steps) {
  return round_up(steps, static_cast<std::uint32_t>(kMaxLine / sizeof(Step)));
}

// Counts the steps of the programs that a member runs without a root or for root 0. False: one is not sound.
bool count_steps(const Team& team, std::uint32_t rank, std::uint32_t (&counts)[kPlanSlots],
                 std::size_t* all) {
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const auto slot = static_cast<PlanSlot>(i);
    counts[i] = 0;
    if (team.program(slot) == nullptr) continue;
    counts[i] = team.copy_steps(slot, rank, nullptr, 0);
    if (counts[i] == 0) return false;
    *all += on_lines(counts[i]);
  }
  return true;
}

}  // namespace

Status Member::join(Team* team, std::uint32_t rank, Member** out, const char** detail) {
  const Status reserved = reserve(team, rank, out, detail);
  if (reserved == Status::kOk) (*out)->settle();
  return reserved;
}

void Member::settle() {
  status_->thread.store(os::thread_id(), std::memory_order_relaxed);  // order: relaxed: only for reports
  publish_affinity(team_->header());
  choose_spins();
  // After the lock is taken and the process stored: otherwise others could take this member for dead.
  say_state<RealAtomics>(*status_, static_cast<std::uint32_t>(MemberState::kJoined));
}

Status Member::reserve(Team* team, std::uint32_t rank, Member** out, const char** detail) {
  if (team->forked()) {
    *detail = "a team of threads cannot be joined from a forked child; use FERMATA_PROCESSES";
    return Status::kForked;
  }
  if (rank >= team->members()) {
    *detail = "rank must be 0..members-1";
    return Status::kArgument;
  }
  if (team->is_away(rank) || (team->is_over_hosts() && team->port() == nullptr)) {
    *detail = team->is_away(rank) ? "this rank belongs to another host"
                                  : "the team is on several hosts: connect a port before you join";
    return Status::kArgument;
  }
  TeamHeader& header = team->header();
  const TeamLayout& layout = team->layout();
  std::uint64_t hash = layout.members;
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const auto slot = static_cast<PlanSlot>(i);
    if (team->program(slot) != nullptr)
      hash = with_plan(hash, program_hash(team->blob(slot), team->program(slot)->bytes));
  }
  std::uint32_t counts[kPlanSlots];
  std::size_t all_steps = 0;
  if (hash != layout.hash || !count_steps(*team, rank, counts, &all_steps)) {
    *detail = "the plans in the team's segment have changed since the team was created";
    return Status::kMismatch;
  }
  StatusLine& status = team->status(rank);
  // order: relaxed: the exchange only claims the rank and publishes nothing
  if (!RealAtomics::compare_exchange_relaxed(status.state, static_cast<std::uint32_t>(MemberState::kAbsent),
                                             static_cast<std::uint32_t>(MemberState::kJoining))) {
    *detail = "a member has already joined with this rank";
    return Status::kBusy;
  }
  if (team->shared()) {
    const Status locked = team->claim(rank, detail);
    if (locked != Status::kOk) {
      say_state<RealAtomics>(status, static_cast<std::uint32_t>(MemberState::kAbsent));
      return locked;
    }
    // order: relaxed: this process uses full fences from now on, and parkers use at least a full fence. A
    // sender in another process that has not seen the store yet can miss a park here; the park's time limit
    // bounds the delay.
    if (!os::register_fence(true)) header.full_fence.store(1, std::memory_order_relaxed);
  }
  std::size_t episodes = 0;
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const ProgramHeader* p = team->program(static_cast<PlanSlot>(i));
    if (p != nullptr) episodes += p->regions;
  }
  const std::size_t ends = layout.rings != 0 ? Channel::ends_of(layout.members) * sizeof(Channel::End) : 0;
  const std::size_t steps_at = round_up(sizeof(Member), kMaxLine);
  const std::size_t bytes =
      round_up(steps_at + all_steps * sizeof(Step) + episodes * sizeof(std::uint64_t) + ends, kMaxLine);
  void* memory = aligned_alloc(kMaxLine, bytes);
  if (memory == nullptr) {
    if (team->shared()) team->disclaim(rank);
    say_state<RealAtomics>(status, static_cast<std::uint32_t>(MemberState::kAbsent));
    *detail = "aligned_alloc failed";
    return Status::kMemory;
  }
  memset(memory, 0, bytes);
  Member* m = new (memory) Member;
  team->retain();
  m->team_ = team;
  m->rank_ = rank;
  m->generation_ = os::fork_generation();
  m->gate_ = m->generation_;
  m->status_ = &status;
  m->requests_lock_.init(BiasedLock<RealAtomics>::kBiased);
  if (team->shared()) m->home_ = os::own_memory();
  status.process.store(os::process_id(), std::memory_order_relaxed);  // order: relaxed: settle() publishes it
  status.home.store(m->home_.word, std::memory_order_relaxed);        // order: relaxed: as above
  m->tagged_ = layout.tagged != 0;
  m->barrier_carries_ = m->tagged_;
  m->memory_.doors = team->doors();
  m->memory_.fence = &header.full_fence;
  m->memory_.calls.shared = team->shared();
  m->memory_.team = team;
  m->over_hosts_ = team->is_over_hosts();
  m->attends_ = team->port() != nullptr;
  auto* steps = reinterpret_cast<Step*>(static_cast<std::byte*>(memory) + steps_at);
  auto* next = reinterpret_cast<std::uint64_t*>(steps + all_steps);
  bool whole = true;
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const auto slot = static_cast<PlanSlot>(i);
    const ProgramHeader* p = team->program(slot);
    if (p == nullptr) continue;
    whole = whole && team->copy_steps(slot, rank, steps, counts[i]) == counts[i];
    m->bound_[i] = {steps, team->region(slot, 0), p->regions == 1 ? 0 : p->region_bytes, next};
    steps += on_lines(counts[i]);
    next += p->regions;
  }
  if (!whole) {
    if (team->shared()) team->disclaim(rank);
    say_state<RealAtomics>(status, static_cast<std::uint32_t>(MemberState::kAbsent));
    m->~Member();
    free(m);
    team->release();
    *detail = "the plans in the team's segment have changed since the team was created";
    return Status::kMismatch;
  }
  if (layout.rings != 0) {
    auto* first = reinterpret_cast<Channel::End*>(next);
    for (std::size_t i = 0; i < Channel::ends_of(layout.members); ++i) new (first + i) Channel::End;
    m->channel_ = {team->base() + layout.rings, layout.ring_lines, layout.in_quarter, layout.members, first};
  }
  const Bound& word = m->bound_[static_cast<std::uint32_t>(PlanSlot::kAllreduce8)];
  m->rounds_ = word.steps != nullptr && goes_in_rounds<Load::kOneWord>(word.steps);
  m->swaps_ = m->rounds_ && layout.members == 2 && is_exchange(*team);
  const Bound& barrier = m->bound_[static_cast<std::uint32_t>(PlanSlot::kBarrier)];
  m->barrier_rounds_ =
      barrier.steps != nullptr && !m->tagged_ && goes_in_rounds<Load::kNothing>(barrier.steps);
  m->barrier_has_words_ = barrier.steps != nullptr && word.steps != nullptr &&
                          has_words(team->blob(PlanSlot::kBarrier), *team->program(PlanSlot::kBarrier));
  *out = m;
  return Status::kOk;
}

void Member::leave() {
  Team* team = team_;
  if (usable() != Status::kForked) {
    say_state<RealAtomics>(*status_, static_cast<std::uint32_t>(MemberState::kLeft));
    if (team->shared()) team->disclaim(rank_);
    const Hold hold(*this);
    for (const RequestQueue* queue : {&ordered_, &unordered_})
      for (const BlockRequest* r = queue->first; r != nullptr; r = r->next)
        if (r->operation.uses_single_copy()) team->break_with(Status::kMemberLost, rank_);
    if (outstanding() || has_requests()) team->wake_everybody();
    team->leave_hosts(rank_);
    broken_ = Status::kBroken;  // from here on callbacks cannot start requests
    fail_requests(broken_);
  }
  for (std::size_t i = 0; of_roots_ != nullptr && i < std::size_t{kPlanSlots} * team->members(); ++i)
    free(of_roots_[i]);
  free(of_roots_);
  free(differing_.ride);
  this->~Member();
  free(this);
  team->release();
}

const Step* Member::steps_of_root(PlanSlot slot, std::uint32_t root) {
  const std::uint32_t members = team_->members();
  const ProgramHeader& program = *team_->program(slot);
  const bool own = program.roots != 1;  // each root has its own set of programs
  const std::uint32_t index = own ? root * members + rank_ : memory_.swapped(rank_);
  if (own) memory_.root = 0;
  if (index == rank_) return bound_[static_cast<std::uint32_t>(slot)].steps;
  if (of_roots_ == nullptr)
    of_roots_ = static_cast<Step**>(calloc(std::size_t{kPlanSlots} * members, sizeof *of_roots_));
  if (of_roots_ == nullptr) return nullptr;
  Step*& kept = of_roots_[static_cast<std::size_t>(slot) * members + root];
  if (kept != nullptr) [[likely]]
    return kept;
  const std::uint32_t count = team_->copy_steps(slot, index, nullptr, 0);
  auto* const steps =
      count != 0 ? static_cast<Step*>(aligned_alloc(sizeof(Step), count * sizeof(Step))) : nullptr;
  if (steps == nullptr) return nullptr;
  if (team_->copy_steps(slot, index, steps, count) == count) return kept = steps;
  free(steps);
  return nullptr;
}

Status Member::refuse_root() {
  snprintf(detail_, sizeof detail_,
           "there is no memory for this root's plan, or another member has overwritten the plan");
  return give_up(break_team(Status::kBroken, rank_));
}

Status Member::refusal() const {
  const Status now = usable();
  if (now != Status::kOk) return now;
  return outstanding() ? Status::kBusy : Status::kUnsupported;
}

void Member::take(const Taken& taken) {
  if (taken.out == nullptr) return;
  for (std::uint32_t i = 0; i < taken.blocks; ++i)
    copy_bytes(static_cast<std::byte*>(taken.out) + i * taken.bytes,
               reinterpret_cast<const std::byte*>(regs_[0]) + taken.first + i * taken.stride, taken.bytes);
}

Status Member::finish() {
  if (cursor_.status() != Status::kOk) {
    const Status settled = settle_met_length(may_retract());
    if (settled == Status::kRetracted) return retract_line();
    if (settled == Status::kPending) return wait();
    return settled != Status::kOk ? give_up(settled) : met_another_call(memory_.swapped(cursor_.at().peer));
  }
  take(taken_);
  taken_.out = nullptr;
  over();
  if (differing_.again) [[unlikely]]
    return end_again();
  if (!tag_check_) return Status::kOk;
  tag_check_ = false;
  if (tags_agree(regs_[0][0])) return Status::kOk;
  snprintf(detail_, sizeof detail_, "tags differ: the largest is %u, the smallest %u",
           static_cast<std::uint32_t>(regs_[0][0]), ~static_cast<std::uint32_t>(regs_[0][0] >> 32));
  return Status::kMismatch;
}

Status Member::other_barrier() {
  if (barrier_rounds_ && gate_ == os::fork_generation()) {
    prepare(PlanSlot::kBarrier, first_signals_->barrier, Call{}.packed());
    return barrier();
  }
  if (barrier_carries_) return barrier_with_tag(0);
  const Status ready = start<Load::kNothing>(PlanSlot::kBarrier, Call{}, 0, kNoWord);
  if (ready != Status::kOk) [[unlikely]]
    return ready;
  if (!cursor_.advance<Load::kNothing>(memory_, {}, regs_, spins_)) [[unlikely]] {
    load_ = Load::kNothing;
    return wait();
  }
  if (cursor_.status() != Status::kOk) [[unlikely]]
    return finish();
  over();
  return Status::kOk;
}

// Starts a barrier that carries 8 bytes. They hold tags; if the barrier's own plan has words, they hold only
// the tag of the history.
Status Member::start_barrier_with(std::uint64_t folded) {
  const PlanSlot slot = tagged_ ? PlanSlot::kBarrier : PlanSlot::kAllreduce8;
  const Status ready = start<Load::kOneWord>(slot, Call{}, 1, [&](std::uint32_t) { return folded; });
  if (ready != Status::kOk) return ready;
  regs_[0][0] = folded;
  load_ = Load::kOneWord;
  carried_ = {.words = 1, .fold = fold_tags};
  tag_check_ = tagged_;
  barrier_carries_ = tagged_;
  return Status::kOk;
}

Status Member::barrier_with_tag(std::uint64_t folded) {
  const Status ready = start_barrier_with(folded);
  return ready == Status::kOk ? run() : ready;
}

Status Member::barrier_tagged(std::uint32_t tag) {
  if (!tagged_) return Status::kUnsupported;
  status_->tag.store(tag, std::memory_order_relaxed);  // order: relaxed: only for reports
  return barrier_with_tag(tag_register(tag));
}

std::uint64_t Member::uses(PlanSlot slot) const {
  const ProgramHeader* const program = team_->program(slot);
  std::uint64_t all = 0;
  for (std::uint32_t r = 0; program != nullptr && r < program->regions; ++r)
    all += bound_[static_cast<std::uint32_t>(slot)].episodes[r];
  return all;
}

void Member::inherit(const Member& other) {
  timeout_ns_ = other.timeout_ns_;
  hook_ = other.hook_;
  hook_context_ = other.hook_context_;
  idle_sleep_ns_ = other.idle_sleep_ns_;
  bounded_ = other.bounded_;
}

void Member::keep_first_signals_in(FirstSignals* place) {
  *place = *first_signals_;
  first_signals_ = place;
}

[[gnu::noinline, gnu::cold]] void Member::carry_wide(Carried& carried, const Call& call) {
  const auto type = static_cast<Type>(call.type);
  carried.whole = whole_fold_of(static_cast<Op>(call.op), type);
  carried.context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(call.bytes >> log2_size_of(type)));
}

Status Member::arrive() {
  const bool carries = barrier_carries_;
  const Status ready =
      carries ? start_barrier_with(0) : start<Load::kNothing>(PlanSlot::kBarrier, Call{}, 0, kNoWord);
  if (ready != Status::kOk) return ready;
  if (!carries) load_ = Load::kNothing;
  advance(0);
  return Status::kOk;
}

Status Member::arrive_with(const Call& call, const void* in, void* out) {
  const bool one = call.bytes <= 8;
  PlanSlot slot = one ? PlanSlot::kAllreduce8 : PlanSlot::kAllreduce56;
  if (call.kind == Kind::kBroadcast) slot = one ? PlanSlot::kBroadcast8 : PlanSlot::kBroadcast56;
  if (call.kind == Kind::kReduce) slot = one ? PlanSlot::kReduce8 : PlanSlot::kReduce56;
  Carried carried;
  const Status ready = one ? start_with<Load::kOneWord>(slot, call, in, carried)
                           : start_with<Load::kWords>(slot, call, in, carried);
  if (ready != Status::kOk) return ready;
  load_ = one ? Load::kOneWord : Load::kWords;
  taken_ = {out, static_cast<std::uint32_t>(call.bytes)};
  carried_ = carried;
  differing_.splits = true;
  advance(0);
  return Status::kOk;
}

Status Member::test() {
  const Status now = usable();
  if (now != Status::kOk) return now;
  const bool waits = outstanding();
  if (waits && team_->port() != nullptr) team_->attend_port();
  if (waits && interrupted_ != nullptr)
    return test_for(interrupted_) == Status::kPending ? Status::kPending : Status::kOk;
  const bool over = waits && advance(0);
  if (over && (!differing_.splits || cursor_.status() == Status::kOk)) return Status::kOk;
  const Status seen = waits ? look_at_line() : Status::kOk;
  if (seen == Status::kOk && over) return seen;
  if (seen != Status::kOk && seen != Status::kPending)
    return seen == Status::kRetracted ? make_again() : give_up(seen);
  // Otherwise a member that only tests would not notice that the team is broken.
  const Status broken = broken_status();
  if (broken == Status::kOk) return waits ? Status::kPending : Status::kOk;
  gate_ = 0;
  return give_up(broken);
}

Status Member::depart() {
  const Status now = usable();
  if (now != Status::kOk) return now;
  if (!outstanding() || interrupted_ != nullptr) return Status::kArgument;
  differing_.departs = true;
  differing_.overtaken = {};  // late data may be at the port, which the wait looks at
  Status status = run();
  while (status == Status::kRetracted && (status = make_again()) == Status::kPending) status = run();
  differing_.departs = false;
  differing_.splits = differing_.splits && gate_ == 0;
  return status;
}

Status Member::resume() {
  if (interrupted_ == nullptr) return depart();
  if (forked()) return Status::kForked;
  const Status status = wait_for(interrupted_);
  if (interrupted_->active) return status;
  interrupted_ = nullptr;
  if (broken_ == Status::kOk) gate_ = generation_;
  return status;
}

Status Member::together(PlanSlot slot, const Call& call, std::uint32_t bytes, const void* in, FoldFn fold,
                        const Taken& taken) {
  return together(slot, call, bytes, in, Carried{.words = words_of(bytes), .fold = fold}, taken);
}

Status Member::together(PlanSlot slot, const Call& call, std::uint32_t bytes, const void* in,
                        const Carried& carried, const Taken& taken) {
  if (carried.words == 1 && carried.whole == nullptr)
    return together<Load::kOneWord>(slot, call, bytes, in, carried, taken);
  return together<Load::kWords>(slot, call, bytes, in, carried, taken);
}

template <Load L>
Status Member::together(PlanSlot slot, const Call& call, std::uint32_t bytes, const void* in,
                        const Carried& carried, const Taken& taken) {
  const auto word = [&](std::uint32_t i) { return in == nullptr ? 0 : word_at(in, i, bytes); };
  const Status ready = start<L>(slot, call, carried.words, word);
  if (ready != Status::kOk) return ready;
  for (std::uint32_t i = 0; i < carried.words; ++i) regs_[0][i] = word(i);
  if (cursor_.advance<L>(memory_, carried, regs_, spins_) && cursor_.status() == Status::kOk) [[likely]] {
    take(taken);
    over();
    return Status::kOk;
  }
  load_ = L;
  taken_ = taken;
  carried_ = carried;
  return run();
}

Status Member::reduce(const void* in, void* out, std::uint32_t count, Type type, Op op, std::uint32_t root) {
  const auto bytes = static_cast<std::uint32_t>(count * size_of(type));
  const Call call{.kind = Kind::kReduce,
                  .type = static_cast<std::uint8_t>(type),
                  .op = static_cast<std::uint8_t>(op),
                  .root = root,
                  .bytes = bytes,
                  .order = Call::kLineOrder};
  if (rank_ != root) out = nullptr;
  if (bytes <= 8) return move<Load::kOneWord>(PlanSlot::kReduce8, call, in, out);
  return move<Load::kWords>(PlanSlot::kReduce56, call, in, out);
}

Status Member::broadcast(void* data, std::uint32_t bytes, std::uint32_t root) {
  const Call call{.kind = Kind::kBroadcast, .root = root, .bytes = bytes, .order = Call::kLineOrder};
  const void* in = rank_ == root ? data : nullptr;
  void* out = rank_ == root ? nullptr : data;
  if (bytes <= 8) return move<Load::kOneWord>(PlanSlot::kBroadcast8, call, in, out);
  return move<Load::kWords>(PlanSlot::kBroadcast56, call, in, out);
}

}  // namespace fermata::exec
