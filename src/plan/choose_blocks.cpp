// Chooses the schedule that moves blocks of a given size in the least predicted time.
#include <algorithm>
#include <utility>

#include "exec/block_program.hpp"
#include "plan/block_knowledge.hpp"
#include "plan/candidate.hpp"
#include "plan/choose_blocks.hpp"
#include "plan/compose_blocks.hpp"
#include "schedule/compose.hpp"
#include "schedule/contents.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

// The model cannot distinguish the degrees between these.
constexpr std::int32_t kDegrees[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
constexpr std::int32_t kSegments[] = {2, 4, 8, 16, 32, 64};
// The largest number of transfers into which a schedule is cut.
constexpr std::size_t kMostPipelined = 65536;
// An estimate: a smaller segment takes hardly longer than its signal.
constexpr double kLeastSegmentBytes = 4096;

// A further cut must reduce the time to this share. A smaller gain is noise, and each piece has a cost that
// the model does not know.
constexpr double kWorthwhile = 0.95;

// Factor on the predicted time of a rooted collective if whole blocks would be read directly, but the chunks
// are so small that they are copied through slots. The model treats slots as a steady stream, which is too
// fast. Broadcast between two processes: 2.6 us predicted and 3.7 us measured for 16 KiB, 8.3 us and 12.4 us
// for 64 KiB.
constexpr double kSlotsInstead = 1.5;

// After this many cuts in a row without a gain it stops, since each cut takes twice as long to predict.
constexpr int kMostInVain = 3;

// Compositions are stored, so only teams whose schedules are small enough get them.
constexpr std::int32_t kMostComposed = 1024, kMostComposedOfBlocks = 256, kMostByFamily = 64;

bool goes_straight(const Schedule& s) {
  for (const Stage& stage : s.stages) {
    for (const Transfer& t : stage.transfers) {
      const ChunkRule rule = rule_of(s, t.chunk);
      if (t.from != rule.starts_at || t.to != rule.ends_at) return false;
    }
  }
  return true;
}

// A transfer from a member to itself is not a step. Adjacent chunks from one member to another on another
// host are one message if they fit on a line (BlockOperation::join_lines).
std::size_t steps_of(const Schedule& schedule, const CostModel& model, double chunk_bytes) {
  std::size_t steps = 0;
  for (const Stage& stage : schedule.stages) {
    std::size_t moves = 0;
    const Transfer* before = nullptr;
    double on_line = 0;
    for (const Transfer& t : stage.transfers) {
      const bool message = model.is_message(t.from, t.to);
      on_line += chunk_bytes;
      const bool joins = message && before != nullptr && before->from == t.from && before->to == t.to &&
                         on_line <= static_cast<double>(kOnLine);
      if (!joins) on_line = chunk_bytes;
      before = &t;
      moves += joins || t.from == t.to ? 0 : message ? 2 : 1;
    }
    steps += moves + (moves != 0 ? 1 : 0);
  }
  return steps;
}

}  // namespace

BlockChooser::BlockChooser(const BlockCase& wanted, const CostModel* model)
    : wanted_(wanted),
      model_(model == nullptr ? flat_model(wanted.members) : *model),
      straight_(wanted.irregular && hides_lengths(wanted.collective)) {
  model_.further = further_share(model_);
  consider_table();
  if (!straight_) consider_compositions();
  std::stable_sort(ranked_.begin(), ranked_.end(), [](const BlockCandidate& a, const BlockCandidate& b) {
    // If memory bandwidth is the limit, many times are equal.
    return a.ns != b.ns ? a.ns < b.ns : a.path_ns < b.path_ns;
  });
  const auto fewer_steps = [](const BlockCandidate& a, const BlockCandidate& b) { return a.steps < b.steps; };
  // Calls of a scan also overlap, since no member waits for higher ranks. If members share CPUs, the work of
  // all members decides the time of a call, not the path. Example: a call of 8 bytes on 2 CPUs. By chain it
  // takes 0.3 us with 8 processes and 0.8 us with 16. By complete it takes 1.8 and 6.5 us.
  if (passes_on(wanted_.collective) && model_.members_per_cpu > 1)
    std::stable_sort(ranked_.begin(), ranked_.end(), fewer_steps);
  else if (passes_on(wanted_.collective) && !model_.hosts.empty() && wanted_.pattern != Pattern::kAlone)
    sort_by_period();
  if (!has_root(wanted_.collective) || ranked_.empty()) return;
  // Example: a broadcast of 16 KiB between two processes takes 3.7 us a call in two halves, in two stages. As
  // a whole, in one stage, it takes 1.6 us, though its prediction is 1.2 times as long.
  const double limit = ranked_.front().ns * (1 + kStreamNoise);
  const auto end =
      std::find_if(ranked_.begin(), ranked_.end(), [&](const BlockCandidate& c) { return c.ns > limit; });
  std::stable_sort(ranked_.begin(), end, fewer_steps);
}

