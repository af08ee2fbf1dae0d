// Composed candidates for plans on lines: the cheapest schedule of each cluster, joined level by level.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "algo/algorithm.hpp"
#include "base/text.hpp"
#include "plan/choices.hpp"
#include "plan/level_names.hpp"
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

// What one cluster runs: the whole, or an arrival and a release, or one of these.
struct Picked {
  std::optional<Option> arrive, release, whole;
};

// What a composition must consist of. family: the algorithm for all levels where it is applicable; empty: the
// cheapest one at each level. levels: the names of all levels, from the outermost; empty: as `family` says.
struct Wish {
  std::string family;
  std::vector<LevelName> levels;
};

struct Joined {
  Schedule arrive, release;
  std::string name;
};

class Composer {
 public:
  Composer(const Topology& topology, const PlanKey& key, const CostModel& model, std::int32_t most_fan_in)
      : key_(key),
        model_(model),
        hosts_(hosts_of(topology, key)),
        mean_(mean_distance(model)),
        most_fan_in_(most_fan_in) {}

  Draft compose(const Cluster& tree, const Wish& wish) {
    Joined joined = join(tree, wish, 0);
    Draft draft;
    draft.schedule = arrives(key_.collective) && releases(key_.collective)
                         ? then(joined.arrive, joined.release)
                     : arrives(key_.collective) ? std::move(joined.arrive)
                                                : std::move(joined.release);
    draft.schedule.algorithm = joined.name;
    draft.levels = tree;
    draft.family = (!wish.levels.empty()  ? joined.name
                    : wish.family.empty() ? "greedy"
                                          : wish.family) +
                   " along " + shape_text(tree);
    return draft;
  }

  // Why the last compositions by names are not what was asked for; empty: they are.
  const std::string& refusal() const { return refusal_; }

 private:
  // Equal clusters have equal matrices and equal costs, so options are stored by the content of the matrices.
  // Large clusters, of which there are few, are stored by their ranks.
  using Content = std::vector<double>;
  static constexpr std::size_t kMostCompared = 64;  // ranks

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

