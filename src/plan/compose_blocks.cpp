#include "plan/compose_blocks.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "algo/algorithm.hpp"
#include "schedule/compose.hpp"
#include "schedule/contents.hpp"

namespace fermata {
namespace {

using Ranks = std::vector<std::int32_t>;

constexpr std::int32_t kDegrees[] = {2, 3, 4, 6, 8, 12, 16};
constexpr std::int32_t kMostChunks = 1024;  // of the vector, cut so that it fits all levels

double between(const CostModel& m, double bytes, std::int32_t i, std::int32_t j) {
  return m.o_at(i, j) + m.l_at(i, j) + bytes * std::min(m.g_at(i, j), m.direct_at(i, j));
}

// A cluster with its leader. Its children are in the order of their lowest ranks, so that folds can be in
// rank order.
struct Node {
  Ranks ranks;  // ascending
  std::vector<Node> children;
  std::int32_t leader = 0;

  Ranks participants() const {
    if (children.empty()) return ranks;
    Ranks leaders;
    for (const Node& child : children) leaders.push_back(child.leader);
    return leaders;
  }
  // For each participant, the ranks whose blocks it handles.
  std::vector<Ranks> groups() const {
    std::vector<Ranks> out;
    for (const Node& child : children) out.push_back(child.ranks);
    if (children.empty())
      for (const std::int32_t r : ranks) out.push_back({r});
    return out;
  }
};

bool holds(const Ranks& ascending, std::int32_t rank) {
  return std::binary_search(ascending.begin(), ascending.end(), rank);
}

std::int32_t nearest_to_others(const Ranks& ranks, const Ranks& all, const CostModel& model, double bytes) {
  std::int32_t best = ranks.front();
  double least = std::numeric_limits<double>::infinity();
  for (const std::int32_t r : ranks) {
    double sum = 0;
    for (const std::int32_t other : all)
      if (!holds(ranks, other)) sum += between(model, bytes, r, other) + between(model, bytes, other, r);
    if (sum < least * (1 - 1e-9)) {
      least = sum;
      best = r;
    }
  }
  return best;
}

Node arrange(const Cluster& cluster, std::int32_t leader, const CostModel& model, double bytes) {
  Node node;
  node.ranks = cluster.ranks;
  std::sort(node.ranks.begin(), node.ranks.end());
  node.leader = leader;
  for (const Cluster& child : cluster.children) {
    Ranks ranks = child.ranks;
    std::sort(ranks.begin(), ranks.end());
    const std::int32_t led_by =
        holds(ranks, leader) ? leader : nearest_to_others(ranks, node.ranks, model, bytes);
    node.children.push_back(arrange(child, led_by, model, bytes));
  }
  std::sort(node.children.begin(), node.children.end(),
            [](const Node& a, const Node& b) { return a.ranks.front() < b.ranks.front(); });
  return node;
}

// One algorithm at one place of the tree.
struct Part {
  Schedule schedule;
  Ranks participants;
  std::vector<Ranks> groups;  // chunk i is the blocks of groups[i]; empty: chunks cut the vector evenly
  std::size_t first_stage = 0;
};

class BlockComposer {
 public:
  BlockComposer(Collective collective, std::int32_t root, double bytes, const CostModel& model,
                const std::string& family)
      : collective_(collective), root_(root), bytes_(bytes), model_(model), family_(family) {}

  Schedule compose(const Node& top) {
    switch (collective_) {
      case Collective::kBroadcast:
      case Collective::kScatter: down(top, collective_, 0, 0); break;
      case Collective::kReduce:
      case Collective::kGather: up(top, collective_, 0, 0); break;
      case Collective::kAllreduce: across(top, Collective::kReduce, Collective::kBroadcast); break;
      case Collective::kAllgather: across(top, Collective::kGather, Collective::kBroadcast); break;
      case Collective::kReduceScatter: across(top, Collective::kReduce, Collective::kScatter); break;
      default: return {};
    }
    return assembled();
  }