// In a row: by period. If the pattern is not known, each candidate's score is the worse of two ratios: its
// latency to the least latency, and its period to the least period. Example: eight members on four hosts, 8
// bytes, 200 us apart. Recursive doubling has 0.8 of the chain's predicted latency, but sends 13 messages
// between hosts, the chain 3.
void BlockChooser::sort_by_period() {
  if (ranked_.empty()) return;
  for (BlockCandidate& c : ranked_) {
    const Schedule s = build(c);
    c.period_ns = period_cost(s, model_, LayoutChoice{}, chunk_bytes(s));
  }
  const double least_ns = ranked_.front().ns;
  const double least_period =
      std::min_element(ranked_.begin(), ranked_.end(), [](const BlockCandidate& a, const BlockCandidate& b) {
        return a.period_ns < b.period_ns;
      })->period_ns;
  const auto regret = [&](const BlockCandidate& c) {
    const double of_period = c.period_ns / least_period;
    return wanted_.pattern == Pattern::kInRow ? of_period : std::max(c.ns / least_ns, of_period);
  };
  std::stable_sort(ranked_.begin(), ranked_.end(),
                   [&](const BlockCandidate& a, const BlockCandidate& b) { return regret(a) < regret(b); });
}

Request BlockChooser::request(std::int32_t degree) const {
  return {
      .collective = wanted_.collective, .members = wanted_.members, .root = wanted_.root, .degree = degree};
}

double BlockChooser::chunk_bytes(const Schedule& schedule) const {
  return static_cast<double>(wanted_.bytes) * blocks_of(schedule.collective, schedule.members) /
         schedule.chunks;
}

void BlockChooser::predict(const Schedule& schedule, BlockCandidate& candidate) const {
  const double whole = static_cast<double>(wanted_.bytes), chunk = chunk_bytes(schedule);
  const Sizes& direct = model_.bytes.direct.of(folds(schedule.collective))[0];
  const auto lies = [&](double bytes) { return direct.has(static_cast<std::size_t>(bytes)); };
  const bool instead = has_root(schedule.collective) && lies(whole) && !lies(chunk);
  const Cost predicted = cost(schedule, model_, LayoutChoice{}, chunk);
  candidate.ns = predicted.critical_path_ns * (instead ? kSlotsInstead : 1);
  candidate.path_ns = *std::max_element(predicted.departure_ns.begin(), predicted.departure_ns.end());
}

void BlockChooser::consider_table() {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.serial && !wanted_.op.left_to_right) continue;
    for (const std::int32_t degree : kDegrees) {
      const Request r = request(algorithm.has_degree ? degree : 2);
      if (algorithm.has_degree && degree > 1 && degree >= r.members) break;
      if (algorithm.applicable(r) && serves(algorithm, r, wanted_.op) && !skipped(algorithm, r))
        consider(algorithm.build(r), {.name = {}, .algorithm = &algorithm, .degree = r.degree});
      if (!algorithm.has_degree) break;
    }
  }
}