  // hosts: of the participants
  std::vector<Option> rank_options(const CostModel& part, const std::vector<std::int32_t>& hosts,
                                   bool one_memory, Half half) const {
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
        if (most_fan_in_ > 0 && fan_in(s, hosts) > most_fan_in_) continue;
        option.cost_ns = latency_cost(s, part, {});
        options.push_back(option);
      }
    }
    std::stable_sort(options.begin(), options.end(),
                     [](const Option& a, const Option& b) { return a.cost_ns < b.cost_ns; });
    return options;
  }

  std::int32_t host(std::int32_t rank) const { return hosts_[static_cast<std::size_t>(rank)]; }

  static Content content_of(const CostModel& part, const std::vector<std::int32_t>& ranks) {
    Content content;
    if (ranks.size() > kMostCompared) {
      content.push_back(-1);  // no cost
      content.insert(content.end(), ranks.begin(), ranks.end());
      return content;
    }
    for (std::int32_t i = 0; i < part.members; ++i)
      for (std::int32_t j = 0; j < part.members; ++j) {
        content.push_back(part.o_at(i, j));
        content.push_back(part.l_at(i, j));
      }
    return content;
  }

  const Level& level_of(const std::vector<std::int32_t>& ranks, bool root) {
    const auto [known, unknown] = by_ranks_.try_emplace({root, ranks});
    if (unknown) known->second = &find_level(ranks, root);
    return *known->second;
  }

  const Level& find_level(const std::vector<std::int32_t>& ranks, bool root) {
    CostModel part = part_of(model_, ranks, false);
    const bool one_memory =
        std::all_of(ranks.begin(), ranks.end(), [&](std::int32_t r) { return host(r) == host(ranks[0]); });
    Content content = content_of(part, ranks);
    content.push_back((root ? 1 : 0) + (one_memory ? 2 : 0));
    std::vector<std::int32_t> hosts;
    for (const std::int32_t r : ranks) hosts.push_back(host(r));
    if (most_fan_in_ > 0 && !one_memory) content.insert(content.end(), hosts.begin(), hosts.end());
    const auto [at, fresh] = levels_.try_emplace(std::move(content));
    if (fresh) {
      part.further = further_share(part);
      if (mean_ > 0) {  // the cost of a shared line scales with the distance between its users
        const double share = mean_distance(part) / mean_;
        part.word_add *= share;
        part.word_read *= share;
        part.reader *= share;
      }
      if (arrives(key_.collective)) at->second.arrive = rank_options(part, hosts, one_memory, Half::kArrive);
      if (releases(key_.collective))
        at->second.release = rank_options(part, hosts, one_memory, Half::kRelease);
      if (root && arrives(key_.collective) && releases(key_.collective))
        at->second.whole = rank_options(part, hosts, one_memory, Half::kWhole);
    }
    return at->second;
  }

  static std::optional<Option> best_of(const std::vector<Option>& options, const std::string& family) {
    for (const Option& o : options)
      if (!family.empty() && family == o.algorithm->name) return o;
    return options.empty() ? std::nullopt : std::optional<Option>(options.front());
  }

  Picked cheapest(const std::vector<std::int32_t>& ranks, bool root, const std::string& family) {
    const Level& level = level_of(ranks, root);
    Picked picked{best_of(level.arrive, family), best_of(level.release, family), std::nullopt};
    const auto whole = best_of(level.whole, family);
    const double halves =
        (picked.arrive ? picked.arrive->cost_ns : 0) + (picked.release ? picked.release->cost_ns : 0);
    // A whole collective at the root needs no departure, so its cost counts once.
    return root && whole && whole->cost_ns < halves ? Picked{{}, {}, whole} : picked;
  }

  // The algorithm for this half, or nothing; then refusal() says why.
  std::optional<Option> by_name(const AlgorithmName& name, const std::vector<std::int32_t>& ranks,
                                Half half) {
    const auto members = static_cast<std::int32_t>(ranks.size());
    const Algorithm& algorithm = *name.algorithm;
    Option option{&algorithm, name.degree, false, 0};
    const auto can = [&](Half asked) { return algorithm.applicable(request(members, asked, name.degree)); };
    if (!can(half)) {
      option.transposed = half == Half::kRelease && can(Half::kArrive);
      if (!option.transposed) return refuse(name, members, half, "there is none");
    }
    if (algorithm.cuts) return refuse(name, members, half, "it cuts the vector, but a line carries it whole");
    const Schedule built =
        algorithm.build(request(members, option.transposed ? Half::kArrive : half, name.degree));
    if (built.words.empty()) return option;
    if (option.transposed) return refuse(name, members, half, "there is none");
    if (key_.payload > 0) return refuse(name, members, half, "words carry no data");
    const bool one_memory =
        std::all_of(ranks.begin(), ranks.end(), [&](std::int32_t r) { return host(r) == host(ranks[0]); });
    return one_memory ? std::optional(option) : refuse(name, members, half, "a word cannot span hosts");
  }

  std::optional<Option> refuse(const AlgorithmName& name, std::int32_t members, Half half, const char* why) {
    if (refusal_.empty())
      refusal_ = std::string(half == Half::kWhole    ? "a whole by "
                             : half == Half::kArrive ? "an arrival by "
                                                     : "a release by ") +
                 name.algorithm->name + " among " + std::to_string(members) + ": " + why;
    return std::nullopt;
  }

  // A level without a release of its own is the whole algorithm at the root, if there is one.
  Picked named(const std::vector<std::int32_t>& ranks, bool root, const LevelName& name) {
    Picked picked;
    const auto members = static_cast<std::int32_t>(ranks.size());
    const bool both = arrives(key_.collective) && releases(key_.collective);
    if (root && both && !name.release &&
        name.arrive.algorithm->applicable(request(members, Half::kWhole, name.arrive.degree))) {
      picked.whole = by_name(name.arrive, ranks, Half::kWhole);
      return picked;
    }
    if (arrives(key_.collective)) picked.arrive = by_name(name.arrive, ranks, Half::kArrive);
    if (releases(key_.collective))
      picked.release = by_name(name.release.value_or(name.arrive), ranks, Half::kRelease);
    return picked;
  }

  Joined join_children(const Cluster& node, const Wish& wish, std::size_t depth) {
    std::vector<Schedule> arrivals = {nothing()}, releases = {nothing()};
    std::set<std::string> names;
    for (const Cluster& child : node.children) {
      if (child.ranks.size() < 2) continue;
      Joined one = join(child, wish, depth + 1);
      arrivals.push_back(std::move(one.arrive));
      releases.push_back(std::move(one.release));
      names.insert(one.name);
    }
    Joined all{beside(arrivals, Align::kEarly), beside(releases, Align::kLate), {}};
    for (const std::string& name : names) all.name += (all.name.empty() ? "" : "|") + name;
    return all;
  }

  Joined join(const Cluster& node, const Wish& wish, std::size_t depth) {
    const std::vector<std::int32_t> ranks = participants(node);
    const auto members = static_cast<std::int32_t>(ranks.size());
    Joined below = join_children(node, wish, depth);
    const Picked picked = wish.levels.empty() ? cheapest(ranks, depth == 0, wish.family)
                                              : named(ranks, depth == 0, wish.levels[depth]);
    std::string own;
    if (picked.whole) {
      Schedule s = build(*picked.whole, members, Half::kWhole);
      own = s.algorithm;
      below.arrive = then(below.arrive, lift(s, ranks, key_.members));
    }
    if (picked.arrive) {
      Schedule s = build(*picked.arrive, members, Half::kArrive);
      own = s.algorithm;
      below.arrive = then(below.arrive, lift(s, ranks, key_.members));
    }
    if (picked.release) {
      Schedule s = build(*picked.release, members, Half::kRelease);
      if (own.empty()) own = s.algorithm;
      if (own != s.algorithm) own += "-" + s.algorithm;
      below.release = then(lift(s, ranks, key_.members), below.release);
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
  std::int32_t most_fan_in_ = 0;
  std::string refusal_;
  std::map<Content, Level> levels_;
  std::map<std::pair<bool, std::vector<std::int32_t>>, const Level*> by_ranks_;  // of a root or not
};

}  // namespace

