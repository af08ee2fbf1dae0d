// Calls in which members give different lengths. A call is retracted if the members that its data come from
// gave another length. It is then made again with that length.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <utility>

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

bool is_interrupted(int status) { return status == FERMATA_ERR_TIMEOUT || status == FERMATA_ERR_INTERRUPTED; }

// Calls end(status) for a call that has ended. For one that is interrupted, fermata_resume shall do so, after
// what an inner call has left to do.
int end_now_or_later(fermata_member* member, const std::function<int(int)>& end, int status) {
  if (!is_interrupted(status)) return end(status);
  member->at_end = [member, end, inner = std::move(member->at_end)](int ended) {
    return end_now_or_later(member, end, inner ? inner(ended) : ended);
  };
  return status;
}

// Makes a call that was retracted again, with the other members' length.
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
      char text[96];
      std::snprintf(text, sizeof text, "the others' blocks have %zu bytes, not a multiple of its element",
                    theirs);
      return answer(member, m.break_team(Status::kMismatch, text));
    }
    const auto out = std::make_shared<ZeroedBytes>(zeroed_bytes(theirs * blocks));
    std::byte* const from = out->get();
    auto* const to = static_cast<std::byte*>(o.out);
    const bool in_place = o.in == FERMATA_IN_PLACE;
    fermata_operation other = o;
    other.count = theirs / element;
    other.out = from;
    if (rules.root_gets()) {
      other.in = FERMATA_IN_PLACE;  // else all of the input would be copied
      const std::size_t block = gathers ? m.rank() : 0;
      if (both != 0) std::memcpy(from + block * theirs, in_place ? to + block * own : o.in, both);
    }
    // Keeps the buffer: a call that a timeout or a hook has interrupted still writes there.
    const auto end = [=, rank = m.rank()](int status) {
      if (status != FERMATA_OK && status != FERMATA_ERR_TRUNCATED) return status;
      for (std::size_t b = 0; b < blocks && both != 0; ++b)
        if (!gathers || !in_place || b != rank) std::memcpy(to + b * own, out->get() + b * theirs, both);
      return theirs > own && status == FERMATA_OK ? member_status(member, Status::kTruncated) : status;
    };
    // make_call() may repeat the call with yet another length, and return kTruncated.
    return end_now_or_later(member, end, make_call(member, other, executes));
  });
}

}  // namespace

int settle_lengths(fermata_member* member, const fermata_operation& o, bool executes, int status) {
  if (status == static_cast<int>(Status::kRetracted)) return call_with_their_length(member, o, executes);
  if (!is_interrupted(status) || !member->may_differ) return status;
  const auto repeat = [member, o, executes](int ended) {
    return ended == static_cast<int>(Status::kRetracted) ? call_with_their_length(member, o, executes)
                                                         : ended;
  };
  try {
    member->at_end = repeat;
  } catch (const std::bad_alloc&) {  // a length that differs is then an error when the call is resumed
    member->at_end = nullptr;
  }
  return status;
}

int end_resumed(fermata_member* member, int status) {
  if (is_interrupted(status)) return status;
  const std::function<int(int)> end = std::exchange(member->at_end, nullptr);
  return end(status);
}

}  // namespace fermata::api
