// Calls that were begun, and to which others gave another length. Whoever has the data, or gives it, knows nothing of that; the member that
// gets it does the call with their length, and takes what it has room for. Possible as long as it has neither sent nor taken anything.
#include <stdlib.h>

#include <algorithm>
#include <new>

#include "exec/member.hpp"

namespace fermata::exec {
namespace {

constexpr std::int64_t kLongNs = 40'000'000;  // before others' calls are looked at
constexpr std::uint32_t kTestsOfLook = 64;    // between looks at the clock

// Does this member get data of others, and give none on that its own arguments bound?
bool gets(const Call& call, std::uint32_t rank) {
  return (call.kind == Kind::kBroadcast && call.root != rank) || (call.kind == Kind::kReduce && call.root == rank);
}

PlanSlot slot_on_line(Kind kind, bool one_word) {
  if (kind == Kind::kReduce) return one_word ? PlanSlot::kReduce8 : PlanSlot::kReduce56;
  return one_word ? PlanSlot::kBroadcast8 : PlanSlot::kBroadcast56;
}

}  // namespace

// What those from whom its data come have said of the call with that number, if that differs in nothing but the length.
bool Member::find_theirs(const Call& call, std::uint64_t number, std::uint64_t* theirs) const {
  const bool inward = call.kind == Kind::kReduce;
  const std::uint32_t first = inward ? 0 : call.root, end = inward ? team_->members() : call.root + 1;
  bool any = false;
  for (std::uint32_t r = first; r < end; ++r) {
    std::uint64_t said;
    if (r == rank_) continue;
    if (!recall<RealAtomics>(team_->status(r), number, said) || !Call::only_lengths_differ(call.packed(), said)) return false;
    if (any && said != *theirs) return false;
    *theirs = said;
    any = true;
  }
  return any;
}

// A request that has met a piece of another length goes on with that. False: it hasn't, or can't.
bool Member::adapts(BlockRequest* r) {
  if (r->operation.status() != Status::kMismatch) [[likely]]
    return false;
  const bool is_retracted = r == call_ && !over_hosts_ && (ordered_.first == nullptr || is_only_call());  // and made again by its caller
  const std::uint64_t bytes = r->operation.their_bytes();
  return !is_retracted && bytes != 0 && adapts_to(r, bytes);
}

bool Member::adapts_to(BlockRequest* r, std::uint64_t bytes) {
  return bounded_ && r->ordered && gets(r->call, rank_) && r->operation.untouched() && r->adapt != nullptr && r->adapt(r, bytes);
}

// The first request may wait in vain because of a length: others have it on a line, or in other rings.
bool Member::adapt_first() {
  BlockRequest* const r = ordered_.first;
  std::uint64_t theirs = 0;
  if (r == nullptr || !bounded_ || over_hosts_ || is_only_call() || !gets(r->call, rank_)) return false;
  if (!find_theirs(r->call, r->number, &theirs)) return false;
  const Call call = Call::unpack(theirs);
  return call.order == Call::kLineOrder ? ride(r, call) : adapts_to(r, call.bytes);
}

// Over several hosts what others say of their calls can't be read. But something of theirs may have come: a piece, or a line.
bool Member::find_come(const Call& own, Call* theirs) {
  *theirs = own;
  theirs->order = Call::kAnyOrder;
  const bool inward = own.kind == Kind::kReduce || own.kind == Kind::kGather;
  History before = history_;
  before.remove(Call::without_length(own.packed()));
  for (std::uint32_t r = 0; r < team_->members() && channel_.base != nullptr; ++r) {
    if (r == rank_) continue;
    theirs->bytes = BlockOperation::length_come(channel_, {r, rank_}, history_.digest() >> 1);
    if (theirs->bytes != 0) return theirs->bytes != own.bytes;
  }
  if (own.kind == Kind::kBroadcast) theirs->type = 0;
  if (own.kind == Kind::kBroadcast || own.kind == Kind::kReduce) theirs->order = Call::kLineOrder;
  for (const bool one : {true, false}) {
    TeamMemory line;
    const PlanSlot slot = slot_on_line(inward ? Kind::kReduce : Kind::kBroadcast, one);
    const Step* const steps = on_line(slot, own.root, &line);
    if (steps == nullptr) continue;
    const bool here = outstanding() && line.region == memory_.region;  // this is what the present call awaits
    const std::uint64_t episode = bound_[static_cast<std::uint32_t>(slot)].episodes[own.root] + (here ? 0 : 1);
    const std::uint64_t come = TeamCursor::first_come(line, steps, episode);
    for (theirs->bytes = 0; theirs->bytes <= kLinePayload; ++theirs->bytes)
      if (theirs->bytes != own.bytes && come == Header::of(episode, before.tag(History::own_tag(theirs->packed()))).bits) return true;
  }
  return false;
}

// Over several hosts: who does the present call, which is on a line and synchronizes, by way of blocks, since it has another length there;
// its own rank: nobody whose piece has come.
std::uint32_t Member::differs_abroad() const {
  std::uint64_t own;
  if (!bounded_ || !over_hosts_ || channel_.base == nullptr || !recall<RealAtomics>(*status_, sequence_, own)) return rank_;
  const Call call = Call::unpack(own);
  if (call.kind == Kind::kBarrier || !synchronizes(call.kind)) return rank_;
  History with = history_;
  with.add(Call::without_length(own));
  for (std::uint32_t r = 0; r < team_->members(); ++r)
    if (r != rank_ && BlockOperation::length_come(channel_, {r, rank_}, with.digest() >> 1) != 0) return r;
  return rank_;
}

void Member::count_episodes(BlockRequest* r) const {
  if (!gets(r->call, rank_)) return;
  for (const bool one : {true, false}) {
    const Bound& plan = bound_[static_cast<std::uint32_t>(slot_on_line(r->call.kind, one))];
    if (plan.steps != nullptr) r->episodes[one ? 0 : 1] = plan.episodes[r->call.root];
  }
}

// This member's program of a plan with that root, and the memory that it is for.
const Step* Member::on_line(PlanSlot slot, std::uint32_t root, TeamMemory* memory) {
  const Bound& plan = bound_[static_cast<std::uint32_t>(slot)];
  if (plan.steps == nullptr) return nullptr;
  const TeamMemory present = memory_;
  memory_.region = plan.region + root * plan.region_bytes;
  memory_.root = root;
  const bool own = root == 0 || (!over_hosts_ && rank_ != 0 && rank_ != root);
  const Step* const steps = own ? plan.steps : steps_of_root(slot, root);
  *memory = memory_;
  memory_ = present;
  return steps;
}

// The others have the request's call on a line.
bool Member::ride(BlockRequest* r, const Call& call) {
  const bool one = call.bytes <= 8, folds = call.kind == Kind::kReduce;
  const PlanSlot slot = slot_on_line(call.kind, one);
  const Bound& plan = bound_[static_cast<std::uint32_t>(slot)];
  TeamMemory line;
  const Step* const steps = on_line(slot, call.root, &line);
  // Nothing else there since: later calls take what is this one's.
  if (steps == nullptr || plan.episodes[call.root] != r->episodes[one ? 0 : 1] || !r->operation.untouched()) return false;
  void* const memory = aligned_alloc(alignof(Ride), sizeof(Ride));
  if (memory == nullptr) return false;
  Ride& to = *new (memory) Ride;
  to.memory = line;
  const BlockCall& own = r->operation.call();
  const std::uint32_t words = words_of(call.bytes);
  to.bytes = call.bytes;
  to.load = one ? Load::kOneWord : Load::kWords;
  to.carried = {.words = one ? 1 : words, .fold = folds ? fold_of(static_cast<Op>(call.op), static_cast<Type>(call.type)) : nullptr};
  if (folds && !one && log2_size_of(static_cast<Type>(call.type)) > 3) carry_wide(to.carried, call);
  const std::uint64_t mine = r->call.bytes;
  if (folds) copy_bytes(to.regs[0], own.input.base, static_cast<std::uint32_t>(std::min(mine, to.bytes)));
  History history;
  history.restore(r->before);
  const std::uint64_t tag = history.tag(History::own_tag(call.packed()));
  const auto word = [&](std::uint32_t i) { return to.regs[0][i]; };
  if (one) to.cursor.start<Load::kOneWord>(to.memory, steps, ++plan.episodes[call.root], tag, 1, word);
  else to.cursor.start<Load::kWords>(to.memory, steps, ++plan.episodes[call.root], tag, words, word);
  differing_.ride = &to;
  return true;
}

// True: the first request, which has it, is over.
bool Member::advance_ride() {
  BlockRequest* const r = ordered_.first;
  Ride& ride = *differing_.ride;
  const bool over = ride.load == Load::kOneWord ? ride.cursor.advance<Load::kOneWord>(ride.memory, ride.carried, ride.regs, 0)
                                                : ride.cursor.advance<Load::kWords>(ride.memory, ride.carried, ride.regs, 0);
  if (!over) return false;
  const std::uint64_t mine = r->call.bytes;
  if (ride.cursor.status() == Status::kOk) {
    copy_bytes(r->operation.call().output.base, ride.regs[0], static_cast<std::uint32_t>(std::min(mine, ride.bytes)));
    r->operation.end(ride.bytes > mine);
  } else {
    r->operation.fail(ride.memory.swapped(ride.cursor.at().peer));
  }
  free(differing_.ride);
  differing_.ride = nullptr;
  return true;
}

// Of a call on lines that is tested for. kRetracted: it is to be made again with their length.
Status Member::look_at_line() {
  if (!bounded_ || over_hosts_) return Status::kOk;
  const bool met = cursor_.status() != Status::kOk;
  if (met) {
    const Status settled = settle_met_length(cursor_.is_at_start() && !differing_.again);
    return settled == Status::kRetracted ? retract_line() : Status::kOk;  // else depart() finds what is wrong
  }
  if (++differing_.tests % kTestsOfLook != 0) return Status::kOk;
  const std::int64_t now = os::now_ns();
  if (differing_.tested != sequence_) differing_.tested = sequence_, differing_.since_ns = now;
  if (now - differing_.since_ns < kLongNs) return Status::kOk;
  differing_.since_ns = now;
  const Status settled = settle_length(cursor_.is_at_start() && !differing_.again);
  return settled == Status::kRetracted ? retract_line() : settled;
}

// split_ was retracted. kPending: it is on a line again; kRetracted: it is for its caller to make it again, by way of blocks.
Status Member::make_again() {
  differing_.splits = false;
  if (!differing_.on_line) return Status::kRetracted;
  Call call = differing_.split.call;
  call.bytes = differing_.bytes;
  const bool has_input = call.kind == Kind::kReduce;
  const Status begun = arrive_with(call, has_input ? differing_.split.in : nullptr, differing_.result);
  if (begun != Status::kOk) return begun;
  differing_.again = true;
  return Status::kPending;
}

Status Member::end_again() {
  differing_.again = false;
  const std::uint64_t both = std::min(differing_.split.call.bytes, differing_.bytes);
  if (differing_.split.out != nullptr) copy_bytes(differing_.split.out, differing_.result, static_cast<std::uint32_t>(both));
  return differing_.bytes > differing_.split.call.bytes ? Status::kTruncated : Status::kOk;
}

}  // namespace fermata::exec
