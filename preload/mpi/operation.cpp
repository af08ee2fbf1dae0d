#include "operation.hpp"

#include <stdlib.h>
#include <string.h>

namespace fermata::preload {

char* Operation::take(std::size_t bytes, bool zero) {
  const std::size_t least = bytes != 0 ? bytes : 1;
  void* memory = zero ? calloc(least, 1) : malloc(least);
  if (memory == nullptr) lacks_memory_ = true;
  else taken_[taken_count_++] = memory;
  return static_cast<char*>(memory);
}

// Two sizes for each block.
std::size_t* Operation::take_sizes(int blocks) {
  if (sizes_used_ + 2 * blocks > 4 * kInline)
    return reinterpret_cast<std::size_t*>(take(2 * static_cast<std::size_t>(blocks) * sizeof(std::size_t)));
  std::size_t* const sizes = sizes_ + sizes_used_;
  sizes_used_ += 2 * blocks;
  return sizes;
}

bool Operation::add(const Load& load) {
  char* const memory = take(sizeof(Load));
  if (memory == nullptr) return false;
  loads_[load_count_++] = new (memory) Load(load);
  return true;
}

void Operation::release() {
  for (int i = 0; i < taken_count_; ++i) free(taken_[i]);
  taken_count_ = 0;
  while (use_count_ != 0) end_use(uses_[--use_count_]);
}

void Operation::use_type(MPI_Datatype type) {
  if (predefined(type) == nullptr) use(MPI_OP_NULL, type);
}

void Operation::use_objects(bool loads) {
  if (blocks_ != 0) use_type(to_.type);
  if (op_.fold != nullptr) use_type(reduction_.datatype);
  if (op_.fold != nullptr && predefined_op(reduction_.operation) == nullptr)
    use(reduction_.operation, MPI_DATATYPE_NULL);
  for (int i = 0; loads && i < load_count_; ++i) use_type(loads_[i]->from.type);
}

int Operation::pack_inputs() {
  error_ = 0;
  for (int i = 0; i < load_count_; ++i) {
    const Load& l = *loads_[i];
    const auto* const at = static_cast<const char*>(l.from.at);
    if (l.places == nullptr) check(pack(at, l.from.count, l.from.type, l.layout, l.to));
    for (int b = l.first; b < l.last; ++b)
      check(pack(at + l.from.displacements[b] * l.layout.extent, l.from.counts[b], l.from.type, l.layout,
                 l.to + l.places[b]));
  }
  return error_;
}

void Operation::prepare_barrier() {
  op_.collective = FERMATA_ALLREDUCE;
  op_.in = FERMATA_IN_PLACE;
  op_.out = &nothing_;
  op_.count = 1;
  op_.type = FERMATA_UINT8;
  op_.op = FERMATA_MAX;
}

// A side's blocks in bytes. `together`: packed one after the other; else in place, from the lowest one on.
// Block `own` has own_bytes_, whatever the side says. Null counts: there is no memory.
Operation::Blocks Operation::blocks_of(const Side& side, const Layout& layout, int blocks, bool together,
                                       std::size_t* bytes, MPI_Aint* lowest, int own) {
  Blocks out{take_sizes(blocks), nullptr};
  if (out.counts == nullptr) return out;
  out.displacements = out.counts + blocks;
  *lowest = 0;
  if (!together)
    for (int b = 0; b < blocks; ++b)
      if (side.counts[b] != 0 && side.displacements[b] < *lowest)
        *lowest = static_cast<MPI_Aint>(side.displacements[b]);
  *bytes = 0;
  for (int b = 0; b < blocks; ++b) {
    out.counts[b] = b == own ? own_bytes_ : static_cast<std::size_t>(side.counts[b]) * layout.size;
    const MPI_Count from_lowest = side.counts[b] != 0 && !together ? side.displacements[b] - *lowest : 0;
    out.displacements[b] = together ? *bytes : static_cast<std::size_t>(from_lowest) * layout.size;
    *bytes += out.counts[b];
  }
  return out;
}

bool Operation::set_irregular_in(const Side& side, const Layout& layout, int blocks, bool copy) {
  std::size_t bytes = 0;
  MPI_Aint lowest = 0;
  const bool together = copy || !layout.dense;
  const Blocks b = blocks_of(side, layout, blocks, together, &bytes, &lowest);
  if (b.counts == nullptr) return false;
  op_.in_counts = b.counts;
  op_.in_displacements = b.displacements;
  op_.in = static_cast<const char*>(side.at) + lowest * layout.extent;
  if (!together) return side.at != nullptr || bytes == 0;
  char* const packed = take(bytes);
  op_.in = packed;
  return packed != nullptr && add({side, layout, packed, b.displacements, 0, blocks});
}

// `blocks` blocks of side.count elements each, or irregular ones. False: a mistake.
bool Operation::set_in(const Side& side, int blocks, bool copy) {
  Layout layout;
  if (!layout_of(side.type, &layout)) return false;
  if (side.counts.given()) {
    for (int b = 0; b < blocks; ++b)
      if (side.counts[b] < 0) return false;
    return side.displacements.given() && set_irregular_in(side, layout, blocks, copy);
  }
  if (side.count < 0) return false;
  op_.in = side.at;
  if (layout.dense && !copy) return side.at != nullptr || side.count == 0 || layout.size == 0;
  char* const packed = take(static_cast<std::size_t>(side.count * blocks) * layout.size);
  op_.in = packed;
  return packed != nullptr && add({{side.at, side.count * blocks, side.type}, layout, packed});
}

bool Operation::set_irregular_out(const Side& side, const Layout& layout, int blocks, int own) {
  std::size_t bytes = 0;
  MPI_Aint lowest = 0;
  const bool together = !layout.dense || own_bytes_ != kAsSaid || overlaps_itself(side, blocks);
  const Blocks b =
      blocks_of(side, layout, blocks, together, &bytes, &lowest, own_bytes_ != kAsSaid ? rank_ : kNone);
  if (b.counts == nullptr) return false;
  op_.out_counts = b.counts;
  op_.out_displacements = b.displacements;
  op_.out = static_cast<char*>(const_cast<void*>(side.at)) + lowest * layout.extent;
  if (!together) return side.at != nullptr || bytes == 0;
  packed_ = take(bytes);
  if (packed_ == nullptr) return false;
  op_.out = packed_;
  blocks_ = blocks;
  if (own == kAll) return add({side, layout, packed_, b.displacements, 0, blocks});
  if (own >= 0) return add({side, layout, packed_, b.displacements, own, own + 1});
  // A rank that sends itself another length than it expects may also get other lengths from the rest. Bytes
  // that do not arrive must keep their values.
  return own_bytes_ == kAsSaid || (add({side, layout, packed_, b.displacements, 0, rank_}) &&
                                   add({side, layout, packed_, b.displacements, rank_ + 1, blocks}));
}

// own: the block that is input as well, or kNone or kAll.
bool Operation::set_out(const Side& side, int blocks, int own) {
  if (!layout_of(side.type, &layout_)) return false;
  to_ = side;
  if (side.counts.given()) {
    for (int b = 0; b < blocks; ++b)
      if (side.counts[b] < 0) return false;
    return side.displacements.given() && set_irregular_out(side, layout_, blocks, own);
  }
  if (side.count < 0) return false;
  op_.out = const_cast<void*>(side.at);
  if (layout_.dense) return side.at != nullptr || side.count == 0 || layout_.size == 0;
  const std::size_t each = static_cast<std::size_t>(side.count) * layout_.size;
  packed_ = take(each * static_cast<std::size_t>(blocks));
  if (packed_ == nullptr) return false;
  op_.out = packed_;
  blocks_ = blocks;
  if (own == kAll) return add({{side.at, side.count * blocks, side.type}, layout_, packed_});
  return own < 0 ||
         add({{static_cast<const char*>(side.at) + own * side.count * layout_.extent, side.count, side.type},
              layout_,
              packed_ + each * static_cast<std::size_t>(own)});
}

// The blocks of a reduce_scatter's input, of different sizes and one after the other. False: a mistake.
bool Operation::set_reduced_blocks(const Side& out, int blocks, MPI_Count* all) {
  std::size_t* const counts = take_sizes(blocks);
  if (counts == nullptr) return false;
  *all = 0;
  for (int b = 0; b < blocks; ++b) {
    const MPI_Count count = out.counts[b];
    if (count < 0) return false;
    counts[b] = static_cast<std::size_t>(count) * reduction_.parts;
    counts[blocks + b] = static_cast<std::size_t>(*all) * reduction_.parts;
    *all += count;
  }
  op_.irregular = 1;
  op_.in_counts = counts;
  op_.in_displacements = counts + blocks;
  return true;
}

// Makes the memory in which elements with gaps are folded: both operands unpacked. It has room for as many
// elements as fit into kAtOnce bytes, at least one and at most `most`. The operator may read everything
// between the parts of an element, so the gaps have memory, too.
bool Operation::set_fold_space(std::size_t most) {
  constexpr std::size_t kAtOnce = 64 * 1024;
  FoldSpace& space = reduction_.space;
  MPI_Aint true_extent = 0;
  if (PMPI_Type_get_true_extent(reduction_.datatype, &space.low, &true_extent) != MPI_SUCCESS) return false;
  const MPI_Aint extent = reduction_.layout.extent;
  const auto each = static_cast<std::size_t>(extent < 0 ? -extent : extent);
  const std::size_t fit = each != 0 ? kAtOnce / each : most;
  space.elements = fit == 0 || most == 0 ? 1 : fit < most ? fit : most;
  const std::size_t apart = each * (space.elements - 1);
  space.bytes = apart + static_cast<std::size_t>(true_extent);
  space.low -= extent < 0 ? static_cast<MPI_Aint>(apart) : 0;
  space.at = take(2 * space.bytes, true);
  return space.at != nullptr;
}

bool Operation::prepare_reduction(const State& s, const Arguments& a) {
  if (!reduction_of(a.out.type, a.op, s.size, &reduction_) || a.out.count < 0) return false;
  const CollectiveRules& rules = rules_of(a.collective);
  const bool gets = rules.writes(s.rank == a.root);
  op_.count = static_cast<std::size_t>(a.out.count) * reduction_.parts;
  if (reduction_.type >= 0) {
    op_.type = reduction_.type;
    op_.op = reduction_.op;
  } else {
    op_.element = reduction_.element;
    op_.fold = fold_by_library;
    op_.user = &reduction_;
    op_.ordered = reduction_.commutes ? FERMATA_ANY_ORDER : FERMATA_RANK_ORDER;
  }
  Side in{a.in.at, a.out.count, a.out.type};
  if (rules.differs_by_receiver()) in.count *= s.size;
  if (a.irregular && !set_reduced_blocks(a.out, s.size, &in.count)) return false;
  const bool in_place = is_in_place(a.in) && gets;
  if (is_in_place(a.in) && !gets) return false;
  // The same buffer twice, without MPI_IN_PLACE: MPI libraries call that a mistake, or carry it out.
  if (gets && !in_place && a.in.at == a.out.at && in.count != 0) return false;
  // A rank that gets an empty block may pass no memory for it.
  const bool gets_nothing = a.irregular && a.out.count == 0 && a.out.at == nullptr && !in_place;
  if (in.count == 0) {
    op_.in = in_place ? FERMATA_IN_PLACE : a.in.at;
    op_.out = const_cast<void*>(a.out.at);
    return true;
  }
  if (!reduction_.packed) {
    op_.in = in_place ? FERMATA_IN_PLACE : a.in.at;
    op_.out = gets_nothing ? &nothing_ : gets ? const_cast<void*>(a.out.at) : nullptr;
    // The first rank of an exclusive scan gets no result, and may pass no memory for one.
    const bool bare = rules.folded(s.rank, s.size) == 0 && a.out.at == nullptr && !in_place;
    if (bare) op_.out = take(static_cast<std::size_t>(a.out.count) * reduction_.element);
    return !lacks_memory_ && op_.in != nullptr && (!gets || op_.out != nullptr);
  }
  if (!set_fold_space(static_cast<std::size_t>(in.count))) return false;
  if (gets && !set_out({a.out.at, a.out.count, a.out.type}, 1, kNone)) return false;
  if (gets_nothing) op_.out = &nothing_;
  // An exclusive scan leaves the first rank's memory unchanged.
  if (rules.folded(s.rank, s.size) == 0) blocks_ = 0;
  if (in_place) in.at = a.out.at;
  return set_in(in, 1, false);
}

bool Operation::prepare(const State& s, const Arguments& a) {
  const CollectiveRules& rules = rules_of(a.collective);
  if (rules.has_root() && (a.root < 0 || a.root >= s.size)) return false;
  // MPI_IN_PLACE as output is a mistake, except for the own block of a scatter's root.
  if (is_in_place(a.out) && rules.writes(s.rank == a.root) && !rules.in_place_is_output()) return false;
  op_.collective = a.collective;
  op_.root = a.root;
  rank_ = s.rank;
  return rules.folds() ? prepare_reduction(s, a) : prepare_data(s, a);
}

std::uint64_t Operation::length(int ranks) const {
  const CollectiveRules& rules = rules_of(op_.collective);
  if (op_.irregular == 0) return op_.count;
  if (rules.hides_lengths()) return 0;
  const std::size_t* const counts = rules.differs_by_giver() ? op_.out_counts : op_.in_counts;
  std::uint64_t hash = 0;
  for (int r = 0; r < ranks; ++r) hash = (hash ^ counts[r] ^ hash >> 32) * 0x9E37'79B9'7F4A'7C15u;
  return hash;
}

// For the root of a reduce to which the others send more than it has room for.
bool Operation::take_longer(const Arguments& a, std::size_t count) {
  const auto own = static_cast<MPI_Count>(op_.count / reduction_.parts);
  const std::size_t elements = count / reduction_.parts;
  const std::size_t bytes = elements * reduction_.element;
  if (reduction_.packed && reduction_.space.at == nullptr && !set_fold_space(elements)) return false;
  char* const in = take(bytes, true);
  packed_ = take(bytes);
  if (in == nullptr || packed_ == nullptr) return false;
  // Predefined pairs are sent and folded with their gaps.
  to_ = {a.out.at, own, a.out.type};
  layout_ = reduction_.layout;
  if (!reduction_.packed) {
    to_ = {a.out.at, own * static_cast<MPI_Count>(reduction_.element), MPI_BYTE};
    layout_ = {1, 1, true};
  }
  if (load_count_ != 0) loads_[0]->to = in;
  else if (!add({{is_in_place(a.in) ? a.out.at : a.in.at, to_.count, to_.type}, layout_, in})) return false;
  op_.in = in;
  op_.out = packed_;
  op_.count = count;
  blocks_ = 1;
  each_ = bytes;
  return true;
}

bool Operation::take_length(const Arguments& a, std::size_t theirs) {
  if (op_.count == theirs) return true;
  if (op_.collective == FERMATA_BROADCAST) {
    op_.count = theirs;
    return expect_blocks(1, theirs);
  }
  if (theirs % reduction_.parts != 0) return false;
  if (theirs > op_.count) return take_longer(a, theirs);
  op_.count = theirs;
  to_.count = static_cast<MPI_Count>(theirs / reduction_.parts);
  return true;
}

bool Operation::rides() const {
  if (op_.collective == FERMATA_BROADCAST) return op_.count <= FERMATA_MAX_PAYLOAD;
  const bool may = op_.collective == FERMATA_ALLREDUCE || op_.collective == FERMATA_REDUCE;
  return may && reduction_.type >= 0 &&
         op_.count / reduction_.parts * reduction_.element <= FERMATA_MAX_PAYLOAD;
}

bool Operation::is_short() const {
  constexpr std::size_t kShort = 4096;
  const std::size_t element = reduction_.type >= 0 ? reduction_.element / reduction_.parts
                              : op_.element != 0   ? op_.element
                                                   : 1;
  return op_.count <= kShort / element;
}

bool Operation::is_same(const Operation& other, int ranks) const {
  const fermata_operation &a = op_, &b = other.op_;
  const auto alike = [=](const std::size_t* x, const std::size_t* y) {
    return (x == nullptr) == (y == nullptr) &&
           (x == nullptr || memcmp(x, y, static_cast<std::size_t>(ranks) * sizeof *x) == 0);
  };
  return a.collective == b.collective && a.in == b.in && a.out == b.out && a.count == b.count &&
         a.type == b.type && a.op == b.op && a.root == b.root && a.irregular == b.irregular &&
         alike(a.in_counts, b.in_counts) && alike(a.out_counts, b.out_counts) &&
         alike(a.in_displacements, b.in_displacements) && alike(a.out_displacements, b.out_displacements);
}

int Operation::execute(State& s) const {
  const fermata_operation& o = op_;
  fermata_member* const m = s.member;
  if (o.fold != nullptr) return fermata_execute(m, &o);
  if (o.irregular != 0 && o.collective == FERMATA_REDUCE_SCATTER)
    return fermata_reduce_scatterv(m, o.in, o.in_counts, o.in_displacements, o.out, o.type, o.op);
  if (o.irregular != 0) return fermata_execute(m, &o);
  switch (o.collective) {  // small ones are carried on lines
    case FERMATA_BROADCAST: return fermata_broadcast(m, o.out, o.count, o.root);
    case FERMATA_REDUCE: return fermata_reduce(m, o.in, o.out, o.count, o.type, o.op, o.root);
    case FERMATA_ALLREDUCE: return fermata_allreduce(m, o.in, o.out, o.count, o.type, o.op);
    case FERMATA_GATHER: return fermata_gather(m, o.in, o.out, o.count, o.type, o.root);
    case FERMATA_SCATTER: return fermata_scatter(m, o.in, o.out, o.count, o.type, o.root);
    case FERMATA_ALLGATHER: return fermata_allgather(m, o.in, o.out, o.count, o.type);
    case FERMATA_REDUCE_SCATTER: return fermata_reduce_scatter(m, o.in, o.out, o.count, o.type, o.op);
    case FERMATA_ALLTOALL: return fermata_alltoall(m, o.in, o.out, o.count, o.type);
    case FERMATA_SCAN: return fermata_scan(m, o.in, o.out, o.count, o.type, o.op);
    default: return fermata_exscan(m, o.in, o.out, o.count, o.type, o.op);
  }
}

}  // namespace fermata::preload
