// Composed candidates for plans on lines: the cheapest schedule of each cluster, joined level by level.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "algo/algorithm.hpp"
#include "plan/choices.hpp"
#include "plan/line_search.hpp"
#include "schedule/compose.hpp"

namespace fermata {
namespace {

// An algorithm for a half of the collective, or for the whole, in one cluster, and its cost there.
struct Option {
  const Algorithm* algorithm = nullptr;
  std::int32_t degree = 2;
  bool transposed = false;  // the release is the transposed arrival
  double cost_ns = std::numeric_limits<double>::infinity();
};

struct Level {
  std::vector<std::int32_t> ranks;             // participants: members of a leaf, or leaders of children
  std::vector<Option> arrive, release, whole;  // cheapest first
};

struct Joined {
  Schedule arrive, release;
  std::string name;
};

std::vector<std::int32_t> participants(const Cluster& node) {
  if (node.children.empty()) return node.ranks;
  std::vector<std::int32_t> leaders;
  for (const Cluster& child : node.children) leaders.push_back(child.ranks.front());
  return leaders;
}

bool arrives(Collective collective) { return !root_gives(collective); }
bool releases(Collective collective) { return !root_gets(collective); }

class Composer {
 public:
  Composer(const Topology& topology, const PlanKey& key, const CostModel& model)
      : key_(key), model_(model), hosts_(hosts_of(topology, key)), mean_(mean_distance(model)) {}

  // family: the algorithm for all levels where it is applicable; empty: the cheapest one at each level.
  Draft compose(const Cluster& tree, const std::string& family) {
    Joined joined = join(tree, family, true);
    Draft draft;
    draft.schedule = arrives(key_.collective) && releases(key_.collective)
                         ? then(joined.arrive, joined.release)
                     : arrives(key_.collective) ? std::move(joined.arrive)
                                                : std::move(joined.release);
    draft.schedule.algorithm = joined.name;
    draft.levels = tree;
    draft.family = (family.empty() ? "greedy" : family) + " along " + shape_text(tree);
    return draft;
  }

 private:
  // Equal clusters have equal matrices and equal costs, so options are stored by the content of the matrices.
  using Content = std::vector<double>;

  Request request(std::int32_t members, Half half, std::int32_t degree) const {
    return {.collective = key_.collective, .half = half, .members = members, .root = 0, .degree = degree};
  }

  Schedule build(const Option& option, std::int32_t members, Half half) const {
    Schedule s = option.transposed
                     ? transpose(option.algorithm->build(request(members, Half::kArrive, option.degree)))
                     : option.algorithm->build(request(members, half, option.degree));
    s.collective = key_.collective;
    return s;
  }

  std::vector<Option> rank_options(const CostModel& part, bool one_memory, Half half) const {
    std::vector<Option> options;
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.cuts) continue;
      const std::vector<std::int32_t> degrees =
          algorithm.has_degree ? degrees_to_try(part.members) : std::vector<std::int32_t>{2};
      for (const std::int32_t degree : degrees) {
        Option option{&algorithm, degree, false, 0};
        if (!algorithm.applicable(request(part.members, half, degree))) {
          // An algorithm without a release uses its transposed arrival (combine becomes copy), if that has no
          // words.
          option.transposed =
              half == Half::kRelease && algorithm.applicable(request(part.members, Half::kArrive, degree));
          if (!option.transposed) continue;
          if (!algorithm.build(request(part.members, Half::kArrive, degree)).words.empty()) continue;
        }
        const Request whole = request(part.members, Half::kWhole, degree);
        if (!serves(algorithm, whole, algebra_of(key_.collective)) || skipped(algorithm, whole)) continue;
        const Schedule s = build(option, part.members, half);
        // Words carry no data and never span hosts.
        if (!s.words.empty() && (key_.payload > 0 || !one_memory)) continue;
        option.cost_ns = latency_cost(s, part, {});
        options.push_back(option);
      }
    }
    std::stable_sort(options.begin(), options.end(),
                     [](const Option& a, const Option& b) { return a.cost_ns < b.cost_ns; });
    return options;
  }

  std::int32_t host(std::int32_t rank) const { return hosts_[static_cast<std::size_t>(rank)]; }

  const Level& level_of(const std::vector<std::int32_t>& ranks, bool root) {
    CostModel part = part_of(model_, ranks, false);
    const bool one_memory =
        std::all_of(ranks.begin(), ranks.end(), [&](std::int32_t r) { return host(r) == host(ranks[0]); });
    Content content = part.o;
    content.insert(content.end(), part.l.begin(), part.l.end());
    content.push_back((root ? 1 : 0) + (one_memory ? 2 : 0));
    const auto [at, fresh] = levels_.try_emplace(std::move(content));
    if (fresh) {
      part.further = further_share(part);
      if (mean_ > 0) {  // a word's cost scales with the distance between its users
        const double share = mean_distance(part) / mean_;
        part.word_add *= share;
        part.word_read *= share;
      }
      if (arrives(key_.collective)) at->second.arrive = rank_options(part, one_memory, Half::kArrive);
      if (releases(key_.collective)) at->second.release = rank_options(part, one_memory, Half::kRelease);
      if (root && arrives(key_.collective) && releases(key_.collective))
        at->second.whole = rank_options(part, one_memory, Half::kWhole);
    }
    return at->second;
  }