 private:
  std::size_t up(const Node& node, Collective phase, std::size_t depth, std::size_t start) {
    std::size_t end = start;
    for (const Node& child : node.children) end = std::max(end, up(child, phase, depth + 1, start));
    return add(node, phase, depth, end);
  }

  void down(const Node& node, Collective phase, std::size_t depth, std::size_t start) {
    const std::size_t next = add(node, phase, depth, start);
    for (const Node& child : node.children) down(child, phase, depth + 1, next);
  }

  void across(const Node& top, Collective there, Collective back) {
    std::size_t end = 0;
    for (const Node& child : top.children) end = std::max(end, up(child, there, 1, 0));
    end = add(top, collective_, 0, end);
    for (const Node& child : top.children) down(child, back, 1, end);
  }

  // Returns the first stage after the new part.
  std::size_t add(const Node& node, Collective phase, std::size_t depth, std::size_t start) {
    Part part;
    part.participants = node.participants();
    part.first_stage = start;
    if (blocks_of(phase, 2) > 1) part.groups = node.groups();
    if (part.participants.size() < 2) return start;
    part.schedule = cheapest(part, phase, node);
    if (part.schedule.stages.empty()) impossible_ = true;
    if (names_.size() <= depth) names_.resize(depth + 1);
    std::vector<std::string>& names = names_[depth];
    if (std::find(names.begin(), names.end(), part.schedule.algorithm) == names.end())
      names.push_back(part.schedule.algorithm);
    parts_.push_back(std::move(part));
    return start + parts_.back().schedule.stages.size();
  }

  // Returns the bytes of all chunks of a part: the blocks of the node's members, or the whole vector.
  double bytes_of(const Part& part, const Node& node) const {
    if (!part.groups.empty()) return bytes_ * static_cast<double>(node.ranks.size());
    return bytes_ * static_cast<double>(blocks_of(collective_, model_.members));
  }

  Schedule cheapest(const Part& part, Collective phase, const Node& node) const {
    CostModel model = part_of(model_, part.participants, true);
    model.further = further_share(model);
    Request request{.collective = phase, .members = model.members};
    if (has_root(phase)) {
      const auto at = std::find(part.participants.begin(), part.participants.end(), node.leader);
      request.root = static_cast<std::int32_t>(at - part.participants.begin());
    }
    Schedule best, best_of_family;
    double least = std::numeric_limits<double>::infinity(), least_of_family = least;
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.folding != nullptr || algorithm.serial) continue;
      for (const std::int32_t degree : kDegrees) {
        request.degree = degree;
        if (algorithm.has_degree && degree > 2 && degree >= request.members) break;
        if (algorithm.applicable(request) && !skipped(algorithm, request)) {
          Schedule s = algorithm.build(request);
          const double ns = latency_cost(s, model, {}, bytes_of(part, node) / std::max(1, s.chunks));
          const bool of_family = family_ == algorithm.name && ns < least_of_family;
          if (of_family) least_of_family = ns;
          if (of_family) best_of_family = s;
          if (ns < least) {
            least = ns;
            best = std::move(s);
          }
        }
        if (!algorithm.has_degree) break;
      }
    }
    return best_of_family.stages.empty() ? best : best_of_family;
  }

  std::string name() const {
    std::string out;
    for (const std::vector<std::string>& level : names_) {
      out += out.empty() ? "" : "/";
      for (std::size_t i = 0; i < level.size(); ++i) out += (i ? "-" : "") + level[i];
    }
    return out;
  }

  // Returns the least number of pieces of the vector that fits the chunks of all parts; 0: it is too large.
  std::int32_t pieces() const {
    std::int64_t all = 1;
    for (const Part& part : parts_) {
      all = std::lcm(all, std::int64_t{part.schedule.chunks});
      if (all > kMostChunks) return 0;
    }
    return static_cast<std::int32_t>(all);
  }