// Composes along each tree: with the cheapest algorithm at each place, and with each family at all places.
void BlockChooser::consider_compositions() {
  const std::int32_t most = blocks_of(wanted_.collective, 2) > 1 ? kMostComposedOfBlocks : kMostComposed;
  if (wanted_.members < 4 || wanted_.members > most) return;
  const auto bytes = static_cast<double>(wanted_.bytes);
  for (const Cluster& tree : block_trees(model_, bytes)) {
    std::vector<std::string> families = {""};
    if (wanted_.members <= kMostByFamily)
      for (const Algorithm& algorithm : algorithms())
        if (algorithm.folding == nullptr && !algorithm.serial &&
            algorithm.applicable({.collective = wanted_.collective, .members = 2}))
          families.emplace_back(algorithm.name);
    for (const std::string& family : families) {
      Schedule s = compose_blocks(wanted_.collective, wanted_.root, bytes, model_, tree, family);
      const bool known = std::any_of(composed_.begin(), composed_.end(),
                                     [&](const Schedule& c) { return c.algorithm == s.algorithm; });
      if (s.stages.empty() || known) continue;
      composed_.push_back(std::move(s));
      consider(composed_.back(), {.name = {}, .composed = composed_.size() - 1});
    }
  }
}

void BlockChooser::consider(const Schedule& schedule, BlockCandidate candidate) {
  if (straight_ && !goes_straight(schedule)) return;
  predict(schedule, candidate);
  cut(schedule, candidate);
  candidate.steps =
      steps_of(schedule, model_, chunk_bytes(schedule)) * static_cast<std::size_t>(candidate.segments);
  candidate.name =
      schedule.algorithm + (candidate.segments > 1 ? "*" + std::to_string(candidate.segments) : "");
  ranked_.push_back(std::move(candidate));
}

void BlockChooser::cut(const Schedule& schedule, BlockCandidate& best) const {
  if (schedule.stages.size() < 2) return;  // one stage has nothing to overlap with
  const std::int64_t pieces = schedule.chunks / blocks_of(schedule.collective, schedule.members);
  int in_vain = 0;
  for (const std::int32_t segments : kSegments) {
    if (in_vain == kMostInVain) break;
    if (static_cast<double>(wanted_.bytes) / static_cast<double>(pieces * segments) < kLeastSegmentBytes)
      break;
    if (schedule.transfer_count() * static_cast<std::size_t>(segments) > kMostPipelined) break;
    if (std::int64_t{schedule.chunks} * segments > kMaxScheduleChunks) break;
    BlockCandidate piped = best;
    predict(pipeline(schedule, segments), piped);
    if (piped.ns > kWorthwhile * best.ns) {
      // While chunks exceed the caches, a cut without a gain does not count: shorter chunks may gain more.
      const double chunk = static_cast<double>(wanted_.bytes) / static_cast<double>(pieces * segments);
      if (model_.bytes.cached <= 0 || chunk <= model_.bytes.cached) ++in_vain;
      continue;
    }
    in_vain = 0;
    best = piped;
    best.segments = segments;
  }
}

Schedule BlockChooser::build(const BlockCandidate& c) const {
  Schedule s = pipeline(
      c.algorithm != nullptr ? c.algorithm->build(request(c.degree)) : composed_[c.composed], c.segments);
  s.algorithm = c.name;
  return s;
}

Schedule choose_blocks(const BlockCase& wanted, const CostModel* model, std::uint64_t preferred) {
  const BlockChooser chooser(wanted, model);
  std::vector<const BlockCandidate*> order;
  for (const BlockCandidate& c : chooser.ranked()) order.push_back(&c);
  if (preferred != 0)
    std::stable_partition(order.begin(), order.end(),
                          [&](const BlockCandidate* c) { return hash_of(c->name) == preferred; });
  for (const BlockCandidate* c : order) {
    Schedule schedule = chooser.build(*c);
    if (verify(schedule, wanted.op)) return schedule;
  }
  Schedule none;
  none.collective = wanted.collective;
  none.members = wanted.members;
  none.root = wanted.root;
  return none;
}

}  // namespace fermata
