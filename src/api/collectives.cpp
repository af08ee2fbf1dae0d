// The collectives of the C ABI: argument checks, then one call into exec/.
#include "api/calls.hpp"

using fermata::Op;
using fermata::Status;
using fermata::Type;
using fermata::api::settle_lengths;
using fermata::team::kNowhere;
using fermata::team::null_handle;
namespace team = fermata::team;

namespace {

// Not inlined, so that a successful call needs no stack frame for it.
[[gnu::noinline, gnu::cold]] int failed(const fermata_member* member, Status status) {
  return team::member_status(member, status);
}
// If the call is outstanding, its member reviews once it is over.
[[gnu::noinline, gnu::cold]] int failed_and_reviews(fermata_member* member, Status status) {
  member->reviews = member->reviews || status == Status::kTimeout || status == Status::kInterrupted;
  return failed(member, status);
}
[[gnu::noinline, gnu::cold]] int nowhere() { return team::fail(Status::kArgument, "%s", kNowhere); }

[[gnu::noinline, gnu::cold]] int reviewed(fermata_member* member) {
  return team::guarded([&] { return team::review(member); });
}

inline int answer(const fermata_member* member, Status status) {
  return status == Status::kOk ? FERMATA_OK : failed(member, status);
}

// The same for calls on lines. After these, the team may review on which CPUs its members run.
inline int answer_and_review(fermata_member* member, Status status) {
  if (status != Status::kOk) [[unlikely]]
    return failed_and_reviews(member, status);
  if (member->member->log().review_due()) [[unlikely]]
    return reviewed(member);
  return FERMATA_OK;
}

// The same for a rooted call. Where other members may have made it with blocks, no member reviews.
inline int answer_and_review_if_alike(fermata_member* member) {
  if (member->member->log().review_due() && !member->may_differ) [[unlikely]]
    return reviewed(member);
  return FERMATA_OK;
}

// The same for a call that was outstanding. After a split-phase call no member reviews, since fermata_test
// must not wait. After a blocking call that a timeout or a hook interrupted, this member reviews: the others
// have already reviewed, or wait for this member.
inline int answer_outstanding(fermata_member* member, Status status) {
  if (!member->arrived) {
    if (status == Status::kBusy || member->member->outstanding()) return answer(member, status);
    const bool reviews = member->reviews;
    member->reviews = false;
    return reviews ? answer_and_review(member, status) : answer(member, status);
  }
  const bool came = status == Status::kOk || status == Status::kTruncated;
  // After a test that returned OK, the member must still depart.
  if (came && !member->member->outstanding()) member->arrived = false;
  return answer(member, status);
}

// For data that do not fit on a line, or for wrong arguments. The code for blocks finds out which.
[[gnu::noinline]] int as_blocks(fermata_member* member, const team::Plain& plain) {
  const int status = team::call(member, plain);
  return status == FERMATA_OK ? status : settle_lengths(member, team::operation_of(plain), false, status);
}
// For a call on lines that failed or was retracted.
[[gnu::noinline, gnu::cold]] int settled(fermata_member* member, Status status, const team::Plain& plain) {
  if (!member->may_differ) return failed_and_reviews(member, status);
  const int answered = status == Status::kRetracted ? static_cast<int>(status) : failed(member, status);
  return settle_lengths(member, team::operation_of(plain), false, answered);
}

// of[op * kTypeCount + type]: one more than the number of elements that fit on a line. 0: the operator is not
// defined for the type.
struct Limits {
  unsigned char of[fermata::kOpCount * fermata::kTypeCount] = {};
  constexpr Limits() {
    for (int op = 0; op < fermata::kOpCount; ++op)
      for (int type = 0; type < fermata::kTypeCount; ++type)
        if (fermata::is_defined(static_cast<Op>(op), static_cast<Type>(type)))
          of[op * fermata::kTypeCount + type] =
              1 + FERMATA_MAX_PAYLOAD / fermata::size_of(static_cast<Type>(type));
  }
};

inline bool data_ok(size_t count, int type, int op) {
  if (static_cast<unsigned>(type) >= fermata::kTypeCount || static_cast<unsigned>(op) >= fermata::kOpCount)
    return false;
  static constexpr Limits kLimits;
  return count < kLimits.of[static_cast<unsigned>(op) * fermata::kTypeCount + static_cast<unsigned>(type)];
}

[[gnu::noinline, gnu::cold]] int bad_root(const fermata_member* member, int root) {
  return team::fail(Status::kArgument, "root %d is not in 0..%u", root, member->member->team().members() - 1);
}

[[gnu::noinline]] int other_allreduce(fermata_member* member, const void* in, void* out, size_t count,
                                      int type, int op) {
  if (member == nullptr || ((in == nullptr || out == nullptr) && count != 0)) [[unlikely]]
    return null_handle();
  if (!data_ok(count, type, op)) [[unlikely]]
    return as_blocks(member, {FERMATA_ALLREDUCE, type, op, 0, in, out, count});
  if (out == FERMATA_IN_PLACE && count != 0) [[unlikely]]
    return nowhere();
  if (in == FERMATA_IN_PLACE) in = out;
  const auto n = static_cast<std::uint32_t>(count);
  return answer_and_review(
      member, member->member->allreduce(in, out, n, static_cast<Type>(type), static_cast<Op>(op)));
}

// The plan sets the order of a fold on lines. An operator that associates gives the same bits in every order.
int check_order(const fermata_operation& o) {
  if (o.ordered < FERMATA_ANY_ORDER || o.ordered > FERMATA_LEFT_TO_RIGHT)
    return team::fail(Status::kArgument, "order %d is none of fermata_order", o.ordered);
  const auto op = static_cast<Op>(o.op);
  const auto type = static_cast<Type>(o.type);
  if (o.ordered != FERMATA_LEFT_TO_RIGHT || fermata::traits_of(op, type).associative) return FERMATA_OK;
  return team::fail(Status::kUnsupported, "this call does not fold %s of %s left to right: use fermata_begin",
                    fermata::name_of(op), fermata::name_of(type));
}

inline bool root_ok(const fermata_member* member, int root) {
  return static_cast<unsigned>(root) < member->member->team().members();
}

}  // namespace

