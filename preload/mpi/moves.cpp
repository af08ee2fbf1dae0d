// Collectives that move data. A rank's own arguments bound what it receives, and what is sent decides how
// long a block is on its way. In a correct call the two agree. If they differ, the rank still receives what
// is sent. So the call goes on for all others, and only this rank has an error.
#include "operation.hpp"

namespace fermata::preload {

// Each of `blocks` blocks of the output comes with `bytes` bytes. False: there is no memory.
bool Operation::expect_blocks(int blocks, std::size_t bytes) {
  if (bytes == static_cast<std::size_t>(to_.count) * layout_.size) return true;
  each_ = bytes;
  packed_ = take(bytes * static_cast<std::size_t>(blocks));
  op_.out = packed_;
  blocks_ = blocks;
  return packed_ != nullptr;
}

// One block of input, of which the others expect `bytes` bytes.
bool Operation::set_block_in(const Side& side, const Layout& layout, std::size_t bytes) {
  const std::size_t sent = static_cast<std::size_t>(side.count) * layout.size;
  truncated_ = sent > bytes;
  char* const packed = take(bytes);
  if (packed == nullptr) return false;
  memset(packed, 0, bytes);
  op_.in = packed;
  const auto fit = static_cast<MPI_Count>(layout.size != 0 ? bytes / layout.size : 0);
  const bool added = add({{side.at, fit < side.count ? fit : side.count, side.type}, layout, packed});
  return added && (side.at != nullptr || sent == 0);
}

bool Operation::prepare_broadcast(const State& s, const Arguments& a) {
  const bool root = s.rank == a.root;
  if (!set_out(a.out, 1, root ? kAll : kNone)) return false;
  if (root) blocks_ = 0;
  op_.count = static_cast<std::size_t>(a.out.count) * layout_.size;
  return true;
}

bool Operation::prepare_gather(const State& s, const Arguments& a) {
  const bool root = s.rank == a.root;
  if (root && is_in_place(a.in)) {
    if (!set_out(a.out, s.size, s.rank)) return false;
    op_.in = FERMATA_IN_PLACE;
    op_.count = op_.irregular ? op_.out_counts[s.rank] : static_cast<std::size_t>(a.out.count) * layout_.size;
    return true;
  }
  Layout in, out;
  if (!layout_of(a.in.type, &in) || a.in.count < 0) return false;
  op_.count = static_cast<std::size_t>(a.in.count) * in.size;
  if (!root) return !is_in_place(a.in) && set_in(a.in, 1, false);
  if (op_.irregular && (!layout_of(a.out.type, &out) ||
                        op_.count != static_cast<std::size_t>(a.out.counts[s.rank]) * out.size))
    own_bytes_ = op_.count;
  if (!set_out(a.out, s.size, kNone)) return false;
  if (!op_.irregular && !expect_blocks(s.size, op_.count)) return false;
  return set_in(a.in, 1, meet(a.in, 1, a.out, s.size));
}

bool Operation::refuse_own() {
  const bool at_root = op_.collective == FERMATA_GATHER && own_bytes_ != kAsSaid;
  if (!at_root || own_bytes_ <= static_cast<std::size_t>(to_.counts[rank_]) * layout_.size) return false;
  char* const own = static_cast<char*>(const_cast<void*>(to_.at)) + to_.displacements[rank_] * layout_.extent;
  unpack_block(static_cast<const char*>(op_.in), own_bytes_, own, to_.counts[rank_]);
  op_.in = FERMATA_IN_PLACE;
  load_count_ = blocks_ = 0;
  error_ = MPI_SUCCESS;  // the call reports the error; the operation that goes on has none
  return true;
}

bool Operation::prepare_scatter(const State& s, const Arguments& a) {
  const bool root = s.rank == a.root;
  const bool own = root && is_in_place(a.out);
  if (!root && is_in_place(a.out)) return false;
  if (!own && !set_out(a.out, 1, kNone)) return false;
  op_.count = static_cast<std::size_t>(a.out.count) * layout_.size;
  if (!root) return true;
  Layout in;
  if (!layout_of(a.in.type, &in) || !set_in(a.in, s.size, !own && meet(a.out, 1, a.in, s.size))) return false;
  op_.count = op_.irregular ? op_.in_counts[s.rank] : static_cast<std::size_t>(a.in.count) * in.size;
  if (own) op_.out = FERMATA_IN_PLACE;
  return own || expect_blocks(1, op_.count);
}

// The input's blocks are all the same block.
bool Operation::set_same_in(const Side& side, int blocks, bool copy) {
  Layout layout;
  if (!layout_of(side.type, &layout) || !set_in(side, 1, copy)) return false;
  std::size_t* const counts = take_sizes(blocks);
  if (counts == nullptr) return false;
  op_.count = static_cast<std::size_t>(side.count) * layout.size;
  for (int b = 0; b < blocks; ++b) counts[b] = op_.count, counts[blocks + b] = 0;
  op_.in_counts = counts;
  op_.in_displacements = counts + blocks;
  return true;
}

// Runs as an all-to-all in which a rank sends the same block to all. In place, its input is a copy: others'
// blocks come before it has been sent.
bool Operation::prepare_allgather_pairwise(const State& s, const Arguments& a) {
  Layout layout;
  if (!layout_of(a.out.type, &layout)) return false;
  const MPI_Count room = a.out.counts[s.rank];
  Side in = a.in;
  const bool own = is_in_place(in);
  if (own)
    in = {static_cast<const char*>(a.out.at) + a.out.displacements[s.rank] * layout.extent, room, a.out.type};
  if (room < 0 || !set_same_in(in, s.size, own || meet(in, 1, a.out, s.size))) return false;
  if (op_.count != static_cast<std::size_t>(room) * layout.size) own_bytes_ = op_.count;
  op_.collective = FERMATA_ALLTOALL;
  return set_out(a.out, s.size, kNone);
}

bool Operation::prepare_allgather(const State& s, const Arguments& a) {
  if (a.pairwise) return prepare_allgather_pairwise(s, a);
  const bool own = is_in_place(a.in);
  if (!set_out(a.out, s.size, own ? s.rank : kNone)) return false;
  op_.count = op_.irregular ? op_.out_counts[s.rank] : static_cast<std::size_t>(a.out.count) * layout_.size;
  op_.in = FERMATA_IN_PLACE;
  if (own) return true;
  Layout in;
  if (!layout_of(a.in.type, &in) || a.in.count < 0) return false;
  const std::size_t sent = static_cast<std::size_t>(a.in.count) * in.size;
  if (op_.irregular && sent != op_.count) return set_block_in(a.in, in, op_.count);
  op_.count = sent;
  if (!op_.irregular && !expect_blocks(s.size, sent)) return false;
  return set_in(a.in, 1, meet(a.in, 1, a.out, s.size));
}

bool Operation::prepare_alltoall(const State& s, const Arguments& a) {
  if (is_in_place(a.in)) {
    if (!set_out(a.out, s.size, kAll)) return false;
    op_.count = op_.irregular ? 0 : static_cast<std::size_t>(a.out.count) * layout_.size;
    op_.in = FERMATA_IN_PLACE;
    op_.in_counts = op_.out_counts;
    op_.in_displacements = op_.out_displacements;
    return true;
  }
  if (!set_in(a.in, s.size, meet(a.in, s.size, a.out, s.size))) return false;
  Layout in, out;
  layout_of(a.in.type, &in);
  if (op_.irregular && (!layout_of(a.out.type, &out) ||
                        op_.in_counts[s.rank] != static_cast<std::size_t>(a.out.counts[s.rank]) * out.size))
    own_bytes_ = op_.in_counts[s.rank];
  if (!set_out(a.out, s.size, kNone)) return false;
  if (op_.irregular) return true;
  op_.count = static_cast<std::size_t>(a.in.count) * in.size;
  return expect_blocks(s.size, op_.count);
}

namespace {

// Does MPI detect a type of these arguments that is not committed? MPICH checks all types. Open MPI checks
// what gathers, all-to-alls and broadcasts send, and what all-to-alls receive. It carries out calls with
// others.
bool finds_uncommitted(const Arguments& a, bool root) {
  const CollectiveRules& rules = rules_of(a.collective);
  bool in = !is_in_place(a.in) && rules.reads(root);
  bool out = !is_in_place(a.out) && rules.writes(root);
#ifndef MPICH
  in = in && a.collective != FERMATA_SCATTER;
  out = a.collective == FERMATA_BROADCAST || a.collective == FERMATA_ALLTOALL;
#endif
  return (in && !is_committed(a.in.type)) || (out && !is_committed(a.out.type));
}

}  // namespace

bool Operation::prepare_data(const State& s, const Arguments& a) {
  const bool root = s.rank == a.root;
  op_.type = FERMATA_UINT8;
  op_.irregular = a.irregular;
  const CollectiveRules& rules = rules_of(a.collective);
  const auto lacks = [](const Side& side) { return !side.counts.given() || !side.displacements.given(); };
  if (a.irregular && ((rules.reads_several(root) && !is_in_place(a.in) && lacks(a.in)) ||
                      (rules.writes_several(root) && lacks(a.out))))
    return false;
  if (finds_uncommitted(a, root)) return false;
  switch (a.collective) {
    case FERMATA_BROADCAST: return prepare_broadcast(s, a);
    case FERMATA_GATHER: return prepare_gather(s, a);
    case FERMATA_SCATTER: return prepare_scatter(s, a);
    case FERMATA_ALLGATHER: return prepare_allgather(s, a);
    case FERMATA_ALLTOALL: return prepare_alltoall(s, a);
    default: return false;
  }
}

// Unpacks `bytes` bytes that have come, where `count` elements are wanted.
void Operation::unpack_block(const char* from, std::size_t bytes, char* to, MPI_Count count) {
  const std::size_t room = static_cast<std::size_t>(count) * layout_.size;
  if (bytes > room) check(MPI_ERR_TRUNCATE);
  const MPI_Count whole = bytes >= room ? count : static_cast<MPI_Count>(bytes / layout_.size);
  check(unpack(from, to, whole, to_.type, layout_));
}

int Operation::finish(int status) {
  if (truncated_ || status == FERMATA_ERR_TRUNCATED) check(MPI_ERR_TRUNCATE);
  char* const at = static_cast<char*>(const_cast<void*>(to_.at));
  if (!to_.counts.given() && each_ == kAsSaid) {
    if (blocks_ != 0) check(unpack(packed_, at, to_.count * blocks_, to_.type, layout_));
    return error_;
  }
  for (int i = 0; i < blocks_; ++i) {
    if (each_ != kAsSaid)
      unpack_block(packed_ + static_cast<std::size_t>(i) * each_, each_, at + i * to_.count * layout_.extent,
                   to_.count);
    else
      unpack_block(packed_ + op_.out_displacements[i], op_.out_counts[i],
                   at + to_.displacements[i] * layout_.extent, to_.counts[i]);
  }
  return error_;
}

}  // namespace fermata::preload
