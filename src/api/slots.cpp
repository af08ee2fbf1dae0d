#include "api/slots.hpp"

#include <algorithm>
#include <bit>

#include "api/blocks.hpp"
#include "os/os.hpp"
#include "plan/block_model.hpp"
#include "sync/handover.hpp"

namespace fermata::api {
namespace {

using exec::Channel;

constexpr std::size_t kFew = 16;
constexpr std::int64_t kMostLateNs = 500'000'000;
constexpr std::uint32_t kPiecesOfUse = 40;  // 2 to the power of it: more than any request has
constexpr std::size_t kShare = 4;           // no operation's pieces need be so long that it takes more than this part of the heap

std::atomic<std::uint32_t>& holders_of(std::byte* base, std::uint64_t at) {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(base + at);
}

// The same piece size at all members, whatever each has to move: what the largest block needs where all know it, else the most;
// less where many pairs exchange blocks.
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

// What the rings of a persistent operation are.
struct Shape {
  std::uint64_t lines = exec::kLeastRingLines;
  std::size_t in_quarter = 0;
  std::size_t bytes(std::size_t rings) const { return rings * Channel::ring_bytes(lines, in_quarter); }
};

// A ring whose lines all have room for a block of a regular operation: the buffer is for so many pieces.
Shape with_lines(std::uint64_t lines, std::size_t in_quarter, bool irregular) {
  if (irregular) return {lines, in_quarter};
  return {lines, in_quarter * lines / exec::kRingQuarters};
}

// Lines beyond the least let calls that nobody answers stream, as far as those of the rings that all other operations share.
std::uint64_t most_lines(const exec::Team& team, std::size_t in_quarter, bool irregular, std::size_t rings, std::uint64_t spare) {
  std::uint64_t lines = exec::kLeastRingLines;
  const std::size_t least = with_lines(lines, in_quarter, irregular).bytes(rings);
  while (2 * lines <= team.layout().ring_lines) {
    const Shape longer = with_lines(2 * lines, in_quarter, irregular);
    if (longer.in_quarter > exec::kMostInQuarter || longer.bytes(rings) > least + spare) break;
    lines *= 2;
  }
  return lines;
}

}  // namespace

SlotHeap::SlotHeap(std::byte* base, std::uint64_t begin, std::uint64_t bytes)
    : base_(base), room_{{begin, bytes}}, used_(begin), spare_(bytes / 8) {}

SlotHeap::Part SlotHeap::take(std::uint64_t bytes, std::uint32_t holders, std::uint64_t spare) {
  const std::uint64_t whole = kMaxLine + round_up(bytes, kMaxLine);
  if (taken_.size() >= collect_at_) collect();
  std::uint64_t at = find(whole);
  if (at == 0) {
    collect();
    at = find(whole);
  }
  if (at == 0) return {};
  taken_.push_back({at, whole, spare});
  spare_ -= spare;
  holders_of(base_, at).store(holders, std::memory_order_relaxed);  // order: told to the others by a broadcast, which orders it
  const bool used = at < used_;
  used_ = std::max(used_, at + whole);
  return {at, used};
}

// The first that fits: what is used stays together at the beginning.
std::uint64_t SlotHeap::find(std::uint64_t bytes) {
  const auto it = std::find_if(room_.begin(), room_.end(), [&](const auto& room) { return room.second >= bytes; });
  if (it == room_.end()) return 0;
  const auto [at, room] = *it;
  room_.erase(it);
  if (room > bytes) room_.emplace(at + bytes, room - bytes);
  return at;
}

void SlotHeap::collect() {
  std::erase_if(taken_, [&](const Taken& part) {
    if (!references_are_gone<RealAtomics>(holders_of(base_, part.at))) return false;
    put_back(part.at, part.bytes);
    spare_ += part.spare;
    return true;
  });
  collect_at_ = 2 * taken_.size() + kFew;
}

void SlotHeap::put_back(std::uint64_t at, std::uint64_t bytes) {
  auto next = room_.lower_bound(at);
  if (next != room_.end() && next->first == at + bytes) {
    bytes += next->second;
    next = room_.erase(next);
  }
  if (next != room_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == at) {
      before->second += bytes;
      return;
    }
  }
  room_.emplace(at, bytes);
}

namespace {

std::uint64_t head_of(const exec::Team& team) {
  return kMaxLine + (team.is_over_hosts() ? round_up(team.members() * sizeof(std::uint64_t), kMaxLine) : 0);
}

std::uint64_t word_of(std::uint64_t at, std::uint32_t host) { return at + kMaxLine + host * sizeof(std::uint64_t); }

// As many have let a part go when all of this host's members have, in all its uses.
std::uint32_t holders_until(const exec::Team& team, std::uint64_t use) {
  std::uint32_t here = 0;
  for (std::uint32_t r = 0; r < team.members(); ++r) here += team.is_away(r) ? 0 : 1;
  return here * static_cast<std::uint32_t>(use);
}

// By rank 0.
bool is_back(const exec::Team& team, const PartsOverHosts::Part& part) {
  if (!have_dropped<RealAtomics>(holders_of(team.base(), part.at), holders_until(team, part.use))) return false;
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    if (!team.is_away(r)) continue;
    const auto& word = *reinterpret_cast<const std::atomic<std::uint64_t>*>(team.base() + word_of(part.at, team.host_of(r)));
    // order: acquire: all that its members did with the part is over. Pairs with land()'s kSlotPublish.
    if (RealAtomics::load_acquire<Site::kSlotAwait>(word) != part.use) return false;
  }
  return true;
}