extern "C" {

int fermata_barrier(fermata_member* member) {
  if (member == nullptr) [[unlikely]]
    return null_handle();
  return answer_and_review(member, member->member->barrier(member->first_signals));
}

int fermata_barrier_tagged(fermata_member* member, uint32_t tag) {
  if (member == nullptr) [[unlikely]]
    return null_handle();
  return answer_and_review(member, member->member->barrier_tagged(tag));
}

int fermata_arrive(fermata_member* member) {
  if (member == nullptr) [[unlikely]]
    return null_handle();
  const Status status = member->member->arrive();
  if (status == Status::kOk) member->arrived = true;
  return answer(member, status);
}

int fermata_arrive_with(fermata_member* member, const fermata_operation* operation) {
  if (member == nullptr || operation == nullptr) [[unlikely]]
    return null_handle();
  const fermata_operation& o = *operation;
  if (o.size != sizeof o) return team::fail(Status::kArgument, "operation.size: use FERMATA_OPERATION_INIT");
  const bool broadcasts = o.collective == FERMATA_BROADCAST;
  const bool reduces = o.collective == FERMATA_REDUCE;
  const bool knows_type = static_cast<unsigned>(o.type) < fermata::kTypeCount;
  const bool fits =
      broadcasts ? knows_type && o.count <= FERMATA_MAX_PAYLOAD / fermata::size_of(static_cast<Type>(o.type))
                 : data_ok(o.count, o.type, o.op);
  if ((!broadcasts && !reduces && o.collective != FERMATA_ALLREDUCE) || !fits || o.element != 0 ||
      o.fold != nullptr || o.irregular != 0)
    return team::fail(Status::kUnsupported,
                      "this call takes only a broadcast, reduce or allreduce of at most %d bytes, by op",
                      FERMATA_MAX_PAYLOAD);
  if (const int bad = broadcasts ? FERMATA_OK : check_order(o); bad != FERMATA_OK) return bad;
  if ((broadcasts || reduces) && !root_ok(member, o.root)) return bad_root(member, o.root);
  const bool root = static_cast<unsigned>(o.root) == member->member->rank();
  const void* in = broadcasts ? (root ? o.out : nullptr) : o.in == FERMATA_IN_PLACE ? o.out : o.in;
  void* out = (broadcasts && root) || (reduces && !root) ? nullptr : o.out;
  const bool gives = !broadcasts || root;
  const bool gets = broadcasts ? !root : !reduces || root;
  if (o.count != 0 && ((gives && in == nullptr) || (gets && out == nullptr))) return null_handle();
  if (o.count != 0 && ((gives && in == FERMATA_IN_PLACE) || (gets && out == FERMATA_IN_PLACE)))
    return nowhere();
  fermata::exec::Call call;
  call.collective = static_cast<fermata::Collective>(o.collective);
  call.type = static_cast<std::uint8_t>(broadcasts ? 0 : o.type);
  call.op = static_cast<std::uint8_t>(broadcasts ? 0 : o.op);
  call.root = broadcasts || reduces ? static_cast<std::uint32_t>(o.root) : 0;
  call.bytes = o.count * fermata::size_of(static_cast<Type>(o.type));
  if (broadcasts || reduces) call.order = fermata::exec::Call::kLineOrder;
  const Status status = member->member->arrive_with(call, in, out);
  if (status == Status::kOk) member->arrived = true;
  return answer(member, status);
}

int fermata_depart(fermata_member* member) {
  if (member == nullptr) [[unlikely]]
    return null_handle();
  if (member->moved == nullptr) [[likely]] {
    const Status status = member->member->depart();
    if (status != Status::kRetracted) [[likely]]
      return answer_outstanding(member, status);
    if (const int moved = team::move_split(member); moved != FERMATA_OK) return moved;
  }
  return team::depart_moved(member);
}

int fermata_test(fermata_member* member) {
  if (member == nullptr) [[unlikely]]
    return null_handle();
  if (member->moved != nullptr) [[unlikely]]
    return team::test_moved(member);
  const bool outstanding = member->member->outstanding();
  const Status status = member->member->test();
  if (status == Status::kPending) return FERMATA_PENDING;
  if (status == Status::kRetracted) [[unlikely]] {
    const int moved = team::move_split(member);
    return moved == FERMATA_OK ? FERMATA_PENDING : moved;
  }
  return outstanding ? answer_outstanding(member, status) : answer(member, status);
}

int fermata_resume(fermata_member* member) {
  if (member == nullptr) [[unlikely]]
    return null_handle();
  if (member->arrived) return fermata_depart(member);
  const Status status = member->member->resume();
  const bool retracted = status == Status::kRetracted;
  if (member->at_end == nullptr)
    return retracted ? team::fail(Status::kMemory, "there was no memory to take the others' length")
                     : answer_outstanding(member, status);
  return fermata::api::end_resumed(member,
                                   retracted ? static_cast<int>(status) : answer_outstanding(member, status));
}

// A function of its own: the copy of several words needs registers, which an allreduce of one word would have
// to save.
[[gnu::noinline]] static int allreduce_of_words(fermata_member* member, const void* in, void* out,
                                                size_t count, int type, int op) {
  if (member->member->repeats_words(member->first_signals, count, static_cast<unsigned>(type),
                                    static_cast<unsigned>(op))) [[likely]]
    return answer_and_review(member, member->member->allreduce_words_again(
                                         member->first_signals, in == FERMATA_IN_PLACE ? out : in, out));
  return other_allreduce(member, in, out, count, type, op);
}

int fermata_allreduce(fermata_member* member, const void* in, void* out, size_t count, int type, int op) {
  // One test finds two null pointers. Valid pointers that have no bit in common only take the longer path.
  const bool may_be_null =
      (reinterpret_cast<std::uintptr_t>(in) & reinterpret_cast<std::uintptr_t>(out)) == 0;
  if (member == nullptr || may_be_null || out == FERMATA_IN_PLACE) [[unlikely]]
    return other_allreduce(member, in, out, count, type, op);
  if (member->member->repeats(member->first_signals, count, static_cast<unsigned>(type),
                              static_cast<unsigned>(op))) [[likely]]
    return answer_and_review(member, member->member->allreduce_again(member->first_signals,
                                                                     in == FERMATA_IN_PLACE ? out : in, out));
  return allreduce_of_words(member, in, out, count, type, op);
}

int fermata_reduce(fermata_member* member, const void* in, void* out, size_t count, int type, int op,
                   int root) {
  if (member == nullptr || (in == nullptr && count != 0)) [[unlikely]]
    return null_handle();
  if (!root_ok(member, root)) [[unlikely]]
    return bad_root(member, root);
  if (!data_ok(count, type, op)) [[unlikely]]
    return as_blocks(member, {FERMATA_REDUCE, type, op, root, in, out, count});
  const bool is_root = static_cast<unsigned>(root) == member->member->rank();
  if (is_root && out == nullptr && count != 0) [[unlikely]]
    return null_handle();
  if (in == FERMATA_IN_PLACE) in = out;
  const bool bare = in == nullptr || in == FERMATA_IN_PLACE || (is_root && out == FERMATA_IN_PLACE);
  if (bare && count != 0) [[unlikely]]
    return nowhere();
  const auto n = static_cast<std::uint32_t>(count);
  const auto to = static_cast<std::uint32_t>(root);
  const Status status = member->member->reduce(in, out, n, static_cast<Type>(type), static_cast<Op>(op), to);
  if (status != Status::kOk) [[unlikely]]
    return settled(member, status, {FERMATA_REDUCE, type, op, root, in, out, count});
  return answer_and_review_if_alike(member);
}

int fermata_broadcast(fermata_member* member, void* data, size_t bytes, int root) {
  if (member == nullptr || (data == nullptr && bytes != 0)) [[unlikely]]
    return null_handle();
  if (!root_ok(member, root)) [[unlikely]]
    return bad_root(member, root);
  if (data == FERMATA_IN_PLACE && bytes != 0) [[unlikely]]
    return nowhere();
  if (bytes > FERMATA_MAX_PAYLOAD) [[unlikely]]
    return as_blocks(member, {FERMATA_BROADCAST, FERMATA_INT8, 0, root, nullptr, data, bytes});
  const auto from = static_cast<std::uint32_t>(root);
  const Status status = member->member->broadcast(data, static_cast<std::uint32_t>(bytes), from);
  if (status != Status::kOk) [[unlikely]]
    return settled(member, status, {FERMATA_BROADCAST, FERMATA_INT8, 0, root, nullptr, data, bytes});
  return answer_and_review_if_alike(member);
}

}  // extern "C"
