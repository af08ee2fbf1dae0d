// Which schedule moves blocks of a given size in the least predicted time.
#include <algorithm>
#include <vector>

#include "algo/algorithm.hpp"
#include "plan/blocks.hpp"
#include "profile/profile.hpp"
#include "schedule/compose.hpp"
#include "schedule/contents.hpp"

namespace fermata {
namespace {

// Trees of other degrees differ by less than the model knows.
constexpr double kFoldNsPerByte = 0.15;  // estimate: two streams of a core from memory
constexpr std::int32_t kDegrees[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
constexpr std::int32_t kSegments[] = {2, 4, 8, 16, 32, 64};
// Beyond so many transfers a schedule is not cut any further.
constexpr std::size_t kMostPipelined = 65536;
// A segment of less takes hardly longer than its signal; an estimate.
constexpr double kLeastSegmentBytes = 4096;

// Cutting further must gain as much; what the model says of less is noise, and each piece has a cost that it does not know.
constexpr double kWorthwhile = 0.95;

// O and L of cores that share a cache, ns: the order of the one-way latencies on the recorded machines; an estimate.
constexpr double kFlatO = 60, kFlatL = 40;

CostModel flat_model(std::int32_t members) {
  const auto n = static_cast<std::size_t>(members);
  CostModel model;
  model.members = members;
  model.o.assign(n * n, kFlatO);
  model.l.assign(n * n, kFlatL);
  model.g.assign(n * n, default_byte_ns(Level::kL3));
  for (std::size_t i = 0; i < n; ++i) {
    model.l[i * n + i] = 0;
    model.g[i * n + i] = default_byte_ns(Level::kSelf);
  }
  return model;
}

bool goes_straight(const Schedule& s) {
  for (const Stage& stage : s.stages) {
    for (const Transfer& t : stage.transfers) {
      const ChunkRule rule = rule_of(s, t.chunk);
      if (t.from != rule.starts_at || t.to != rule.ends_at) return false;
    }
  }
  return true;
}

bool hidden_sizes(Kind kind) { return kind == Kind::kGather || kind == Kind::kScatter || kind == Kind::kAlltoall; }

// How to build it again: hundreds of schedules of many members at once would fill the memory.
struct Choice {
  const Algorithm* algorithm = nullptr;
  std::int32_t degree = 2, segments = 1;
  double ns = 0;
  std::size_t order = 0;
};

class Chooser {
 public:
  Chooser(const Request& request, double block_bytes, bool straight, OpTraits op, const CostModel& model)
      : request_(request),
        block_bytes_(block_bytes),
        straight_(straight),
        may_repeat_(!folds(request.kind) || op.idempotent),
        model_(model) {}

  // Cheapest first; of equals the simpler, which comes first in the table.
  std::vector<Choice> run() {
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.redundant && !may_repeat_) continue;
      for (const std::int32_t degree : kDegrees) {
        request_.degree = algorithm.has_degree ? degree : 2;
        if (algorithm.has_degree && degree > 1 && degree >= request_.members) break;
        if (algorithm.applicable(request_)) consider(algorithm);
        if (!algorithm.has_degree) break;
      }
    }
    std::sort(choices_.begin(), choices_.end(),
              [](const Choice& a, const Choice& b) { return a.ns != b.ns ? a.ns < b.ns : a.order < b.order; });
    return choices_;
  }

  // Chunks that the busiest member folds: for each it reads its own, too, and writes the result.
  static double most_folds(const Schedule& schedule) {
    std::vector<double> folds(static_cast<std::size_t>(schedule.members));
    for (const Stage& stage : schedule.stages)
      for (const Transfer& x : stage.transfers)
        if (x.action == Action::kCombine) ++folds[static_cast<std::size_t>(x.to)];
    return *std::max_element(folds.begin(), folds.end());
  }

  Schedule build(const Choice& choice) {
    request_.degree = choice.degree;
    return pipeline(choice.algorithm->build(request_), choice.segments);
  }

 private:
  double time_of(const Schedule& schedule) const {
    const double pieces = schedule.chunks / static_cast<double>(blocks_of(schedule.kind, schedule.members));
    return cost(schedule, model_, LayoutChoice{}, block_bytes_ / pieces).critical_path_ns +
           kFoldNsPerByte * block_bytes_ / pieces * most_folds(schedule);
  }

  void consider(const Algorithm& algorithm) {
    const Schedule schedule = algorithm.build(request_);
    if (straight_ && !goes_straight(schedule)) return;
    Choice best{&algorithm, request_.degree, 1, time_of(schedule), choices_.size()};
    cut(schedule, best);
    choices_.push_back(best);
  }

  void cut(const Schedule& schedule, Choice& best) const {
    if (schedule.stages.size() < 2) return;  // within one stage there is nothing to overlap
    const std::int64_t pieces = schedule.chunks / blocks_of(schedule.kind, schedule.members);
    for (const std::int32_t segments : kSegments) {
      if (block_bytes_ / static_cast<double>(pieces * segments) < kLeastSegmentBytes) break;
      if (schedule.transfer_count() * static_cast<std::size_t>(segments) > kMostPipelined) break;
      if (std::int64_t{schedule.chunks} * segments > kMaxScheduleChunks) break;
      const double ns = time_of(pipeline(schedule, segments));
      if (ns > kWorthwhile * best.ns) continue;
      best.segments = segments;
      best.ns = ns;
    }
  }

  Request request_;
  const double block_bytes_;
  const bool straight_;
  const bool may_repeat_;
  const CostModel& model_;
  std::vector<Choice> choices_;
};

}  // namespace

Schedule choose_blocks(Kind kind, std::int32_t members, std::int32_t root, std::size_t block_bytes, bool irregular, OpTraits op,
                       const CostModel* model) {
  const Request request{.kind = kind, .members = members, .root = root};
  const CostModel flat = model == nullptr ? flat_model(members) : CostModel{};
  Chooser chooser(request, static_cast<double>(block_bytes), irregular && hidden_sizes(kind), op,
                  model == nullptr ? flat : *model);
  for (const Choice& choice : chooser.run()) {
    Schedule schedule = chooser.build(choice);
    if (verify(schedule, op)) return schedule;
  }
  Schedule none;
  none.kind = kind;
  none.members = members;
  none.root = root;
  return none;
}

}  // namespace fermata
