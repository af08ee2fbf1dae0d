// Small blocks of a collective travel together on one line. That costs less than a ring buffer for each pair.
// - scatter: a broadcast of all blocks
// - gather: a reduce of all blocks, in which each member's contribution is zero except for its own block
// - allgather, alltoall: an allreduce of all blocks, with the same contributions
// - reduce_scatter: an allreduce, of which each member takes its part
// Between two members, only the block for the other one travels.
#include <climits>

#include "api/calls.hpp"
#include "base/word.hpp"

namespace fermata::api {
namespace {

using namespace team;

using exec::Call;
using exec::Member;
using exec::PlanSlot;
using exec::Taken;

// Returns the bytes of all blocks; 0: they do not fit on a line. Only arguments that must agree decide. So
// all members get the same result.
std::uint32_t bytes_together(const Member& m, const Plain& plain) {
  if (static_cast<unsigned>(plain.type) >= kTypeCount || plain.count > kLinePayload) return 0;
  const std::size_t block = plain.count * size_of(static_cast<Type>(plain.type));
  return static_cast<std::uint32_t>(
      fermata::bytes_together(static_cast<Collective>(plain.collective), m.team().members(), block));
}

constexpr std::uint32_t kMostSwapped = 8;

struct Line {
  alignas(8) std::byte at[kLinePayload] = {};
};

// Buffers that overlap get the full check, since some overlaps are errors, for blocks of any size.
int check_overlap(const fermata_member* member, const Plain& plain, std::size_t in_bytes,
                  std::size_t out_bytes) {
  const auto in = reinterpret_cast<std::uintptr_t>(plain.in),
             out = reinterpret_cast<std::uintptr_t>(plain.out);
  if (in + in_bytes <= out || out + out_bytes <= in || plain.in == FERMATA_IN_PLACE ||
      plain.out == FERMATA_IN_PLACE) [[likely]]
    return FERMATA_OK;
  Checked checked;
  return check(member, operation_of(plain), &checked);
}

// The places of the blocks in an allgather, a reduce_scatter or an alltoall of two members.
inline exec::Swap blocks_of_two(const Plain& plain, std::uint32_t rank, std::uint32_t block) {
  auto* const out = static_cast<std::byte*>(plain.out);
  const bool in_place = plain.in == FERMATA_IN_PLACE;
  const auto* const in = in_place ? out : static_cast<const std::byte*>(plain.in);
  const std::uint32_t own = rank * block, other = (1 - rank) * block;
  switch (plain.collective) {
    case FERMATA_ALLGATHER: {
      const std::byte* const mine = in_place ? in + own : in;
      return {.sent = mine, .kept = mine, .kept_to = out + own, .out = out + other};
    }
    case FERMATA_REDUCE_SCATTER:
      return {.sent = in + other, .kept = in + own, .kept_to = nullptr, .out = out};
    default: return {.sent = in + other, .kept = in + own, .kept_to = out + own, .out = out + other};
  }
}

// Does the call repeat the member's last swap, with any buffers? These must not overlap.
[[gnu::always_inline]] inline bool swaps_again(const fermata_member* member, const Plain& plain) {
  if (member == nullptr) return false;
  const exec::FirstSignals& first_signals = member->first_signals;
  const auto in = reinterpret_cast<std::uintptr_t>(plain.in),
             out = reinterpret_cast<std::uintptr_t>(plain.out);
  const std::uintptr_t most = 2 * kMostSwapped;
  const bool apart = in - out + most > 2 * most;
  return apart && in + 1 > 1 && out + 1 > 1 &&  // neither null nor in place
         member->member->repeats_swap(first_signals, static_cast<Collective>(plain.collective), plain.count,
                                      static_cast<unsigned>(plain.type), static_cast<unsigned>(plain.op));
}

[[gnu::always_inline]] inline int swap_again(fermata_member* member, const Plain& plain) {
  Member& m = *member->member;
  const exec::FirstSignals& first_signals = member->first_signals;
  return answer(member,
                m.swap_again(first_signals, blocks_of_two(plain, m.rank(), first_signals.swapped_bytes)));
}

// The result of the following functions if they do not do the call: its blocks are too large for a line, or
// its arguments are wrong. It is no std::optional: that would be stored in parts and loaded whole. Such a
// load waits for all earlier stores, also those to the line.
constexpr int kNotOnLine = INT_MAX;

// Does an allgather, alltoall or reduce_scatter on a line.
int call_together(fermata_member* member, const Plain& plain) {
  Member& m = *member->member;
  const std::uint32_t all = bytes_together(m, plain);
  const void* in = plain.in;
  if (all == 0 || plain.out == nullptr || plain.out == FERMATA_IN_PLACE || in == nullptr) return kNotOnLine;
  const bool in_place = in == FERMATA_IN_PLACE;
  const std::uint32_t members = m.team().members(), rank = m.rank();
  const PlanSlot slot = all <= 8 ? PlanSlot::kAllreduce8 : PlanSlot::kAllreduce56;
  if (!m.carries(slot)) return kNotOnLine;
  const auto type = static_cast<Type>(plain.type);
  const auto block = static_cast<std::uint32_t>(plain.count * size_of(type));
  auto* const out = static_cast<std::byte*>(plain.out);
  const bool several_in = holds<&CollectiveRules::differs_by_receiver>(plain.collective);
  const bool several_out = holds<&CollectiveRules::differs_by_giver>(plain.collective);
  const std::uint32_t in_bytes = (several_in ? members : 1) * block;
  const std::uint32_t out_bytes = (several_out ? members : 1) * block;
  if (const int bad = check_overlap(member, plain, in_bytes, out_bytes); bad != FERMATA_OK) return bad;
  Call call{.collective = static_cast<Collective>(plain.collective),
            .type = static_cast<std::uint8_t>(plain.type),
            .bytes = block};
  Folds folds = folds_of(Op::kOr, Type::kUint64);
  if (call.collective == Collective::kReduceScatter) {
    if (static_cast<unsigned>(plain.op) >= kOpCount || !is_defined(static_cast<Op>(plain.op), type) ||
        size_of(type) > 8)
      return kNotOnLine;
    call.op = static_cast<std::uint8_t>(plain.op);
    folds = folds_of(static_cast<Op>(plain.op), type);
  }
  if (m.swaps() && block <= kMostSwapped) {
    const FoldFn folded = call.collective == Collective::kReduceScatter ? folds.word : nullptr;
    return answer(member, m.swap(call, plain.count, folded, blocks_of_two(plain, rank, block)));
  }
  Taken taken{.out = out, .bytes = block};
  Line line;
  switch (plain.collective) {
    case FERMATA_ALLGATHER:
      copy_bytes(line.at + rank * block, in_place ? out + rank * block : in, block);
      taken.bytes = all;
      break;
    case FERMATA_ALLTOALL:
      copy_bytes(line.at + rank * members * block, in_place ? out : in, members * block);
      taken = {
          .out = out, .bytes = block, .blocks = members, .first = rank * block, .stride = members * block};
      break;
    case FERMATA_REDUCE_SCATTER:
      copy_bytes(line.at, in_place ? out : in, all);
      taken.first = rank * block;
      break;
    default: return kNotOnLine;
  }
  return answer(member, m.together(slot, call, all, line.at, folds, taken));
}

int scatter_together(fermata_member* member, const Plain& plain) {
  Member& m = *member->member;
  const std::uint32_t all = bytes_together(m, plain);
  const bool is_root = plain.root == static_cast<int>(m.rank());
  if (all == 0 || static_cast<unsigned>(plain.root) >= m.team().members()) return kNotOnLine;
  if (plain.out == nullptr ||
      (is_root ? plain.in == nullptr || plain.in == FERMATA_IN_PLACE : plain.out == FERMATA_IN_PLACE))
    return kNotOnLine;
  const PlanSlot slot = all <= 8 ? PlanSlot::kBroadcast8 : PlanSlot::kBroadcast56;
  if (!m.carries(slot)) return kNotOnLine;
  const auto block = static_cast<std::uint32_t>(plain.count * size_of(static_cast<Type>(plain.type)));
  const Call call{.collective = Collective::kScatter,
                  .type = static_cast<std::uint8_t>(plain.type),
                  .root = static_cast<std::uint32_t>(plain.root),
                  .bytes = block};
  const bool two = m.team().members() == 2;
  if (!is_root) {
    const std::uint32_t first = two ? 0 : m.rank() * block;
    return answer(member, m.together(slot, call, all, nullptr, Folds{},
                                     {.out = plain.out, .bytes = block, .first = first}));
  }
  if (const int bad = check_overlap(member, plain, m.team().members() * block, block); bad != FERMATA_OK)
    return bad;
  const auto* const in = static_cast<const std::byte*>(plain.in);
  const int status =
      answer(member, m.together(slot, call, all, two ? in + (1 - m.rank()) * block : in, Folds{}, {}));
  // The root copies its own block after its signals, so that they leave earlier.
  if (status == FERMATA_OK && plain.out != FERMATA_IN_PLACE)
    copy_bytes(plain.out, in + m.rank() * block, block);
  return status;
}

int gather_together(fermata_member* member, const Plain& plain) {
  Member& m = *member->member;
  const std::uint32_t all = bytes_together(m, plain);
  const bool is_root = plain.root == static_cast<int>(m.rank());
  if (all == 0 || static_cast<unsigned>(plain.root) >= m.team().members()) return kNotOnLine;
  if (plain.in == nullptr ||
      (is_root ? plain.out == nullptr || plain.out == FERMATA_IN_PLACE : plain.in == FERMATA_IN_PLACE))
    return kNotOnLine;
  const PlanSlot slot = all <= 8 ? PlanSlot::kReduce8 : PlanSlot::kReduce56;
  if (!m.carries(slot)) return kNotOnLine;
  const auto block = static_cast<std::uint32_t>(plain.count * size_of(static_cast<Type>(plain.type)));
  const int overlaps = is_root ? check_overlap(member, plain, block, m.team().members() * block) : 0;
  if (overlaps != FERMATA_OK) return overlaps;
  const Call call{.collective = Collective::kGather,
                  .type = static_cast<std::uint8_t>(plain.type),
                  .root = static_cast<std::uint32_t>(plain.root),
                  .bytes = block};
  const std::uint32_t own = m.rank() * block;
  if (m.team().members() == 2) {
    auto* const out = static_cast<std::byte*>(plain.out);
    const Folds folds = folds_of(Op::kOr, Type::kUint64);
    if (!is_root) return answer(member, m.together(slot, call, all, plain.in, folds, {}));
    if (plain.in != FERMATA_IN_PLACE) copy_bytes(out + own, plain.in, block);
    static constexpr Line kNone;
    return answer(member, m.together(slot, call, all, kNone.at, folds,
                                     {.out = out + (1 - m.rank()) * block, .bytes = block}));
  }
  Line line;
  copy_bytes(line.at + own,
             plain.in == FERMATA_IN_PLACE ? static_cast<const std::byte*>(plain.out) + own : plain.in, block);
  const Taken taken{.out = is_root ? plain.out : nullptr, .bytes = all};
  return answer(member, m.together(slot, call, all, line.at, folds_of(Op::kOr, Type::kUint64), taken));
}

// For a reduce_scatter whose blocks differ in size: an allreduce of all blocks, one after the other.
int differing_together(fermata_member* member, const fermata_operation& o) {
  Checked c;
  if (const int bad = check(member, o, &c); bad != FERMATA_OK) return bad;
  Member& m = *member->member;
  Taken taken{.out = o.out};
  Line line;
  std::size_t all = 0, place = 0;
  for (std::uint32_t r = 0; r < m.team().members(); ++r) {
    const std::size_t bytes = o.in_counts[r] * c.element;
    if (bytes > kLinePayload - all) return kNotOnLine;
    const void* const in = o.in == FERMATA_IN_PLACE ? o.out : o.in;
    const std::size_t at = (o.in_displacements != nullptr ? o.in_displacements[r] : place) * c.element;
    if (bytes != 0)
      copy_bytes(line.at + all, static_cast<const std::byte*>(in) + at, static_cast<std::uint32_t>(bytes));
    if (r == m.rank())
      taken.first = static_cast<std::uint32_t>(all), taken.bytes = static_cast<std::uint32_t>(bytes);
    all += bytes;
    place += o.in_counts[r];
  }
  const PlanSlot slot = all <= 8 ? PlanSlot::kAllreduce8 : PlanSlot::kAllreduce56;
  if (all == 0 || c.element > 8 || !m.carries(slot)) return kNotOnLine;
  if (taken.bytes == 0) taken.out = nullptr;
  const auto type = static_cast<std::uint8_t>(o.type);
  const Call call{.collective = c.collective,
                  .type = type,
                  .op = static_cast<std::uint8_t>(o.op),
                  .bytes = c.sizes,
                  .irregular = true};
  const Folds folds = folds_of(static_cast<Op>(o.op), static_cast<Type>(o.type));
  return answer(member, m.together(slot, call, static_cast<std::uint32_t>(all), line.at, folds, taken));
}

// on_line does the call if its blocks are small enough.
int small_call(fermata_member* member, const Plain& plain, int (*on_line)(fermata_member*, const Plain&)) {
  if (member == nullptr) return null_handle();
  int status = on_line(member, plain);
  if (status == kNotOnLine) status = call(member, plain);
  return status == FERMATA_OK ? status : settle_lengths(member, operation_of(plain), false, status);
}

// Not inlined, so that the shortest path needs no stack frame.
[[gnu::noinline]] int other_call(fermata_member* member, const Plain& plain) {
  return small_call(member, plain, call_together);
}

}  // namespace
}  // namespace fermata::api

