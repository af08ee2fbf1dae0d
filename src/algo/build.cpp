#include "algo/build.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "schedule/compose.hpp"
#include "schedule/contents.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

Transfer transfer(Collective collective, const Edge& edge, Action action) {
  Transfer t;
  t.from = edge.from;
  t.to = edge.to;
  if (collective == Collective::kBarrier) return t;
  t.chunk = 0;
  t.action = action;
  if (action == Action::kCombine) t.side = edge.side;
  return t;
}

void append(Schedule& schedule, const EdgeStages& edges, Action action) {
  for (const std::vector<Edge>& stage : edges) {
    Stage& into = schedule.stages.emplace_back();
    into.transfers.reserve(stage.size());
    for (const Edge& edge : stage) into.transfers.push_back(transfer(schedule.collective, edge, action));
  }
}

// Swaps two ranks. A rotation of all ranks would lose the locality of the others. Chunks of blocks move with
// their member.
void swap_ranks(Schedule& schedule, std::int32_t root) {
  const bool blocks = blocks_of(schedule.collective, schedule.members) > 1;
  const auto rank = [root](std::int32_t r) { return r == 0 ? root : r == root ? 0 : r; };
  for (Stage& stage : schedule.stages) {
    for (Transfer& t : stage.transfers) {
      t.from = rank(t.from);
      t.to = rank(t.to);
      if (blocks) t.chunk = rank(t.chunk);
    }
    if (blocks) order_messages(stage);
  }
}

// Every member passes on what it holds: its own chunk and those that came before. Returns what each member
// holds at the end.
std::vector<std::vector<std::int32_t>> gather(Schedule& schedule, const EdgeStages& arrival) {
  std::vector<std::vector<std::int32_t>> held(schedule.members);
  for (std::int32_t m = 0; m < schedule.members; ++m) held[m] = {m};
  for (const std::vector<Edge>& edges : arrival) {
    Stage& stage = schedule.stages.emplace_back();
    for (const Edge& e : edges) {
      for (const std::int32_t chunk : held[e.from]) stage.transfers.push_back(moved(e.from, e.to, chunk));
    }
    for (const Transfer& t : stage.transfers) held[t.to].push_back(t.chunk);
    for (const Edge& e : edges) std::sort(held[e.to].begin(), held[e.to].end());
  }
  return held;
}

void spread_lacking(Schedule& schedule, const EdgeStages& release,
                    const std::vector<std::vector<std::int32_t>>& held) {
  std::vector<std::vector<bool>> has(schedule.members, std::vector<bool>(schedule.members, false));
  for (std::int32_t m = 0; m < schedule.members; ++m) {
    for (const std::int32_t chunk : held[m]) has[m][chunk] = true;
  }
  for (const std::vector<Edge>& edges : release) {
    Stage& stage = schedule.stages.emplace_back();
    for (const Edge& e : edges) {
      for (std::int32_t chunk = 0; chunk < schedule.members; ++chunk) {
        if (has[e.from][chunk] && !has[e.to][chunk]) stage.transfers.push_back(moved(e.from, e.to, chunk));
      }
    }
    for (const Transfer& t : stage.transfers) has[t.to][t.chunk] = true;
  }
}

void reduce_all(Schedule& schedule, const EdgeStages& arrival) {
  for (const std::vector<Edge>& edges : arrival) {
    Stage& stage = schedule.stages.emplace_back();
    for (const Edge& e : edges) {
      for (std::int32_t chunk = 0; chunk < schedule.chunks; ++chunk)
        stage.transfers.push_back(folded(e.from, e.to, chunk, e.side));
    }
  }
}

// For collectives whose vector has one block per member.
void append_blocks(Schedule& schedule, const EdgeStages& arrival, const EdgeStages& release) {
  Schedule scatter = schedule;  // a gather, transposed
  if (schedule.collective == Collective::kScatter || schedule.collective == Collective::kReduceScatter) {
    gather(scatter, reversed(release));
    scatter = transpose(scatter);
  }
  if (schedule.collective == Collective::kGather) gather(schedule, arrival);
  if (schedule.collective == Collective::kAllgather)
    spread_lacking(schedule, release, gather(schedule, arrival));
  if (schedule.collective == Collective::kReduceScatter) reduce_all(schedule, arrival);
  if (schedule.collective == Collective::kScatter || schedule.collective == Collective::kReduceScatter)
    schedule.stages.insert(schedule.stages.end(), scatter.stages.begin(), scatter.stages.end());
}

}  // namespace