std::vector<Draft> composed_drafts(const Topology& topology, const PlanKey& key, const CostModel& model,
                                   const std::vector<Cluster>& trees, std::int32_t most_fan_in) {
  std::vector<Draft> drafts;
  Composer composer(topology, key, model, most_fan_in);
  const auto add = [&](Draft draft) {
    const bool known = std::any_of(drafts.begin(), drafts.end(),
                                   [&](const Draft& d) { return same_signals(d.schedule, draft.schedule); });
    if (!known) drafts.push_back(std::move(draft));
  };
  for (const Cluster& tree : trees) {
    // The flat drafts already contain the schedules of such a tree.
    if (tree.children.empty() && releases(key.collective) != arrives(key.collective)) continue;
    add(composer.compose(tree, {}));
    if (tree.children.empty()) continue;
    for (const Algorithm& algorithm : algorithms()) {
      const bool fits = !algorithm.cuts && algorithm.applicable({.collective = key.collective, .members = 2});
      if (fits && (algorithm.folding == nullptr || key.collective == Collective::kBarrier))
        add(composer.compose(tree, {algorithm.name, {}}));
    }
  }
  return drafts;
}

Result<std::vector<Draft>> named_levels(const Topology& topology, const PlanKey& key, const CostModel& model,
                                        const std::string& spelled, const std::vector<Cluster>& trees) {
  const auto levels = parse_levels(spelled);
  if (!levels) return levels.error();
  const bool halves = arrives(key.collective) && releases(key.collective);
  for (const LevelName& level : *levels)
    if (level.release && !halves)
      return Error{Status::kUnsupported, std::string(name_of(key.collective)) + " has no " +
                                             (arrives(key.collective) ? "release" : "arrival") +
                                             ": name one algorithm for each level"};
  const auto refuse = [&](const std::string& why) {
    return Error{Status::kUnsupported, spelled.substr(0, 64) + ": " + why};
  };
  std::vector<Draft> drafts;
  std::vector<Cluster> all = trees;
  if (levels->size() == 1 && !trees.empty()) add_tree(all, cut_below(trees.front(), 0));
  std::string shapes, refusal;
  for (const Cluster& tree : all) {
    shapes += (shapes.empty() ? "" : ", ") + shape_text(tree);
    if (static_cast<std::size_t>(depth_of(tree)) + 1 != levels->size()) continue;
    Composer composer(topology, key, model, 0);
    Draft draft = composer.compose(tree, {"", *levels});
    if (composer.refusal().empty()) drafts.push_back(std::move(draft));
    else if (refusal.empty()) refusal = composer.refusal();
  }
  if (!drafts.empty()) return drafts;
  if (!refusal.empty()) return refuse(refusal);
  return refuse("it names " + counted(levels->size(), "level") + ", but the clusters of this team are " +
                shapes);
}

}  // namespace fermata
