#include "api/slots.hpp"

#include <algorithm>

#include "api/blocks.hpp"
#include "os/os.hpp"
#include "sync/handover.hpp"

namespace fermata::api {
namespace {

using exec::Channel;

constexpr std::size_t kFew = 16;
constexpr std::size_t kShare = 4;  // no operation's pieces need be so long that it takes more than this part of the heap

std::atomic<std::uint32_t>& holders_of(std::byte* base, std::uint64_t at) {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(base + at);
}

// The same piece size at all members, whatever each has to move: what the largest block of a regular operation needs, else the most;
// less where many pairs exchange blocks.
std::size_t own_quarter(const Checked& c, const CompiledBlocks& compiled, std::size_t heap_bytes) {
  const std::size_t quarters = exec::kRingQuarters * std::max<std::size_t>(1, compiled.edges.size());
  const std::size_t share = heap_bytes / kShare / quarters / exec::kRingLine * exec::kRingLine;
  std::size_t most = std::min(exec::kMostPiece, std::max(share, c.element));
  if (!c.irregular) {
    const std::size_t elements = (c.largest + compiled.pieces - 1) / compiled.pieces;
    most = std::min(most, elements * c.element);
  }
  return most <= exec::kOnLine ? 0 : round_up(most, exec::kRingLine);
}

}  // namespace

SlotHeap::SlotHeap(std::byte* base, std::uint64_t begin, std::uint64_t bytes) : base_(base), room_{{begin, bytes}}, used_(begin) {}

SlotHeap::Part SlotHeap::take(std::uint64_t bytes, std::uint32_t holders) {
  const std::uint64_t whole = kMaxLine + round_up(bytes, kMaxLine);
  if (taken_.size() >= collect_at_) collect();
  std::uint64_t at = find(whole);
  if (at == 0) {
    collect();
    at = find(whole);
  }
  if (at == 0) return {};
  taken_.push_back({at, whole});
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

HeldSlots::~HeldSlots() {
  if (team_ == nullptr) return;
  if (generation_ == os::fork_generation()) drop_reference<RealAtomics>(holders_of(team_->base(), at_));
  team_->release();
}

void HeldSlots::hold(exec::Team& team, std::uint64_t at) {
  team.retain();
  team_ = &team;
  at_ = at;
  generation_ = os::fork_generation();
}

std::byte* HeldSlots::rings() const { return team_->base() + at_ + kMaxLine; }

int take_slots(fermata_request& r) {
  fermata_member* member = r.member;
  exec::Member& m = *member->member;
  const Status ready = m.prepares(r.core.call);
  if (ready != Status::kOk) return answer(member, ready);
  const std::size_t in_quarter = own_quarter(r.checked, *r.program, m.team().header().heap_bytes);
  const std::size_t rings = r.program->edges.size();
  // Not on the stack: a call that times out is outstanding, and goes on in fermata_resume, without a request to make.
  std::uint64_t (&told)[2] = member->blocks->told;
  told[0] = 0;
  told[1] = in_quarter;
  if (m.rank() == 0) {
    SlotHeap& heap = member->blocks->heap;
    const SlotHeap::Part part = heap.take(rings * Channel::ring_bytes(exec::kLeastRingLines, in_quarter), m.team().members());
    told[0] = part.at;
    if (part.used) Channel::clear(m.team().base() + part.at + kMaxLine, exec::kLeastRingLines, in_quarter, rings);
  }
  const Status status = m.broadcast(told, sizeof told, 0);
  if (status != Status::kOk) return answer(member, status);
  if (told[0] == 0) return fail(Status::kMemory, "the team's slots for persistent operations are used up");
  r.slots.hold(m.team(), told[0]);
  if (told[1] != in_quarter) return fail(Status::kMismatch, "the members prepare different operations");
  r.ends.assign(2 * rings + 1, {});
  r.own = {r.slots.rings(), exec::kLeastRingLines, in_quarter, 0, r.ends.data()};
  return FERMATA_OK;
}

}  // namespace fermata::api
