// Requests in which members give different lengths. A request whose data come from members that gave another
// length goes on with that length.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "team/blocks.hpp"

namespace fermata::team {

ZeroedBytes zeroed_bytes(std::size_t bytes) {
  ZeroedBytes made(static_cast<std::byte*>(std::calloc(bytes != 0 ? bytes : 1, 1)));
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

// Must not wait, since a member also calls it while it waits for others.
bool adapt(exec::BlockRequest* core, std::uint64_t bytes) {
  auto& r = *static_cast<fermata_request*>(core->context);
  const auto make = [&] {
    if (r.checked.irregular || bytes % r.checked.element != 0) return static_cast<int>(FERMATA_ERR_MISMATCH);
    Checked c = r.checked;
    c.largest = bytes / c.element;
    c.mean = bytes;
    auto program = program_of(blocks_of(r.member), r.member, c, r.given.root);
    if (!program) return fail(program.error());
    auto theirs = std::make_unique<Theirs>();
    theirs->bytes = bytes;
    theirs->program = std::move(*program);
    theirs->out = zeroed_bytes(bytes);
    exec::BlockCall call = core->operation.call();
    call.output = {theirs->out.get(), c.largest};
    if (folds(c.collective)) {
      theirs->in = zeroed_bytes(bytes);
      if (const std::size_t both = std::min<std::size_t>(bytes, r.checked.mean); both != 0)
        std::memcpy(theirs->in.get(), call.input.base, both);
      call.input = {theirs->in.get(), c.largest};
    } else {
      call.input = call.output;
    }
    call.bytes = bytes;
    const CompiledBlocks& compiled = *theirs->program;
    decltype(r.work) work(std::max<std::size_t>(r.work.size(), compiled.transfers.size()));
    // Nothing after this can fail.
    std::byte* const space = reserve(r.space, r.space_bytes, compiled.program.space_blocks * bytes);
    r.work.swap(work);
    core->operation.prepare(compiled.program, call, r.member->member->shared_channel(), r.work.data(), space,
                            c.largest);
    r.theirs = std::move(theirs);
    r.filled = false;
    return static_cast<int>(FERMATA_OK);
  };
  return guarded(make) == FERMATA_OK;
}

void leave_memory(fermata_request& r) {
  for (auto* own : {&r.space, &r.input}) static_cast<void>(own->release());
  r.space_bytes = r.input_bytes = 0;
  if (r.theirs == nullptr) return;
  for (ZeroedBytes* bytes : {&r.theirs->in, &r.theirs->out}) static_cast<void>(bytes->release());
}

void end_with_theirs(fermata_request& r) {
  const std::unique_ptr<Theirs> theirs = std::move(r.theirs);
  const std::size_t own = r.checked.mean, both = std::min(own, theirs->bytes);
  if (r.core.status != Status::kOk) return;
  if (both != 0) std::memcpy(r.given.out, theirs->out.get(), both);
  if (theirs->bytes > own) r.core.status = Status::kTruncated;
}

int move_split(fermata_member* member) {
  const exec::Split& split = member->member->lengths().split();
  return guarded([&] {
    auto moved = std::make_shared<Moved>();
    std::memcpy(moved->in, split.in, sizeof moved->in);
    fermata_operation o = FERMATA_OPERATION_INIT;
    o.collective = static_cast<int>(split.call.collective);
    o.root = static_cast<int>(split.call.root);
    o.in = moved->in;
    o.out = split.out != nullptr ? split.out : &moved->in;  // without an output, nothing is written there
    const bool folds = fermata::folds(split.call.collective);
    o.type = folds ? split.call.type : static_cast<int>(FERMATA_INT8);
    o.op = split.call.op;
    o.count = split.call.bytes / size_of(static_cast<Type>(o.type));
    const int made = make(member, o, *moved->request, false);
    if (made != FERMATA_OK) return made;
    fill(*moved->request);
    if (!adapt(&moved->request->core, member->member->lengths().their_bytes()))
      return fail(Status::kMismatch, "the members' lengths differ");
    const Status begun = member->member->begin(&moved->request->core);
    if (begun != Status::kOk) return answer(member, begun);
    member->moved = std::move(moved);
    return static_cast<int>(FERMATA_OK);
  });
}

int test_moved(fermata_member* member) {
  const Status status = member->member->test_for(&member->moved->request->core);
  return status == Status::kPending ? FERMATA_PENDING : static_cast<int>(FERMATA_OK);
}

int depart_moved(fermata_member* member) {
  exec::BlockRequest* const core = &member->moved->request->core;
  const Status status = member->member->wait_for(core);
  if (!core->active) member->moved = nullptr, member->arrived = false;
  return answer(member, status);
}

}  // namespace fermata::team
