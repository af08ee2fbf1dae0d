// Requests that continue with the others' length, or as the others' line call.
#include <stdlib.h>

#include <algorithm>
#include <new>

#include "exec/fold.hpp"
#include "exec/lengths.hpp"

namespace fermata::exec {
namespace {

// True if this member gets a result, and no other member's result depends on its length.
bool gets(const Call& call, std::uint32_t rank) {
  return (call.collective == Collective::kBroadcast && call.root != rank) ||
         (call.collective == Collective::kReduce && call.root == rank);
}

}  // namespace

// Looks up call `number` at the members from which the data come. kRetracted: their call differs, and only in
// its length. kPending: some member has not published it yet. kNotFound: some member's call is too old to be
// known. kOk: none of these.
Status Lengths::find_theirs(const Call& call, std::uint64_t number, std::uint64_t* theirs) const {
  const bool inward = call.inward();
  const std::uint32_t first = inward ? 0 : call.root, end = inward ? team_.members() : call.root + 1;
  bool any = false, unsaid = false;
  for (std::uint32_t r = first; r < end; ++r) {
    std::uint64_t told;
    if (r == seat_.rank) continue;
    const Recalled recalled = recall<RealAtomics>(team_.status(r), number, told);
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

bool Lengths::adapts(BlockRequest* r) {
  if (r->operation.status() != Status::kMismatch) [[likely]]
    return false;
  const bool is_retracted = !seat_.over_hosts && may_settle(r);  // then its caller repeats it
  const std::uint64_t bytes = r->operation.their_bytes();
  return !is_retracted && bytes != 0 && adapts_to(r, bytes);
}

bool Lengths::adapts_to(BlockRequest* r, std::uint64_t bytes) {
  const bool adapted = log_.is_bounded() && r->ordered && gets(r->call, seat_.rank) &&
                       r->operation.untouched() && r->adapt != nullptr && r->adapt(r, bytes);
  r->adapted = r->adapted || adapted;
  return adapted;
}

// The first request may wait for ever because of its length: the others make it as a line call, or move it
// through other rings. kRetracted: `call` is the others' call.
Status Lengths::find_firsts(Call* call) {
  const BlockRequest* const r = queues_.ordered.first;
  std::uint64_t theirs = 0;
  if (r == nullptr || !log_.is_bounded() || is_only_call() || !gets(r->call, seat_.rank)) return Status::kOk;
  const Status found = seat_.over_hosts ? Status::kNotFound : find_theirs(r->call, r->number, &theirs);
  if (found == Status::kNotFound)
    return find_come(r->call, r, call) == seat_.rank ? Status::kOk : Status::kRetracted;
  if (found == Status::kRetracted) *call = Call::unpack(theirs);
  return found;
}

Status Lengths::settle_begun(BlockRequest* r) {
  if (may_settle(r) || r->operation.status() != Status::kMismatch) return Status::kOk;
  Call call;
  const Status found = find_firsts(&call);
  if (found == Status::kOk && r->operation.untouched() &&
      may_come_later(r->call, r->number, first_overtaken_))
    return Status::kPending;
  if (found != Status::kRetracted) return found;
  const bool on_line = call.order == Call::kLineOrder;
  // Blocks are adapted only once, in case a faulty member changes its length again.
  if ((on_line || !r->adapted) && takes(r, call)) return Status::kRetracted;
  // The present call has counted the line's episode. It is retracted, and then this request takes the line.
  return on_line && meets_first() == Status::kRetracted ? Status::kPending : Status::kOk;
}

// Continues a request with the others' call, in slots or in blocks. False: it cannot.
bool Lengths::takes(BlockRequest* r, const Call& theirs) {
  return theirs.order == Call::kLineOrder ? start_ride(r, theirs) : adapts_to(r, theirs.bytes);
}

Status Lengths::adapt_first() {
  Call call;
  const Status found = find_firsts(&call);
  if (found == Status::kRetracted) takes(queues_.ordered.first, call);
  return found;
}

// The present line call has met another tag. It belongs to the first request if the others make that request
// as a line call. kRetracted: it does; kOk: it does not; kPending: not known yet.
Status Lengths::meets_first() {
  Call call;
  const Status found = seat_.outstanding() && ride_ == nullptr ? find_firsts(&call) : Status::kOk;
  if (found != Status::kRetracted || call.order != Call::kLineOrder)
    return found == Status::kPending ? found : Status::kOk;
  const bool one = call.bytes <= 8;
  TeamMemory line;
  const Step* const steps = lines_.look_at(slot_for(call.collective, call.bytes), call.root, &line);
  const bool met = steps != nullptr && line.region == lines_.memory().region &&
                   queues_.ordered.first->episodes[one ? 0 : 1] + 1 == lines_.cursor().episode();
  return met ? Status::kRetracted : Status::kOk;
}

// Over several hosts the others' status lines cannot be read, and a status line keeps only the latest calls.
// But a piece or a slot of the others may have come. Returns the rank whose data have another length, or this
// member's rank if there is none. request: the request whose call is compared; null: this member's last call.
std::uint32_t Lengths::find_come(const Call& own, const BlockRequest* request, Call* theirs) {
  *theirs = own;
  theirs->order = Call::kAnyOrder;
  History before = log_.history(), with = log_.history();
  if (request == nullptr) {
    before.remove(Call::without_length(own.packed()));
  } else {
    before.restore(request->before);
    with = before;
    with.add(Call::without_length(own.packed()));
  }
  for (std::uint32_t r = 0; r < team_.members() && queues_.channel.base != nullptr; ++r) {
    if (r == seat_.rank) continue;
    theirs->bytes = BlockOperation::length_come(queues_.channel, {r, seat_.rank}, with.digest() >> 1);
    if (theirs->bytes != 0 && theirs->bytes != own.bytes) return r;
  }
  if (own.collective == Collective::kBroadcast) theirs->type = 0;
  if (own.collective == Collective::kBroadcast || own.collective == Collective::kReduce)
    theirs->order = Call::kLineOrder;
  for (const bool one : {true, false}) {
    TeamMemory line;
    const PlanSlot slot =
        slot_for(own.inward() ? Collective::kReduce : Collective::kBroadcast, one ? 8 : kLinePayload);
    const Step* step = lines_.look_at(slot, own.root, &line);
    // the present call's own episode
    const bool here = request == nullptr && seat_.outstanding() && line.region == lines_.memory().region;
    const std::uint64_t done =
        request != nullptr ? request->episodes[one ? 0 : 1] : lines_.plan(slot).episodes[own.root];
    const std::uint64_t episode = done + (here ? 0 : 1);
    for (; step != nullptr && step->code != Code::kEnd; ++step) {
      const std::uint64_t come = TeamCursor::come_at(line, *step, episode);
      for (theirs->bytes = 0; theirs->bytes <= kLinePayload; ++theirs->bytes)
        if (theirs->bytes != own.bytes &&
            come == Header::of(episode, before.tag(History::own_tag(theirs->packed()))).bits)
          return line.swapped(step->peer);
    }
  }
  return seat_.rank;
}

void Lengths::count_episodes(BlockRequest* r) const {
  if (!gets(r->call, seat_.rank)) return;
  for (const bool one : {true, false}) {
    const Bound& plan = lines_.plan(slot_for(r->call.collective, one ? 8 : kLinePayload));
    if (plan.steps != nullptr) r->episodes[one ? 0 : 1] = plan.episodes[r->call.root];
  }
}

// Carries out the request as a line call, like the others. False: not possible.
bool Lengths::start_ride(BlockRequest* r, const Call& call) {
  const bool one = call.bytes <= 8, folds = call.collective == Collective::kReduce;
  // no correct member publishes these
  if (folds && (call.op >= kOpCount || call.type >= kTypeCount)) return false;
  const PlanSlot slot = slot_for(call.collective, call.bytes);
  const Bound& plan = lines_.plan(slot);
  TeamMemory line;
  const Step* const steps = lines_.look_at(slot, call.root, &line);
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
  to.carried.words = one ? 1 : words;
  if (folds) to.carried.folds = folds_of(static_cast<Op>(call.op), static_cast<Type>(call.type));
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
    if (gets(later->call, seat_.rank) && later->call.collective == call.collective &&
        later->call.root == call.root)
      ++later->episodes[one ? 0 : 1];
  r->operation.forget_mismatch();
  ride_ = &to;
  return true;
}

bool Lengths::advance_ride() {
  BlockRequest* const r = queues_.ordered.first;
  Ride& ride = *ride_;
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
  free(ride_);
  ride_ = nullptr;
  return true;
}

Lengths::~Lengths() { free(ride_); }

}  // namespace fermata::exec
