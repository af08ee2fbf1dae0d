// Calls: from arguments to a started cursor, and from a finished cursor to a result.
#include "exec/member.hpp"

#include <stdio.h>
#include <stdlib.h>

namespace fermata::exec {

const Step* Member::steps_of_root(PlanSlot slot, std::uint32_t root) {
  const std::uint32_t members = team_->members();
  const ProgramHeader& program = *team_->programs().header(slot);
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
  const std::uint32_t count = team_->programs().copy_steps(slot, index, nullptr, 0);
  auto* const steps =
      count != 0 ? static_cast<Step*>(aligned_alloc(sizeof(Step), count * sizeof(Step))) : nullptr;
  if (steps == nullptr) return nullptr;
  if (team_->programs().copy_steps(slot, index, steps, count) == count) return kept = steps;
  free(steps);
  return nullptr;
}

Status Member::refuse_root() {
  snprintf(detail_, sizeof detail_,
           "there is no memory for this root's plan, or another member has overwritten the plan");
  return give_up(break_team(Status::kBroken, rank_));
}

bool Member::advance(std::uint32_t spins) {
  switch (load_) {
    case Load::kNothing: return cursor_.advance<Load::kNothing>(memory_, carried_, regs_, spins);
    case Load::kOneWord: return cursor_.advance<Load::kOneWord>(memory_, carried_, regs_, spins);
    case Load::kWords: break;
  }
  return cursor_.advance<Load::kWords>(memory_, carried_, regs_, spins);
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
  const ProgramHeader* const program = team_->programs().header(slot);
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
  if (call.collective == Collective::kBroadcast) slot = one ? PlanSlot::kBroadcast8 : PlanSlot::kBroadcast56;
  if (call.collective == Collective::kReduce) slot = one ? PlanSlot::kReduce8 : PlanSlot::kReduce56;
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
  if (waits && team_->port().is_connected()) team_->attend_port();
  if (waits && requests_.interrupted != nullptr)
    return test_for(requests_.interrupted) == Status::kPending ? Status::kPending : Status::kOk;
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
  if (!outstanding() || requests_.interrupted != nullptr) return Status::kArgument;
  differing_.departs = true;
  differing_.overtaken = {};  // late data may be at the port, which the wait looks at
  Status status = run();
  while (status == Status::kRetracted && (status = make_again()) == Status::kPending) status = run();
  differing_.departs = false;
  differing_.splits = differing_.splits && gate_ == 0;
  return status;
}

Status Member::resume() {
  if (requests_.interrupted == nullptr) return depart();
  if (forked()) return Status::kForked;
  const Status status = wait_for(requests_.interrupted);
  if (requests_.interrupted->active) return status;
  requests_.interrupted = nullptr;
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
  const Call call{.collective = Collective::kReduce,
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
  const Call call{
      .collective = Collective::kBroadcast, .root = root, .bytes = bytes, .order = Call::kLineOrder};
  const void* in = rank_ == root ? data : nullptr;
  void* out = rank_ == root ? nullptr : data;
  if (bytes <= 8) return move<Load::kOneWord>(PlanSlot::kBroadcast8, call, in, out);
  return move<Load::kWords>(PlanSlot::kBroadcast56, call, in, out);
}

}  // namespace fermata::exec
