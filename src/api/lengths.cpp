// Calls in which members give different lengths. A call is retracted if the members that its data come from
// gave another length. It is then made again with that length.
#include <algorithm>
#include <cstring>

#include "api/calls.hpp"

namespace fermata::api {

using namespace team;

namespace {

int make_call(fermata_member* member, const fermata_operation& o, bool executes) {
  if (executes) return fermata_execute(member, &o);
  switch (o.collective) {
    case FERMATA_BROADCAST:
      return fermata_broadcast(member, o.out, o.count * size_of(static_cast<Type>(o.type)), o.root);
    case FERMATA_GATHER: return fermata_gather(member, o.in, o.out, o.count, o.type, o.root);
    case FERMATA_SCATTER: return fermata_scatter(member, o.in, o.out, o.count, o.type, o.root);
    default: return fermata_reduce(member, o.in, o.out, o.count, o.type, o.op, o.root);
  }
}

}  // namespace

int call_with_their_length(fermata_member* member, const fermata_operation& o, bool executes) {
  return guarded([&] {
    exec::Member& m = *member->member;
    const std::size_t element = o.element != 0 ? o.element : size_of(static_cast<Type>(o.type));
    const std::size_t theirs = m.lengths().their_bytes(), own = o.count * element,
                      both = std::min(theirs, own);
    const CollectiveRules& rules = rules_of(o.collective);
    const bool gathers = rules.writes_several(true);
    const std::size_t blocks = gathers ? m.team().members() : 1;
    if (theirs % element != 0) {
      m.team().break_with(Status::kMismatch, m.rank());
      return fail(Status::kMismatch,
                  "rank %u: the others' blocks have %zu bytes, not a multiple of its element", m.rank(),
                  theirs);
    }
    const ZeroedBytes out = zeroed_bytes(theirs * blocks);
    auto* const to = static_cast<std::byte*>(o.out);
    const bool in_place = o.in == FERMATA_IN_PLACE;
    fermata_operation other = o;
    other.count = theirs / element;
    other.out = out.get();
    if (rules.root_gets()) {
      other.in = FERMATA_IN_PLACE;  // else all of the input would be copied
      const std::size_t block = gathers ? m.rank() : 0;
      if (both != 0) std::memcpy(out.get() + block * theirs, in_place ? to + block * own : o.in, both);
    }
    const int status = make_call(member, other, executes);
    // make_call() may have repeated the call with yet another length, and returned kTruncated.
    if (status != FERMATA_OK && status != FERMATA_ERR_TRUNCATED) return status;
    for (std::size_t b = 0; b < blocks && both != 0; ++b)
      if (!gathers || !in_place || b != m.rank()) std::memcpy(to + b * own, out.get() + b * theirs, both);
    return theirs > own && status == FERMATA_OK ? member_status(member, Status::kTruncated) : status;
  });
}

}  // namespace fermata::api
