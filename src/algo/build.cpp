#include "algo/build.hpp"

#include <bit>
#include <utility>

namespace fermata {
namespace {

Transfer transfer(Kind kind, const Edge& edge, Action action) {
  Transfer t;
  t.from = edge.from;
  t.to = edge.to;
  if (kind == Kind::kBarrier) return t;
  t.chunk = 0;
  t.action = action;
  if (action == Action::kCombine) t.side = edge.side;
  return t;
}

void append(Schedule& schedule, const EdgeStages& edges, Action action) {
  for (const std::vector<Edge>& stage : edges) {
    Stage& into = schedule.stages.emplace_back();
    into.transfers.reserve(stage.size());
    for (const Edge& edge : stage) into.transfers.push_back(transfer(schedule.kind, edge, action));
  }
}

// Swapping two ranks, rather than rotating all, keeps the locality of all the others.
void swap_ranks(Schedule& schedule, std::int32_t root) {
  const auto rank = [root](std::int32_t r) { return r == 0 ? root : r == root ? 0 : r; };
  for (Stage& stage : schedule.stages) {
    for (Transfer& t : stage.transfers) {
      t.from = rank(t.from);
      t.to = rank(t.to);
    }
  }
}

}  // namespace

std::string spelled(const char* name, std::int32_t degree) {
  return std::string(name) + "(" + std::to_string(degree) + ")";
}

bool sane(const Request& r, std::int32_t least_degree) {
  return r.members >= 1 && r.members <= kMaxScheduleMembers && r.root >= 0 && r.root < r.members &&
         (r.half == Half::kWhole || r.root == 0) && (least_degree == 0 || r.degree >= least_degree);
}

bool rooted_applicable(const Request& r, std::int32_t least_degree) {
  if (!sane(r, least_degree)) return false;
  if (r.half == Half::kArrive) return r.kind != Kind::kBroadcast;
  if (r.half == Half::kRelease) return r.kind != Kind::kReduce;
  return true;
}

bool exchange_applicable(const Request& r) {
  return sane(r) && r.half == Half::kWhole && (r.kind == Kind::kBarrier || r.kind == Kind::kAllreduce);
}

Schedule frame_of(const Request& r, std::string name) {
  Schedule schedule;
  schedule.algorithm = std::move(name);
  schedule.kind = r.kind;
  schedule.members = r.members;
  const bool rooted = r.kind == Kind::kBroadcast || r.kind == Kind::kReduce;
  schedule.root = rooted ? r.root : 0;
  schedule.chunks = r.kind == Kind::kBarrier ? 0 : 1;
  return schedule;
}

Schedule from_halves(const Request& r, std::string name, const EdgeStages& arrival,
                     const EdgeStages& release) {
  Schedule schedule = frame_of(r, std::move(name));
  if (r.half != Half::kRelease && r.kind != Kind::kBroadcast) append(schedule, arrival, Action::kCombine);
  if (r.half != Half::kArrive && r.kind != Kind::kReduce) append(schedule, release, Action::kCopy);
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

std::int32_t log2_ceil(std::int32_t n) {
  return n <= 1 ? 0 : std::bit_width(static_cast<std::uint32_t>(n - 1));
}
std::int32_t log2_floor(std::int32_t n) { return std::bit_width(static_cast<std::uint32_t>(n)) - 1; }

}  // namespace fermata
