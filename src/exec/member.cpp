// Calls: from arguments to a started cursor, and from a finished cursor to a result.
#include "exec/member.hpp"

namespace fermata::exec {

Status Member::break_team(Status status, const char* text) {
  diagnosis_.say("rank %u: %s", rank(), text);
  return seat_.give_up(diagnosis_.break_team(status, rank()));
}

Status Member::refuse_root() {
  return break_team(Status::kBroken,
                    "there is no memory for this root's plan, or another member has overwritten the plan");
}

Status Member::finish() {
  if (lines_.cursor().status() != Status::kOk) {
    const Status settled = lengths_.settle_met(lengths_.may_retract());
    if (settled == Status::kRetracted) return lengths_.retract_line();
    if (settled == Status::kPending) return wait();
    return settled != Status::kOk ? seat_.give_up(settled) : diagnosis_.met_another_call(lines_.peer());
  }
  if (lines_.is_collecting()) return Status::kOk;
  lines_.take();
  over();
  if (lengths_.again()) [[unlikely]]
    return lengths_.end_again();
  if (!tag_check_) return Status::kOk;
  tag_check_ = false;
  const std::uint64_t tags = lines_.result()[0];
  if (tags_agree(tags)) return Status::kOk;
  diagnosis_.say("tags differ: the largest is %u, the smallest %u", static_cast<std::uint32_t>(tags),
                 ~static_cast<std::uint32_t>(tags >> 32));
  return Status::kMismatch;
}

Status Member::other_barrier() {
  if (lines_.barrier_rounds() && seat_.is_open()) {
    prepare(PlanSlot::kBarrier, lines_.first_signals().barrier, Call{}.packed());
    return barrier();
  }
  if (lines_.barrier_carries()) return barrier_with_tag(0);
  const Status ready = start<Load::kNothing>(PlanSlot::kBarrier, Call{}, nullptr, 0);
  if (ready != Status::kOk) [[unlikely]]
    return ready;
  if (!lines_.advance<Load::kNothing>({}, waiter_.spins())) [[unlikely]] {
    lines_.set_pending(Load::kNothing);
    return wait();
  }
  if (lines_.cursor().status() != Status::kOk) [[unlikely]]
    return finish();
  over();
  return Status::kOk;
}

// Starts a barrier that carries 8 bytes. They hold tags; if the barrier's own plan has words, they hold only
// the tag of the history.
Status Member::start_barrier_with(std::uint64_t folded) {
  const PlanSlot slot = lines_.tagged() ? PlanSlot::kBarrier : PlanSlot::kAllreduce8;
  const Status ready = start<Load::kOneWord>(slot, Call{}, &folded, sizeof folded);
  if (ready != Status::kOk) return ready;
  lines_.set_pending(Load::kOneWord, {.words = 1, .folds = {.word = fold_tags}});
  tag_check_ = lines_.tagged();
  lines_.set_barrier_carries(tag_check_);
  return Status::kOk;
}

Status Member::barrier_with_tag(std::uint64_t folded) {
  const Status ready = start_barrier_with(folded);
  return ready == Status::kOk ? run() : ready;
}

Status Member::barrier_tagged(std::uint32_t tag) {
  if (!lines_.tagged()) return Status::kUnsupported;
  log_.line().tag.store(tag, std::memory_order_relaxed);  // order: relaxed: only for reports
  return barrier_with_tag(tag_register(tag));
}

Status Member::arrive() {
  const bool carries = lines_.barrier_carries();
  const Status ready =
      carries ? start_barrier_with(0) : start<Load::kNothing>(PlanSlot::kBarrier, Call{}, nullptr, 0);
  if (ready != Status::kOk) return ready;
  if (!carries) lines_.set_pending(Load::kNothing);
  lines_.advance(0);
  return Status::kOk;
}

Status Member::arrive_with(const Call& call, const void* in, void* out) {
  const bool one = call.bytes <= 8;
  const PlanSlot slot = slot_for(call.collective, call.bytes);
  Carried carried;
  const Status ready = one ? start_with<Load::kOneWord>(slot, call, in, carried)
                           : start_with<Load::kWords>(slot, call, in, carried);
  if (ready != Status::kOk) return ready;
  lines_.set_pending(one ? Load::kOneWord : Load::kWords, carried,
                     {out, static_cast<std::uint32_t>(call.bytes)});
  lengths_.set_splits();
  lines_.advance(0);
  return Status::kOk;
}

Status Member::test() {
  const Status now = usable();
  if (now != Status::kOk) return now;
  const bool waits = outstanding();
  const bool has_port = waits && team().port().is_connected();
  if (waits && queues_.interrupted != nullptr) {
    if (has_port) team().attend_port();
    return test_for(queues_.interrupted) == Status::kPending ? Status::kPending : Status::kOk;
  }
  bool over = waits && lines_.advance(0);
  if (has_port && !over) {  // a look at the port costs more than a short call's own part
    team().attend_port();
    over = lines_.advance(0);
  }
  if (over && (!lengths_.splits() || lines_.cursor().status() == Status::kOk)) return Status::kOk;
  const Status seen = waits ? lookout_.test_line() : Status::kOk;
  if (seen == Status::kOk && over) return seen;
  if (seen != Status::kOk && seen != Status::kPending)
    return seen == Status::kRetracted ? make_again() : seat_.give_up(seen);
  // Otherwise a member that only tests would not notice that the team is broken.
  const Status broken = diagnosis_.broken_status();
  if (broken == Status::kOk) return waits ? Status::kPending : Status::kOk;
  return seat_.give_up(broken);
}

Status Member::depart() {
  const Status now = usable();
  if (now != Status::kOk) return now;
  if (!outstanding() || queues_.interrupted != nullptr) return Status::kArgument;
  lengths_.depart();
  Status status = run();
  while (status == Status::kRetracted && (status = make_again()) == Status::kPending) status = run();
  lengths_.departed();
  return status;
}

// Repeats a split-phase call that was retracted. kPending: it runs again as a line call; kRetracted: its
// caller repeats it as a block call.
Status Member::make_again() {
  Call call;
  if (!lengths_.begins_again(&call)) return Status::kRetracted;
  const bool has_input = call.collective == Collective::kReduce;
  const Status begun = arrive_with(call, has_input ? lengths_.split().in : nullptr, lengths_.result());
  if (begun != Status::kOk) return begun;
  lengths_.set_again();
  return Status::kPending;
}

Status Member::resume() {
  if (queues_.interrupted == nullptr && (lengths_.splits() || !outstanding())) return depart();
  if (queues_.interrupted == nullptr) {
    if (const Status now = usable(); now != Status::kOk) return now;
    lengths_.look_anew();
    return run();
  }
  if (forked()) return Status::kForked;
  const Status status = wait_for(queues_.interrupted);
  if (queues_.interrupted->active) return status;
  queues_.interrupted = nullptr;
  if (seat_.broken() == Status::kOk) seat_.open();
  return status;
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
  const Status ready = start<L>(slot, call, in, bytes);
  if (ready != Status::kOk) return ready;
  if (lines_.advance<L>(carried, waiter_.spins()) && lines_.cursor().status() == Status::kOk) [[likely]] {
    lines_.take(taken);
    over();
    return Status::kOk;
  }
  lines_.set_pending(L, carried, taken);
  return run();
}

Status Member::collect(const Call& call, const void* in, const Carried& carried) {
  const auto bytes = static_cast<std::uint32_t>(call.bytes);
  const Status ready = start<Load::kWords>(PlanSlot::kAllreduce56, call, in, bytes);
  if (ready != Status::kOk) return ready;
  lines_.set_pending(Load::kWords, carried);
  lines_.set_collecting(true);
  return run();
}

Status Member::spread(const std::uint64_t (&words)[kPayloadWords], std::uint32_t count) {
  const Status now = usable();
  if (now != Status::kOk) return now;
  if (!outstanding() || !lines_.is_collecting() || count > lines_.carried_words()) return Status::kArgument;
  lines_.set_collecting(false);
  lines_.fill(words, sizeof words);
  lines_.advance(0);
  over();
  return Status::kOk;
}

Status Member::reduce(const void* in, void* out, std::uint32_t count, Type type, Op op, std::uint32_t root) {
  const auto bytes = static_cast<std::uint32_t>(count * size_of(type));
  const Call call{.collective = Collective::kReduce,
                  .type = static_cast<std::uint8_t>(type),
                  .op = static_cast<std::uint8_t>(op),
                  .root = root,
                  .bytes = bytes,
                  .order = Call::kLineOrder};
  if (rank() != root) out = nullptr;
  if (bytes <= 8) return move<Load::kOneWord>(PlanSlot::kReduce8, call, in, out);
  return move<Load::kWords>(PlanSlot::kReduce56, call, in, out);
}

Status Member::broadcast(void* data, std::uint32_t bytes, std::uint32_t root) {
  const Call call{
      .collective = Collective::kBroadcast, .root = root, .bytes = bytes, .order = Call::kLineOrder};
  const void* in = rank() == root ? data : nullptr;
  void* out = rank() == root ? nullptr : data;
  if (bytes <= 8) return move<Load::kOneWord>(PlanSlot::kBroadcast8, call, in, out);
  return move<Load::kWords>(PlanSlot::kBroadcast56, call, in, out);
}

}  // namespace fermata::exec