  // Returns the chunks of the composed schedule that are chunk `c` of a part, in ascending order.
  static Ranks chunks_of(const Part& part, std::int32_t c, std::int32_t all) {
    if (!part.groups.empty()) return part.groups[static_cast<std::size_t>(c)];
    const auto bound = [&](std::int64_t k) {
      return static_cast<std::int32_t>(k * all / part.schedule.chunks);
    };
    Ranks out(static_cast<std::size_t>(bound(c + 1) - bound(c)));
    std::iota(out.begin(), out.end(), bound(c));
    return out;
  }

  Schedule assembled() const {
    Schedule out;
    out.collective = collective_;
    out.members = model_.members;
    out.root = has_root(collective_) ? root_ : 0;
    out.algorithm = name();
    const bool one_block = blocks_of(collective_, 2) == 1;
    const std::int32_t cut = one_block ? pieces() : out.members;
    if (impossible_ || cut == 0 || parts_.empty()) return {};
    out.chunks = cut;
    for (const Part& part : parts_) {
      const std::vector<Stage>& stages = part.schedule.stages;
      out.stages.resize(std::max(out.stages.size(), part.first_stage + stages.size()));
      for (std::size_t a = 0; a < stages.size(); ++a) {
        for (Transfer t : stages[a].transfers) {
          t.from = part.participants[static_cast<std::size_t>(t.from)];
          t.to = part.participants[static_cast<std::size_t>(t.to)];
          const std::int32_t chunk = t.chunk;
          for (const std::int32_t c : chunks_of(part, chunk, cut)) {
            t.chunk = c;
            out.stages[part.first_stage + a].transfers.push_back(t);
          }
        }
      }
    }
    if (collective_ == Collective::kAllgather) drop_known(out);
    std::erase_if(out.stages, [](const Stage& stage) { return stage.transfers.empty(); });
    for (Stage& stage : out.stages) order_messages(stage);
    return out;
  }

  // The way down the tree carries all blocks. Drops each transfer of a block that its receiver already has.
  static void drop_known(Schedule& s) {
    const auto n = static_cast<std::size_t>(s.members);
    std::vector<bool> has(n * n, false);
    const auto known = [&](const Transfer& t) {
      return has[static_cast<std::size_t>(t.to) * n + static_cast<std::size_t>(t.chunk)];
    };
    for (std::size_t i = 0; i < n; ++i) has[i * n + i] = true;
    for (Stage& stage : s.stages) {
      std::erase_if(stage.transfers, known);
      for (const Transfer& t : stage.transfers)
        has[static_cast<std::size_t>(t.to) * n + static_cast<std::size_t>(t.chunk)] = true;
    }
  }

  const Collective collective_;
  const std::int32_t root_;
  const double bytes_;
  const CostModel& model_;
  const std::string& family_;
  std::vector<Part> parts_;
  std::vector<std::vector<std::string>> names_;  // by depth, in the order of first use
  bool impossible_ = false;
};

}  // namespace

Schedule compose_blocks(Collective collective, std::int32_t root, double bytes, const CostModel& model,
                        const Cluster& tree, const std::string& family) {
  if (tree.children.empty()) return {};
  Schedule s = BlockComposer(collective, root, bytes, model, family)
                   .compose(arrange(tree, has_root(collective) ? root : -1, model, bytes));
  if (!s.stages.empty()) s.algorithm += " (" + shape_text(tree) + ")";
  return s;
}

std::vector<Cluster> block_trees(const CostModel& model, double bytes) {
  CostModel far = model;  // its distances include the time of the bytes
  for (std::int32_t i = 0; i < model.members; ++i)
    for (std::int32_t j = 0; j < model.members; ++j)
      far.l[static_cast<std::size_t>(i) * model.members + j] +=
          bytes * std::min(model.g_at(i, j), model.direct_at(i, j));
  const Cluster whole = cluster_by_distance(far, 0);
  std::vector<Cluster> trees = {whole};
  add_levels(trees, whole);
  std::erase_if(trees, [](const Cluster& tree) { return tree.children.empty(); });
  return trees;
}

}  // namespace fermata