std::string spelled(const char* name, std::int32_t degree) {
  return std::string(name) + "(" + std::to_string(degree) + ")";
}

bool sane(const Request& r, std::int32_t least_degree) {
  return r.members >= 1 && r.members <= kMaxScheduleMembers && r.root >= 0 && r.root < r.members &&
         (r.half == Half::kWhole || r.root == 0) && (least_degree == 0 || r.degree >= least_degree);
}

bool in_pieces_applicable(const Request& r) {
  return sane(r) && r.half == Half::kWhole &&
         r.members <= (r.collective == Collective::kAlltoall ? kMaxAlltoallMembers : kMostPieces);
}

bool rooted_applicable(const Request& r, std::int32_t least_degree) {
  if (!sane(r, least_degree)) return false;
  if (r.collective == Collective::kAlltoall || r.collective == Collective::kScan ||
      r.collective == Collective::kExscan)
    return false;
  if (blocks_of(r.collective, 2) > 1) return in_pieces_applicable(r);
  if (r.half == Half::kArrive) return r.collective != Collective::kBroadcast;
  if (r.half == Half::kRelease) return r.collective != Collective::kReduce;
  return true;
}

bool exchange_applicable(const Request& r) {
  return sane(r) && r.half == Half::kWhole &&
         (r.collective == Collective::kBarrier || r.collective == Collective::kAllreduce);
}

Schedule frame_of(const Request& r, std::string name) {
  Schedule schedule;
  schedule.algorithm = std::move(name);
  schedule.collective = r.collective;
  schedule.members = r.members;
  schedule.root = has_root(r.collective) ? r.root : 0;
  schedule.chunks = static_cast<std::int32_t>(blocks_of(r.collective, r.members));
  return schedule;
}

Schedule from_halves(const Request& r, std::string name, const EdgeStages& arrival,
                     const EdgeStages& release) {
  Schedule schedule = frame_of(r, std::move(name));
  if (blocks_of(r.collective, 2) > 1) {
    append_blocks(schedule, arrival, release);
  } else {
    if (r.half != Half::kRelease && r.collective != Collective::kBroadcast)
      append(schedule, arrival, Action::kCombine);
    if (r.half != Half::kArrive && r.collective != Collective::kReduce)
      append(schedule, release, Action::kCopy);
  }
  if (schedule.root != 0) swap_ranks(schedule, schedule.root);
  return schedule;
}

Schedule from_exchange(const Request& r, std::string name, const EdgeStages& edges) {
  Schedule schedule = frame_of(r, std::move(name));
  append(schedule, edges, Action::kCombine);
  return schedule;
}

EdgeStages reversed(const EdgeStages& arrival) {
  EdgeStages out(arrival.rbegin(), arrival.rend());
  for (std::vector<Edge>& stage : out) {
    for (Edge& edge : stage) std::swap(edge.from, edge.to);
  }
  return out;
}

Transfer moved(std::int32_t from, std::int32_t to, std::int32_t chunk) {
  return {.from = from, .to = to, .chunk = chunk, .action = Action::kCopy};
}

Transfer folded(std::int32_t from, std::int32_t to, std::int32_t chunk, Side side) {
  return {.from = from, .to = to, .chunk = chunk, .action = Action::kCombine, .side = side};
}

Masters::Masters(std::int32_t members) : groups(1 << log2_floor(members)), pairs(members - groups) {}

std::int32_t log2_ceil(std::int32_t n) {
  return n <= 1 ? 0 : std::bit_width(static_cast<std::uint32_t>(n - 1));
}
std::int32_t log2_floor(std::int32_t n) { return std::bit_width(static_cast<std::uint32_t>(n)) - 1; }

}  // namespace fermata
