#include "team/slots.hpp"

#include <algorithm>
#include <bit>

#include "os/os.hpp"
#include "plan/block_knowledge.hpp"
#include "sync/handover.hpp"
#include "team/blocks.hpp"

namespace fermata::team {
namespace {

using exec::Channel;

constexpr std::size_t kFew = 16;
constexpr std::int64_t kMostLateNs = 500'000'000;
constexpr std::uint32_t kPiecesOfUse = 40;  // log2 of the piece numbers of one use; no request has so many
// Pieces are so short that one collective takes at most 1/kShare of the heap, unless its elements are longer.
constexpr std::size_t kShare = 4;
// Bytes: four of them in each round trip of 0.4 ms are 1.3 GB/s.
constexpr std::size_t kQuarterOverHosts = std::size_t{128} << 10;

std::atomic<std::uint32_t>& holders_of(std::byte* base, std::uint64_t at) {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(base + at);
}

// Returns the bytes of a quarter of each ring buffer. The result is the same at all members, whatever each
// has to move. Where all know the largest block, its pieces decide; otherwise the longest piece does. Where
// many pairs exchange blocks, a quarter is smaller.
std::size_t own_quarter(const Checked& c, const CompiledBlocks& compiled, std::size_t heap_bytes) {
  const std::size_t quarters = exec::kRingQuarters * std::max<std::size_t>(1, compiled.edges.size());
  const std::size_t share = heap_bytes / kShare / quarters / exec::kRingLine * exec::kRingLine;
  std::size_t most = std::min(exec::kMostPiece, std::max(share, c.element));
  if (!c.hidden) {
    const std::size_t elements = (c.largest + compiled.pieces - 1) / compiled.pieces;
    most = std::min(most, elements * c.element);
  }
  return most <= exec::kOnLine ? 0 : round_up(most, exec::kRingLine);
}

// The size of a persistent collective's ring buffers.
struct Shape {
  std::uint64_t lines = exec::kLeastRingLines;
  std::size_t in_quarter = 0;
  std::size_t bytes(std::size_t rings) const { return rings * Channel::ring_bytes(lines, in_quarter); }
};

// How the ring buffers of a request grow with their lines.
struct Growth {
  std::size_t in_quarter;  // of the least
  bool irregular, over_hosts;
  // On one host, a regular collective's buffer holds one piece per line, an irregular one's does not grow:
  // its pieces are shorter than they may be. Over hosts it is as long as what is sent in a round trip.
  Shape with(std::uint64_t lines) const {
    const std::size_t for_each = in_quarter * lines / exec::kRingQuarters;
    if (over_hosts) return {lines, std::max(in_quarter, std::min(for_each, kQuarterOverHosts))};
    return {lines, irregular ? in_quarter : for_each};
  }
  Shape least() const { return with(exec::kLeastRingLines); }
};
Growth growth_of(const fermata_request& r, std::size_t in_quarter) {
  return {in_quarter, r.checked.irregular, r.member->member->team().hosts().are_several()};
}

// With more lines than the least number, a member runs further ahead in calls that wait for no answer. There
// are at most as many lines as in the ring buffers that all other collectives share. Calls take(shape, bytes
// beyond the least shape's) for shapes of fewer and fewer lines, until it returns true. The last one is the
// least.
template <class Take>
void take_longest(const exec::Team& team, const Growth& growth, std::size_t rings, Take&& take) {
  for (std::uint64_t lines = team.layout().ring_lines; lines > exec::kLeastRingLines; lines /= 2) {
    const Shape shape = growth.with(lines);
    const std::size_t beyond = shape.bytes(rings) - growth.least().bytes(rings);
    if (shape.in_quarter <= exec::kMostInQuarter && take(shape, beyond)) return;
  }
  take(growth.least(), std::size_t{0});
}

}  // namespace

SlotHeap::SlotHeap(std::byte* base, std::uint64_t begin, std::uint64_t bytes)
    : base_(base), room_{{begin, bytes}}, used_(begin), spare_(bytes / kSpareOfHeap) {}

SlotHeap::Part SlotHeap::take(std::uint64_t bytes, std::uint32_t holders, std::uint64_t spare) {
  const std::uint64_t whole = kMaxLine + round_up(bytes, kMaxLine);
  if (taken_.size() >= collect_at_) collect();
  // This comes first: if it throws, no memory of the heap is lost.
  if (taken_.size() == taken_.capacity()) taken_.reserve(2 * taken_.size() + kFew);
  std::uint64_t at = find(whole);
  if (at == 0) {
    collect();
    at = find(whole);
  }
  if (at == 0) return {};
  taken_.push_back({at, whole, spare});
  spare_ -= spare;
  // order: relaxed: the broadcast that announces the part orders this store
  holders_of(base_, at).store(holders, std::memory_order_relaxed);
  const bool used = at < used_;
  used_ = std::max(used_, at + whole);
  return {at, used};
}

// First fit: the used parts stay together at the beginning.
std::uint64_t SlotHeap::find(std::uint64_t bytes) {
  const auto it =
      std::find_if(room_.begin(), room_.end(), [&](const auto& room) { return room.second >= bytes; });
  if (it == room_.end()) return 0;
  auto node = room_.extract(it);
  const std::uint64_t at = node.key();
  node.key() += bytes;
  node.mapped() -= bytes;
  if (node.mapped() != 0) room_.insert(std::move(node));
  return at;
}

void SlotHeap::collect() {
  std::erase_if(taken_, [&](const Taken& part) {
    if (!references_are_gone<RealAtomics>(holders_of(base_, part.at)) || !put_back(part.at, part.bytes))
      return false;
    spare_ += part.spare;
    return true;
  });
  collect_at_ = 2 * taken_.size() + kFew;
}

bool SlotHeap::put_back(std::uint64_t at, std::uint64_t bytes) try {
  const auto next = room_.lower_bound(at);
  const bool touches_next = next != room_.end() && next->first == at + bytes;
  const auto before = next != room_.begin() ? std::prev(next) : room_.end();
  if (before != room_.end() && before->first + before->second == at) {
    before->second += bytes + (touches_next ? next->second : 0);
    if (touches_next) room_.erase(next);
  } else if (touches_next) {
    auto node = room_.extract(next);
    node.key() = at;
    node.mapped() += bytes;
    room_.insert(std::move(node));
  } else {
    room_.emplace(at, bytes);
  }
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

namespace {

std::uint64_t head_of(const exec::Team& team) {
  return kMaxLine +
         (team.hosts().are_several() ? round_up(team.members() * sizeof(std::uint64_t), kMaxLine) : 0);
}

std::uint64_t word_of(std::uint64_t at, std::uint32_t host) {
  return at + kMaxLine + host * sizeof(std::uint64_t);
}

// Returns the number of drops after all members of this host have freed all uses up to `use`.
std::uint32_t holders_until(const exec::Team& team, std::uint64_t use) {
  std::uint32_t here = 0;
  for (std::uint32_t r = 0; r < team.members(); ++r) here += team.hosts().is_away(r) ? 0 : 1;
  return here * static_cast<std::uint32_t>(use);
}

// Rank 0 asks: have all members on all hosts freed the part?
bool is_back(const exec::Team& team, const PartsOverHosts::Part& part) {
  if (!have_dropped<RealAtomics>(holders_of(team.base(), part.at), holders_until(team, part.use)))
    return false;
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    if (!team.hosts().is_away(r)) continue;
    const auto& word = *reinterpret_cast<const std::atomic<std::uint64_t>*>(
        team.base() + word_of(part.at, team.hosts().of(r)));
    // order: acquire: that host's members have ended all uses of the part. Pairs with land()'s kSlotPublish.
    if (RealAtomics::load_acquire<Site::kSlotAwait>(word) != part.use) return false;
  }
  return true;
}

void let_go_over_hosts(const exec::Team& team, std::uint64_t at, std::uint64_t use) {
  if (drop_another<RealAtomics>(holders_of(team.base(), at)) != holders_until(team, use) ||
      !team.hosts().is_away(0))
    return;
  net::Line line{.offset = word_of(at, team.hosts().here()), .header = use};
  team.port().write(line);
}

}  // namespace

PartsOverHosts::Part PartsOverHosts::take(const exec::Team& team, std::uint64_t bytes, std::uint64_t rings,
                                          std::uint64_t beyond) {
  for (Taken& taken : taken_) {
    if (taken.bytes != bytes || taken.rings != rings || !is_back(team, taken.part)) continue;
    ++taken.part.use;
    return taken.part;
  }
  const std::uint64_t whole = head_of(team) + round_up(bytes, kMaxLine), heap = team.layout().heap_bytes;
  if (whole > heap - used_ || beyond > (heap / kSpareOfHeap - beyond_) / kShareOfSpare) return {};
  taken_.push_back({{team.layout().heap + used_, 1}, bytes, rings});
  used_ += whole;
  beyond_ += beyond;
  return taken_.back().part;
}

HeldSlots::~HeldSlots() {
  if (team_ == nullptr) return;
  if (generation_ == os::fork_generation()) {
    if (use_ != 0) let_go_over_hosts(*team_, at_, use_);
    else drop_reference<RealAtomics>(holders_of(team_->base(), at_));
  }
  team_->release();
}

void HeldSlots::hold(exec::Team& team, std::uint64_t at, std::uint64_t use) {
  team.retain();
  team_ = &team;
  at_ = at;
  use_ = use;
  generation_ = os::fork_generation();
}

std::byte* HeldSlots::rings() const { return team_->base() + at_ + head_of(*team_); }

namespace {

// Calls take() again for up to kMostLateNs, since the lines that report a free part may still be in transit.
template <class Take>
PartsOverHosts::Part part_over_hosts(exec::Member& m, Take&& take) {
  const std::int64_t until = os::now_ns() + kMostLateNs;
  for (;;) {
    const bool last = os::now_ns() >= until;  // read first: this thread may be stopped before it looks
    m.team().attend_port();
    const PartsOverHosts::Part part = take();
    if (part.at != 0 || last) return part;
    m.progress();
    os::yield();
  }
}

}  // namespace

namespace {

// Indices of fermata_member::told, which rank 0 fills.
enum Told : std::uint8_t { kAt, kQuarter, kUse, kLines };
constexpr std::uint32_t kWords = 4;

// Checks rank 0's message, which another process may have overwritten.
bool lies_in_heap(const exec::Team& team, std::uint64_t at, std::uint64_t bytes) {
  const exec::TeamLayout& layout = team.layout();
  const std::uint64_t end = layout.heap + layout.heap_bytes;
  return at >= layout.heap && at % kMaxLine == 0 && at <= end && bytes <= end - at;
}

// Returns the shape that rank 0 has told, or no lines if it is not one of this request's, or not in the heap.
Shape told_shape(const exec::Team& team, const std::uint64_t (&told)[kWords], const Growth& growth,
                 std::size_t rings) {
  const std::uint64_t lines = told[kLines];
  if (!std::has_single_bit(lines) || lines < exec::kLeastRingLines || lines > team.layout().ring_lines)
    return {0, 0};
  const Shape shape = growth.with(lines);
  const bool ours = told[kQuarter] == shape.in_quarter;
  return ours && lies_in_heap(team, told[kAt], head_of(team) + shape.bytes(rings)) ? shape : Shape{0, 0};
}

// Rank 0 finds a part for the request. told[kAt] is 0 if there is none.
void find_part(fermata_request& r, std::size_t in_quarter, std::uint64_t (&told)[kWords]) {
  Blocks& blocks = *r.member->blocks;
  exec::Member& m = *r.member->member;
  const std::size_t rings = r.program->edges.size();
  const Growth growth = growth_of(r, in_quarter);
  Shape shape;
  if (m.team().hosts().are_several()) {
    const auto* edges = reinterpret_cast<const char*>(r.program->edges.data());
    const std::uint64_t joined = hash_of({edges, rings * sizeof(BlockEdge)});
    const auto take = [&] {
      PartsOverHosts::Part part;
      take_longest(m.team(), growth, rings, [&](const Shape& one, std::size_t beyond) {
        const std::uint64_t which = exec::with_plan(exec::with_plan(joined, one.in_quarter), one.lines);
        shape = one;
        part = blocks.parts.take(m.team(), one.bytes(rings), which, beyond);
        return part.at != 0;
      });
      return part;
    };
    const PartsOverHosts::Part part = part_over_hosts(m, take);
    told[kAt] = part.at;
    told[kUse] = part.use;
  } else {
    SlotHeap::Part part;
    bool tried = false;
    take_longest(m.team(), growth, rings, [&](const Shape& one, std::size_t beyond) {
      if (beyond > blocks.heap.spare() || (tried && beyond != 0)) return false;
      tried = true;
      shape = one;
      part = blocks.heap.take(one.bytes(rings), m.team().members(), beyond);
      return part.at != 0;
    });
    told[kAt] = part.at;
    if (part.used) Channel::clear(m.team().base() + part.at + kMaxLine, shape.lines, shape.in_quarter, rings);
  }
  told[kQuarter] = shape.in_quarter;
  told[kLines] = shape.lines;
}

// Returns the call as the other members compare it, which have memory for their requests.
exec::Call call_without_memory(const fermata_member* member, const fermata_operation& operation) {
  Checked checked;
  guarded([&] { return check(member, operation, &checked); });
  return call_of(checked, operation);
}

}  // namespace

int reserve_all(fermata_request& r) {
  r.prepared = true;
  const exec::Team& team = r.member->member->team();
  r.ends.resize(2 * r.program->edges.size() + 1);
  r.own = {team.base(), exec::kLeastRingLines, own_quarter(r.checked, *r.program, team.layout().heap_bytes),
           0, r.ends.data()};
  fill(r, false);
  r.filled = false;  // its ring buffers will be at another place
  return FERMATA_OK;
}

namespace {

// A member without a request must drop its hold of the part that rank 0 has told, too.
void drop_hold(const fermata_member& member) {
  exec::Team& team = member.member->team();
  HeldSlots nobodys;
  if (lies_in_heap(team, member.told[kAt], head_of(team)))
    nobodys.hold(team, member.told[kAt], member.told[kUse]);
}

}  // namespace

int take_slots(fermata_member* member, const fermata_operation& operation, fermata_request* r) {
  exec::Member& m = *member->member;
  const Status ready = m.prepares(r != nullptr ? r->core.call : call_without_memory(member, operation));
  if (ready != Status::kOk) return answer(member, ready);
  // It is not on the stack, since a broadcast that times out stays outstanding. Then fermata_resume completes
  // the broadcast after this function has returned, and makes no request.
  std::uint64_t(&told)[kWords] = member->told;
  std::fill(std::begin(told), std::end(told), 0);
  const std::size_t in_quarter = r != nullptr ? r->own.in_quarter : 0;
  if (m.rank() == 0 && r != nullptr) {
    const auto find = [&] { return find_part(*r, in_quarter, told), static_cast<int>(FERMATA_OK); };
    if (guarded(find) != FERMATA_OK) told[kAt] = 0;
  }
  const Status status = m.broadcast(told, sizeof told, 0);
  if (status == Status::kTimeout || status == Status::kInterrupted)
    member->at_end = [member](int ended) {
      if (ended == FERMATA_OK && member->told[kAt] != 0) drop_hold(*member);
      return ended;
    };
  if (status != Status::kOk) return answer(member, status);
  if (told[kAt] == 0)
    return fail(Status::kMemory,
                "all slots for persistent operations are in use, or rank 0 has no memory: free requests");
  if (r == nullptr) {
    drop_hold(*member);
    return fail(Status::kMemory, "rank %u has no memory for its part of a persistent operation", m.rank());
  }
  const std::size_t rings = r->program->edges.size();
  const Shape shape = told_shape(m.team(), told, growth_of(*r, in_quarter), rings);
  if (shape.lines == 0)
    return fail(Status::kMismatch, "the members prepare different operations, or rank 0's data are damaged");
  r->slots.hold(m.team(), told[kAt], told[kUse]);
  const std::uint64_t before = told[kUse] << kPiecesOfUse;
  Channel::End fresh;
  fresh.next = before + 1;
  fresh.credit_seen = before;
  std::fill(r->ends.begin(), r->ends.end(), fresh);
  r->own = {r->slots.rings(), shape.lines, shape.in_quarter, 0, r->ends.data()};
  return FERMATA_OK;
}

}  // namespace fermata::team
