// Calls that this member has begun with another length than the other members. A member that only gives data
// does not notice the difference. A member that gets data retracts the call: it undoes the start, repeats the
// call with the others' length, and takes the elements that fit. It can retract a call as long as it has
// neither sent nor taken anything.
#include <stdlib.h>

#include <algorithm>
#include <new>

#include "exec/member.hpp"

namespace fermata::exec {
namespace {

constexpr std::int64_t kLongNs = 100'000'000;  // from the first test until others' calls are checked
constexpr std::uint32_t kTestsOfLook = 64;     // between two reads of the clock

// True if this member gets a result, and no other member's result depends on its length.
bool gets(const Call& call, std::uint32_t rank) {
  return (call.collective == Collective::kBroadcast && call.root != rank) ||
         (call.collective == Collective::kReduce && call.root == rank);
}

PlanSlot slot_on_line(Collective collective, bool one_word) {
  if (collective == Collective::kReduce) return one_word ? PlanSlot::kReduce8 : PlanSlot::kReduce56;
  return one_word ? PlanSlot::kBroadcast8 : PlanSlot::kBroadcast56;
}

}  // namespace

// Looks up call `number` at the members from which the data come. kRetracted: their call differs, and only in
// its length. kPending: some member has not published it yet. kNotFound: some member's call is too old to be
// known. kOk: none of these.
Status Member::find_theirs(const Call& call, std::uint64_t number, std::uint64_t* theirs) const {
  const bool inward = call.inward();
  const std::uint32_t first = inward ? 0 : call.root, end = inward ? team_->members() : call.root + 1;
  bool any = false, unsaid = false;
  for (std::uint32_t r = first; r < end; ++r) {
    std::uint64_t told;
    if (r == rank_) continue;
    const Recalled recalled = recall<RealAtomics>(team_->status(r), number, told);
    if (recalled == Recalled::kForgotten) return Status::kNotFound;
    unsaid = unsaid || recalled == Recalled::kYetToCome;
    if (recalled == Recalled::kYetToCome) continue;
    if (!Call::only_lengths_differ(call.packed(), told) || Call::as_long(call.packed(), told))
      return Status::kOk;
    if (any && !Call::as_long(told, *theirs)) return Status::kOk;
    *theirs = told;
    any = true;
  }
  return unsaid ? Status::kPending : any ? Status::kRetracted : Status::kOk;
}

// If a request has met a piece of another length, continues with that length. False: it has not met one, or
// cannot continue.
bool Member::adapts(BlockRequest* r) {
  if (r->operation.status() != Status::kMismatch) [[likely]]
    return false;
  const bool is_retracted = !over_hosts_ && may_settle(r);  // then its caller repeats it
  const std::uint64_t bytes = r->operation.their_bytes();
  return !is_retracted && bytes != 0 && adapts_to(r, bytes);
}

bool Member::adapts_to(BlockRequest* r, std::uint64_t bytes) {
  const bool adapted = bounded_ && r->ordered && gets(r->call, rank_) && r->operation.untouched() &&
                       r->adapt != nullptr && r->adapt(r, bytes);
  r->adapted = r->adapted || adapted;
  return adapted;
}

// The first request may wait for ever because of its length: the others make it as a line call, or move it
// through other rings. kRetracted: `call` is the others' call.
Status Member::find_firsts(Call* call) {
  const BlockRequest* const r = requests_.ordered.first;
  std::uint64_t theirs = 0;
  if (r == nullptr || !bounded_ || is_only_call() || !gets(r->call, rank_)) return Status::kOk;
  const Status found = over_hosts_ ? Status::kNotFound : find_theirs(r->call, r->number, &theirs);
  if (found == Status::kNotFound)
    return find_come(r->call, r, call) == rank_ ? Status::kOk : Status::kRetracted;
  if (found == Status::kRetracted) *call = Call::unpack(theirs);
  return found;
}

// For the first request after it began, if it has met a piece of another call. It is a later call's piece if
// the others make this request as a line call. kRetracted: the request continues with the others' call.
// kPending: some member has not published its call yet.
Status Member::settle_begun(BlockRequest* r) {
  if (may_settle(r) || r->operation.status() != Status::kMismatch) return Status::kOk;
  Call call;
  const Status found = find_firsts(&call);
  if (found == Status::kOk && r->operation.untouched() &&
      may_come_later(r->call, r->number, differing_.first_overtaken))
    return Status::kPending;
  if (found != Status::kRetracted) return found;
  const bool on_line = call.order == Call::kLineOrder;
  // Blocks are adapted only once, in case a faulty member changes its length again.
  if ((on_line || !r->adapted) && takes(r, call)) return Status::kRetracted;
  // The present call has counted the line's episode. It is retracted, and then this request takes the line.
  return on_line && meets_first() == Status::kRetracted ? Status::kPending : Status::kOk;
}

// Continues a request with the others' call, in slots or in blocks. False: it cannot.
bool Member::takes(BlockRequest* r, const Call& theirs) {
  return theirs.order == Call::kLineOrder ? ride(r, theirs) : adapts_to(r, theirs.bytes);
}

// Calls find_firsts(), and continues the first request with the call that was found, if it can.
Status Member::adapt_first() {
  Call call;
  const Status found = find_firsts(&call);
  if (found == Status::kRetracted) takes(requests_.ordered.first, call);
  return found;
}

// The present line call has met another tag. It belongs to the first request if the others make that request
// as a line call. kRetracted: it does; kOk: it does not; kPending: not known yet.
Status Member::meets_first() {
  Call call;
  const Status found = outstanding() && differing_.ride == nullptr ? find_firsts(&call) : Status::kOk;
  if (found != Status::kRetracted || call.order != Call::kLineOrder)
    return found == Status::kPending ? found : Status::kOk;
  const bool one = call.bytes <= 8;
  TeamMemory line;
  const Step* const steps = on_line(slot_on_line(call.collective, one), call.root, &line);
  const bool met = steps != nullptr && line.region == memory_.region &&
                   requests_.ordered.first->episodes[one ? 0 : 1] + 1 == cursor_.episode();
  return met ? Status::kRetracted : Status::kOk;
}

// Over several hosts the others' status lines cannot be read, and a status line keeps only the latest calls.
// But a piece or a slot of the others may have come. Returns the rank whose data have another length, or this
// member's rank if there is none. request: the request whose call is compared; null: this member's last call.
std::uint32_t Member::find_come(const Call& own, const BlockRequest* request, Call* theirs) {
  *theirs = own;
  theirs->order = Call::kAnyOrder;
  History before = history_, with = history_;
  if (request == nullptr) {
    before.remove(Call::without_length(own.packed()));
  } else {
    before.restore(request->before);
    with = before;
    with.add(Call::without_length(own.packed()));
  }
  for (std::uint32_t r = 0; r < team_->members() && channel_.base != nullptr; ++r) {
    if (r == rank_) continue;
    theirs->bytes = BlockOperation::length_come(channel_, {r, rank_}, with.digest() >> 1);
    if (theirs->bytes != 0 && theirs->bytes != own.bytes) return r;
  }
  if (own.collective == Collective::kBroadcast) theirs->type = 0;
  if (own.collective == Collective::kBroadcast || own.collective == Collective::kReduce)
    theirs->order = Call::kLineOrder;
  for (const bool one : {true, false}) {
    TeamMemory line;
    const PlanSlot slot = slot_on_line(own.inward() ? Collective::kReduce : Collective::kBroadcast, one);
    const Step* step = on_line(slot, own.root, &line);
    // the present call's own episode
    const bool here = request == nullptr && outstanding() && line.region == memory_.region;
    const std::uint64_t done = request != nullptr
                                   ? request->episodes[one ? 0 : 1]
                                   : bound_[static_cast<std::uint32_t>(slot)].episodes[own.root];
    const std::uint64_t episode = done + (here ? 0 : 1);
    for (; step != nullptr && step->code != Code::kEnd; ++step) {
      const std::uint64_t come = TeamCursor::come_at(line, *step, episode);
      for (theirs->bytes = 0; theirs->bytes <= kLinePayload; ++theirs->bytes)
        if (theirs->bytes != own.bytes &&
            come == Header::of(episode, before.tag(History::own_tag(theirs->packed()))).bits)
          return line.swapped(step->peer);
    }
  }
  return rank_;
}

void Member::count_episodes(BlockRequest* r) const {
  if (!gets(r->call, rank_)) return;
  for (const bool one : {true, false}) {
    const Bound& plan = bound_[static_cast<std::uint32_t>(slot_on_line(r->call.collective, one))];
    if (plan.steps != nullptr) r->episodes[one ? 0 : 1] = plan.episodes[r->call.root];
  }
}

// Returns this member's program of a plan with that root, and sets `memory` for it.
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

// Carries out the request as a line call, like the others. False: not possible.
bool Member::ride(BlockRequest* r, const Call& call) {
  const bool one = call.bytes <= 8, folds = call.collective == Collective::kReduce;
  // no correct member publishes these
  if (folds && (call.op >= kOpCount || call.type >= kTypeCount)) return false;
  const PlanSlot slot = slot_on_line(call.collective, one);
  const Bound& plan = bound_[static_cast<std::uint32_t>(slot)];
  TeamMemory line;
  const Step* const steps = on_line(slot, call.root, &line);
  // Only if no other call has used these slots since: it has taken this request's data.
  if (steps == nullptr || plan.episodes[call.root] != r->episodes[one ? 0 : 1] || !r->operation.untouched())
    return false;
  void* const memory = aligned_alloc(alignof(Ride), sizeof(Ride));
  if (memory == nullptr) return false;
  Ride& to = *new (memory) Ride;
  to.memory = line;
  const BlockCall& own = r->operation.call();
  const std::uint32_t words = words_of(call.bytes);
  to.bytes = call.bytes;
  to.load = one ? Load::kOneWord : Load::kWords;
  to.carried = {.words = one ? 1 : words,
                .fold = folds ? fold_of(static_cast<Op>(call.op), static_cast<Type>(call.type)) : nullptr};
  if (folds && !one && log2_size_of(static_cast<Type>(call.type)) > 3) carry_wide(to.carried, call);
  const std::uint64_t mine = r->call.bytes;
  if (folds) copy_bytes(to.regs[0], own.input.base, static_cast<std::uint32_t>(std::min(mine, to.bytes)));
  History history;
  history.restore(r->before);
  const std::uint64_t tag = history.tag(History::own_tag(call.packed()));
  const auto word = [&](std::uint32_t i) { return to.regs[0][i]; };
  if (one) to.cursor.start<Load::kOneWord>(to.memory, steps, ++plan.episodes[call.root], tag, 1, word);
  else to.cursor.start<Load::kWords>(to.memory, steps, ++plan.episodes[call.root], tag, words, word);
  for (BlockRequest* later = r->next; later != nullptr; later = later->next)
    if (gets(later->call, rank_) && later->call.collective == call.collective &&
        later->call.root == call.root)
      ++later->episodes[one ? 0 : 1];
  r->operation.forget_mismatch();
  differing_.ride = &to;
  return true;
}

// Advances the line call of the first request. True: the request is over.
bool Member::advance_ride() {
  BlockRequest* const r = requests_.ordered.first;
  Ride& ride = *differing_.ride;
  const bool over = ride.load == Load::kOneWord
                        ? ride.cursor.advance<Load::kOneWord>(ride.memory, ride.carried, ride.regs, 0)
                        : ride.cursor.advance<Load::kWords>(ride.memory, ride.carried, ride.regs, 0);
  if (!over) return false;
  const std::uint64_t mine = r->call.bytes;
  if (ride.cursor.status() == Status::kOk) {
    copy_bytes(r->operation.call().output.base, ride.regs[0],
               static_cast<std::uint32_t>(std::min(mine, ride.bytes)));
    r->operation.end(ride.bytes > mine);
  } else {
    r->operation.fail(ride.memory.swapped(ride.cursor.at().peer));
  }
  free(differing_.ride);
  differing_.ride = nullptr;
  return true;
}

// For a line call that is only tested: makes the checks of a wait. kRetracted: repeat it with the others'
// length. kOk: depart() ends the call, or finds the error. kPending: the call is not over.
Status Member::look_at_line() {
  const bool retractable = bounded_ && differing_.splits && cursor_.is_at_start() && !differing_.again;
  if (cursor_.status() != Status::kOk) {
    const Status settled = settle_met_length(retractable);
    if (settled != Status::kPending) return settled == Status::kRetracted ? retract_line() : Status::kOk;
  }
  if (++differing_.tests % kTestsOfLook != 0) return Status::kPending;
  const std::int64_t now = os::now_ns();
  if (differing_.tested != sequence_) differing_.tested = sequence_, differing_.since_ns = now;
  if (now - differing_.since_ns < kLongNs) return Status::kPending;
  differing_.since_ns = now;
  const Hold hold(*this);
  const Status settled = settle_length(retractable);
  if (settled != Status::kOk && settled != Status::kPending)
    return settled == Status::kRetracted ? retract_line() : settled;
  const Status seen = look_at_others(kLongNs, settled == Status::kPending);
  return seen == Status::kOk ? Status::kPending : seen;
}

// Repeats differing_.split, which was retracted. kPending: it runs again as a line call; kRetracted: its
// caller repeats it as a block call.
Status Member::make_again() {
  differing_.splits = false;
  if (!differing_.on_line) return Status::kRetracted;
  Call call = differing_.split.call;
  call.bytes = differing_.bytes;
  const bool has_input = call.collective == Collective::kReduce;
  const Status begun = arrive_with(call, has_input ? differing_.split.in : nullptr, differing_.result);
  if (begun != Status::kOk) return begun;
  differing_.again = true;
  return Status::kPending;
}

Status Member::end_again() {
  differing_.again = false;
  const std::uint64_t both = std::min(differing_.split.call.bytes, differing_.bytes);
  if (differing_.split.out != nullptr)
    copy_bytes(differing_.split.out, differing_.result, static_cast<std::uint32_t>(both));
  return differing_.bytes > differing_.split.call.bytes ? Status::kTruncated : Status::kOk;
}

}  // namespace fermata::exec
