// Small blocks ride together on one line: scatter as a broadcast of all blocks, gather as a reduce and allgather and alltoall as an
// allreduce of all blocks, where each member's are zero but for its own; reduce_scatter is an allreduce of which each member takes its
// part. A line or two that carry all cost less than a ring for each pair.
#include "api/blocks.hpp"
#include "base/word.hpp"

namespace fermata::api {
namespace {

using exec::Call;
using exec::Member;
using exec::PlanSlot;

// The same at all members: of what the arguments must agree in.
std::uint32_t bytes_together(const Member& m, const Plain& plain) {
  if (static_cast<unsigned>(plain.type) >= kTypeCount || plain.count > kLinePayload) return 0;
  const std::size_t block = plain.count * size_of(static_cast<Type>(plain.type));
  return static_cast<std::uint32_t>(fermata::bytes_together(static_cast<Kind>(plain.collective), m.team().members(), block));
}

struct Line {
  alignas(8) std::byte at[kLinePayload] = {};
};

// Buffers that overlap are looked at closely: some ways to do that are wrong, and said to be at any size.
int check_overlap(const fermata_member* member, const Plain& plain, std::size_t in_bytes, std::size_t out_bytes) {
  const auto in = reinterpret_cast<std::uintptr_t>(plain.in), out = reinterpret_cast<std::uintptr_t>(plain.out);
  if (in + in_bytes <= out || out + out_bytes <= in || plain.in == FERMATA_IN_PLACE || plain.out == FERMATA_IN_PLACE) [[likely]]
    return FERMATA_OK;
  Checked checked;
  return check(member, operation_of(plain), &checked);
}

}  // namespace

bool call_together(fermata_member* member, const Plain& plain, int* status) {
  Member& m = *member->member;
  const std::uint32_t all = bytes_together(m, plain);
  const void* in = plain.in;
  if (all == 0 || plain.out == nullptr || plain.out == FERMATA_IN_PLACE || in == nullptr) return false;
  const bool in_place = in == FERMATA_IN_PLACE;
  const std::uint32_t members = m.team().members(), rank = m.rank();
  const PlanSlot slot = all <= 8 ? PlanSlot::kAllreduce8 : PlanSlot::kAllreduce56;
  if (!m.carries(slot)) return false;
  const auto type = static_cast<Type>(plain.type);
  const auto block = static_cast<std::uint32_t>(plain.count * size_of(type));
  auto* const out = static_cast<std::byte*>(plain.out);
  const std::uint32_t in_bytes = plain.collective == FERMATA_DO_ALLGATHER ? block : members * block;
  const std::uint32_t out_bytes = plain.collective == FERMATA_DO_REDUCE_SCATTER ? block : members * block;
  if ((*status = check_overlap(member, plain, in_bytes, out_bytes)) != FERMATA_OK) return true;
  Call call{.type = static_cast<std::uint8_t>(plain.type), .bytes = block};
  Member::Taken taken{.out = out, .bytes = block};
  Line line;
  FoldFn fold = fold_of(Op::kOr, Type::kUint64);
  switch (plain.collective) {
    case FERMATA_DO_ALLGATHER:
      call.kind = Kind::kAllgather;
      copy_bytes(line.at + rank * block, in_place ? out + rank * block : in, block);
      taken.bytes = all;
      break;
    case FERMATA_DO_ALLTOALL:
      call.kind = Kind::kAlltoall;
      copy_bytes(line.at + rank * members * block, in_place ? out : in, members * block);
      taken = {.out = out, .bytes = block, .blocks = members, .first = rank * block, .stride = members * block};
      break;
    case FERMATA_DO_REDUCE_SCATTER:
      if (static_cast<unsigned>(plain.op) >= kOpCount || !is_defined(static_cast<Op>(plain.op), type) || size_of(type) > 8) return false;
      call.kind = Kind::kReduceScatter;
      call.op = static_cast<std::uint8_t>(plain.op);
      copy_bytes(line.at, in_place ? out : in, all);
      taken.first = rank * block;
      fold = fold_of(static_cast<Op>(plain.op), type);
      break;
    default: return false;
  }
  *status = answer(member, m.together(slot, call, all, line.at, fold, taken));
  return true;
}

bool scatter_together(fermata_member* member, const Plain& plain, int* status) {
  Member& m = *member->member;
  const std::uint32_t all = bytes_together(m, plain);
  const bool is_root = plain.root == static_cast<int>(m.rank());
  if (all == 0 || static_cast<unsigned>(plain.root) >= m.team().members()) return false;
  if (plain.out == nullptr || (is_root ? plain.in == nullptr || plain.in == FERMATA_IN_PLACE : plain.out == FERMATA_IN_PLACE)) return false;
  const PlanSlot slot = all <= 8 ? PlanSlot::kBroadcast8 : PlanSlot::kBroadcast56;
  if (!m.carries(slot)) return false;
  const auto block = static_cast<std::uint32_t>(plain.count * size_of(static_cast<Type>(plain.type)));
  const Call call{.kind = Kind::kScatter, .type = static_cast<std::uint8_t>(plain.type), .root = static_cast<std::uint32_t>(plain.root),
                  .bytes = block};
  if (!is_root) {
    *status = answer(member, m.together(slot, call, all, nullptr, nullptr, {.out = plain.out, .bytes = block, .first = m.rank() * block}));
    return true;
  }
  if ((*status = check_overlap(member, plain, all, block)) != FERMATA_OK) return true;
  *status = answer(member, m.together(slot, call, all, plain.in, nullptr, {}));
  // Its signals are on their way.
  if (*status == FERMATA_OK && plain.out != FERMATA_IN_PLACE)
    copy_bytes(plain.out, static_cast<const std::byte*>(plain.in) + m.rank() * block, block);
  return true;
}

bool gather_together(fermata_member* member, const Plain& plain, int* status) {
  Member& m = *member->member;
  const std::uint32_t all = bytes_together(m, plain);
  const bool is_root = plain.root == static_cast<int>(m.rank());
  if (all == 0 || static_cast<unsigned>(plain.root) >= m.team().members()) return false;
  if (plain.in == nullptr || (is_root ? plain.out == nullptr || plain.out == FERMATA_IN_PLACE : plain.in == FERMATA_IN_PLACE)) return false;
  const PlanSlot slot = all <= 8 ? PlanSlot::kReduce8 : PlanSlot::kReduce56;
  if (!m.carries(slot)) return false;
  const auto block = static_cast<std::uint32_t>(plain.count * size_of(static_cast<Type>(plain.type)));
  if (is_root && (*status = check_overlap(member, plain, block, all)) != FERMATA_OK) return true;
  const Call call{.kind = Kind::kGather, .type = static_cast<std::uint8_t>(plain.type), .root = static_cast<std::uint32_t>(plain.root),
                  .bytes = block};
  Line line;
  const std::uint32_t own = m.rank() * block;
  copy_bytes(line.at + own, plain.in == FERMATA_IN_PLACE ? static_cast<const std::byte*>(plain.out) + own : plain.in, block);
  const Member::Taken taken{.out = is_root ? plain.out : nullptr, .bytes = all};
  *status = answer(member, m.together(slot, call, all, line.at, fold_of(Op::kOr, Type::kUint64), taken));
  return true;
}

}  // namespace fermata::api