  static std::optional<Option> best_of(const std::vector<Option>& options, const std::string& family) {
    for (const Option& o : options)
      if (!family.empty() && family == o.algorithm->name) return o;
    return options.empty() ? std::nullopt : std::optional<Option>(options.front());
  }

  Joined join_children(const Cluster& node, const std::string& family) {
    Joined all;
    all.arrive = all.release = nothing();
    std::set<std::string> names;
    for (const Cluster& child : node.children) {
      if (child.ranks.size() < 2) continue;
      Joined one = join(child, family, false);
      all.arrive = beside(all.arrive, one.arrive, Align::kEarly);
      all.release = beside(all.release, one.release, Align::kLate);
      names.insert(one.name);
    }
    for (const std::string& name : names) all.name += (all.name.empty() ? "" : "|") + name;
    return all;
  }

  Joined join(const Cluster& node, const std::string& family, bool root) {
    const std::vector<std::int32_t> ranks = participants(node);
    const auto members = static_cast<std::int32_t>(ranks.size());
    Joined below = join_children(node, family);
    const Level& level = level_of(ranks, root);
    const auto arrive = best_of(level.arrive, family);
    const auto release = best_of(level.release, family);
    const auto whole = best_of(level.whole, family);
    const double halves = (arrive ? arrive->cost_ns : 0) + (release ? release->cost_ns : 0);
    std::string own;
    // A whole collective at the root needs no departure, so its cost counts once.
    if (root && whole && whole->cost_ns < halves) {
      Schedule s = build(*whole, members, Half::kWhole);
      own = s.algorithm;
      below.arrive = then(below.arrive, lift(s, ranks, key_.members));
    } else {
      if (arrive) {
        Schedule s = build(*arrive, members, Half::kArrive);
        own = s.algorithm;
        below.arrive = then(below.arrive, lift(s, ranks, key_.members));
      }
      if (release) {
        Schedule s = build(*release, members, Half::kRelease);
        if (own.empty()) own = s.algorithm;
        if (own != s.algorithm) own += "-" + s.algorithm;
        below.release = then(lift(s, ranks, key_.members), below.release);
      }
    }
    below.name = own + (below.name.empty() ? "" : "/" + below.name);
    return below;
  }

  Schedule nothing() const {
    Schedule s;
    s.collective = key_.collective;
    s.members = key_.members;
    s.chunks = key_.collective == Collective::kBarrier ? 0 : 1;
    return s;
  }

  const PlanKey& key_;
  const CostModel& model_;
  std::vector<std::int32_t> hosts_;
  double mean_ = 0;
  std::map<Content, Level> levels_;
};

// Sorts the participants so that the one nearest to all others comes first and leads. Messages through this
// leader can avoid a link between hosts that is slower than two others together. Changes only the outermost
// level, where any order is valid.
Cluster led_by_the_nearest(const Cluster& tree, const CostModel& model) {
  Cluster led = tree;
  const std::vector<std::int32_t> all = participants(tree);
  const auto reach = [&](std::int32_t leader) {
    double sum = 0;
    for (const std::int32_t other : all) sum += distance(model, leader, other);
    return sum;
  };
  std::stable_sort(led.children.begin(), led.children.end(), [&](const Cluster& a, const Cluster& b) {
    return reach(a.ranks.front()) < reach(b.ranks.front());
  });
  if (led.children.empty())
    std::stable_sort(led.ranks.begin(), led.ranks.end(),
                     [&](std::int32_t a, std::int32_t b) { return reach(a) < reach(b); });
  return led;
}

}  // namespace

std::vector<Draft> composed_drafts(const Topology& topology, const PlanKey& key, const CostModel& model,
                                   const std::vector<Cluster>& trees) {
  std::vector<Draft> drafts;
  Composer composer(topology, key, model);
  const auto add = [&](Draft draft) {
    const bool known = std::any_of(drafts.begin(), drafts.end(),
                                   [&](const Draft& d) { return same_signals(d.schedule, draft.schedule); });
    if (!known) drafts.push_back(std::move(draft));
  };
  for (const Cluster& tree : trees) {
    // The flat drafts already contain the schedules of such a tree.
    if (tree.children.empty() && releases(key.collective) != arrives(key.collective)) continue;
    add(composer.compose(tree, ""));
    if (tree.children.empty()) continue;
    for (const Algorithm& algorithm : algorithms()) {
      const bool fits = !algorithm.cuts && algorithm.applicable({.collective = key.collective, .members = 2});
      if (fits && (algorithm.folding == nullptr || key.collective == Collective::kBarrier))
        add(composer.compose(tree, algorithm.name));
    }
  }
  return drafts;
}

std::vector<Cluster> trees_to_try(const Topology& topology, const CostModel& model,
                                  const PlanOptions& options) {
  std::vector<Cluster> trees;
  const Cluster declared = cluster_by_topology(topology, options.key.cpus, model);
  const Cluster measured =
      options.clusters_from_topology ? declared : cluster_by_distance(model, options.sparseness);
  const bool may_lead =
      arrives(options.key.collective) && releases(options.key.collective) && !model.hosts.empty();
  for (const Cluster& tree : {measured, declared}) {
    add_tree(trees, tree);
    if (may_lead) add_tree(trees, led_by_the_nearest(tree, model));
    add_levels(trees, tree);
    if (options.clusters_from_topology) break;
  }
  return trees;
}

}  // namespace fermata