void let_go_over_hosts(const exec::Team& team, std::uint64_t at, std::uint64_t use) {
  if (drop_another<RealAtomics>(holders_of(team.base(), at)) != holders_until(team, use) || !team.is_away(0)) return;
  net::Line line{.offset = word_of(at, team.host()), .header = use};
  team.write(line);
}

}  // namespace

PartsOverHosts::Part PartsOverHosts::take(const exec::Team& team, std::uint64_t bytes, std::uint64_t rings) {
  for (Taken& taken : taken_) {
    if (taken.rings != rings || !is_back(team, taken.part)) continue;
    ++taken.part.use;
    return taken.part;
  }
  const std::uint64_t whole = head_of(team) + round_up(bytes, kMaxLine);
  if (whole > team.layout().heap_bytes - used_) return {};
  taken_.push_back({{team.layout().heap + used_, 1}, rings});
  used_ += whole;
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

// That all have let a part go is told by lines, which take their time.
PartsOverHosts::Part part_over_hosts(exec::Member& m, PartsOverHosts& parts, std::uint64_t bytes, std::uint64_t rings) {
  const std::int64_t until = os::now_ns() + kMostLateNs;
  for (;;) {
    m.team().attend_port();
    const PartsOverHosts::Part part = parts.take(m.team(), bytes, rings);
    if (part.at != 0 || os::now_ns() >= until) return part;
    m.progress();
    os::yield();
  }
}

}  // namespace

namespace {

// What rank 0 tells of rings: others may have written it.
bool lie_in_heap(const exec::Team& team, std::uint64_t at, std::uint64_t lines, std::size_t in_quarter, bool irregular, std::size_t rings) {
  const exec::TeamLayout& layout = team.layout();
  if (!std::has_single_bit(lines) || lines < exec::kLeastRingLines || lines > exec::kMostCrowdedLines) return false;
  const std::uint64_t bytes = head_of(team) + with_lines(lines, in_quarter, irregular).bytes(rings);
  const std::uint64_t end = layout.heap + layout.heap_bytes;
  return at >= layout.heap && at % kMaxLine == 0 && at <= end && bytes <= end - at;
}

}  // namespace

int take_slots(fermata_request& r) {
  fermata_member* member = r.member;
  exec::Member& m = *member->member;
  const Status ready = m.prepares(r.core.call);
  if (ready != Status::kOk) return answer(member, ready);
  const std::size_t in_quarter = own_quarter(r.checked, *r.program, m.team().layout().heap_bytes);
  const std::size_t rings = r.program->edges.size();
  const bool irregular = r.checked.irregular;
  // Not on the stack: a call that times out is outstanding, and goes on in fermata_resume, without a request to make.
  std::uint64_t(&told)[4] = member->blocks->told;
  told[0] = 0;
  told[1] = in_quarter;
  told[2] = 0;
  told[3] = exec::kLeastRingLines;
  if (m.rank() == 0 && m.team().is_over_hosts()) {
    const auto* edges = reinterpret_cast<const char*>(r.program->edges.data());
    const std::uint64_t which = exec::with_plan(hash_of({edges, rings * sizeof(BlockEdge)}), in_quarter);
    const std::size_t bytes = with_lines(told[3], in_quarter, irregular).bytes(rings);
    const PartsOverHosts::Part part = part_over_hosts(m, member->blocks->parts, bytes, which);
    told[0] = part.at;
    told[2] = part.use;
  } else if (m.rank() == 0) {
    SlotHeap& heap = member->blocks->heap;
    Shape shape = with_lines(told[3], in_quarter, irregular);
    const std::size_t least = shape.bytes(rings);
    const std::uint64_t lines = most_lines(m.team(), in_quarter, irregular, rings, heap.spare());
    const Shape longer = with_lines(lines, in_quarter, irregular);
    SlotHeap::Part part = heap.take(longer.bytes(rings), m.team().members(), longer.bytes(rings) - least);
    if (part.at != 0) shape = longer;
    else part = heap.take(least, m.team().members());
    told[0] = part.at;
    told[3] = shape.lines;
    if (part.used) Channel::clear(m.team().base() + part.at + kMaxLine, shape.lines, shape.in_quarter, rings);
  }
  const Status status = m.broadcast(told, sizeof told, 0);
  if (status != Status::kOk) return answer(member, status);
  if (told[0] == 0) return fail(Status::kMemory, "the team's slots for persistent operations are used up");
  if (told[1] != in_quarter || !lie_in_heap(m.team(), told[0], told[3], in_quarter, irregular, rings))
    return fail(Status::kMismatch, "the members prepare different operations");
  r.slots.hold(m.team(), told[0], told[2]);
  const std::uint64_t before = told[2] << kPiecesOfUse;
  Channel::End fresh;
  fresh.next = before + 1;
  fresh.credit_seen = before;
  r.ends.assign(2 * rings + 1, fresh);
  const Shape shape = with_lines(told[3], in_quarter, irregular);
  r.own = {r.slots.rings(), shape.lines, shape.in_quarter, 0, r.ends.data()};
  return FERMATA_OK;
}

}  // namespace fermata::api
