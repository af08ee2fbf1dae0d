// Lengths that differ: a call that was retracted, since those from whom its data come gave another length, is made with theirs.
#include <algorithm>
#include <cstring>

#include "api/blocks.hpp"

namespace fermata::api {
namespace {

int make_call(fermata_member* member, const fermata_operation& o) {
  if (o.fold != nullptr || o.element != 0) return fermata_execute(member, &o);
  switch (o.collective) {
    case FERMATA_DO_BROADCAST: return fermata_broadcast(member, o.out, o.count * size_of(static_cast<Type>(o.type)), o.root);
    case FERMATA_DO_GATHER: return fermata_gather(member, o.in, o.out, o.count, o.type, o.root);
    case FERMATA_DO_SCATTER: return fermata_scatter(member, o.in, o.out, o.count, o.type, o.root);
    default: return fermata_reduce(member, o.in, o.out, o.count, o.type, o.op, o.root);
  }
}

}  // namespace

int call_with_their_length(fermata_member* member, const fermata_operation& o) {
  return guarded([&] {
    exec::Member& m = *member->member;
    const std::size_t element = o.element != 0 ? o.element : size_of(static_cast<Type>(o.type));
    const std::size_t theirs = m.their_bytes(), own = o.count * element, both = std::min(theirs, own);
    const bool gathers = o.collective == FERMATA_DO_GATHER;
    const std::size_t blocks = gathers ? m.team().members() : 1;
    if (theirs % element != 0) {
      m.team().break_with(Status::kMismatch, m.rank());
      return fail(Status::kMismatch, "rank %u: the others' blocks have %zu bytes, which are no whole elements", m.rank(), theirs);
    }
    std::vector<std::byte> in(theirs), out(theirs * blocks);
    auto* const to = static_cast<std::byte*>(o.out);
    const bool in_place = o.in == FERMATA_IN_PLACE;
    fermata_operation other = o;
    other.count = theirs / element;
    other.out = out.data();
    if (gathers || o.collective == FERMATA_DO_REDUCE) {
      other.in = in.data();
      std::memcpy(in.data(), !in_place ? o.in : gathers ? to + m.rank() * own : to, both);
    }
    const int status = make_call(member, other);
    if (status != FERMATA_OK) return status;
    for (std::size_t b = 0; b < blocks; ++b)
      if (!gathers || !in_place || b != m.rank()) std::memcpy(to + b * own, out.data() + b * theirs, both);
    return theirs > own ? member_status(member, Status::kTruncated) : static_cast<int>(FERMATA_OK);
  });
}

}  // namespace fermata::api