using namespace fermata::api;
using namespace fermata::team;

extern "C" {

int fermata_gather(fermata_member* member, const void* in, void* out, size_t count, int type, int root) {
  return small_call(member, {FERMATA_GATHER, type, 0, root, in, out, count}, gather_together);
}

int fermata_scatter(fermata_member* member, const void* in, void* out, size_t count, int type, int root) {
  return small_call(member, {FERMATA_SCATTER, type, 0, root, in, out, count}, scatter_together);
}

int fermata_allgather(fermata_member* member, const void* in, void* out, size_t count, int type) {
  const Plain plain{FERMATA_ALLGATHER, type, 0, 0, in, out, count};
  return swaps_again(member, plain) ? swap_again(member, plain) : other_call(member, plain);
}

int fermata_reduce_scatter(fermata_member* member, const void* in, void* out, size_t count, int type,
                           int op) {
  const Plain plain{FERMATA_REDUCE_SCATTER, type, op, 0, in, out, count};
  return swaps_again(member, plain) ? swap_again(member, plain) : other_call(member, plain);
}

int fermata_reduce_scatterv(fermata_member* member, const void* in, const size_t* counts,
                            const size_t* displacements, void* out, int type, int op) {
  if (member == nullptr) return null_handle();
  fermata_operation o = operation_of({FERMATA_REDUCE_SCATTER, type, op, 0, in, out, 0});
  o.irregular = 1;
  o.in_counts = counts;
  o.in_displacements = displacements;
  const int status = differing_together(member, o);
  return status != kNotOnLine ? status : fermata_execute(member, &o);
}

int fermata_alltoall(fermata_member* member, const void* in, void* out, size_t count, int type) {
  const Plain plain{FERMATA_ALLTOALL, type, 0, 0, in, out, count};
  return swaps_again(member, plain) ? swap_again(member, plain) : other_call(member, plain);
}

}  // extern "C"
