#include "plan/host_order.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "schedule/cost.hpp"

namespace fermata {
namespace {

using Ranks = std::vector<std::int32_t>;

constexpr std::size_t kOrdered = 8;          // families that get another order
constexpr std::size_t kSwapped = 1'000'000;  // transfers of all schedules that the swaps of a draft try
constexpr double kGain = 1 - 1e-9;           // a smaller gain is rounding

// The ranks of each host, ascending.
std::vector<Ranks> members_of_hosts(const CostModel& model) {
  std::vector<Ranks> members;
  for (std::size_t r = 0; r < model.hosts.size(); ++r) {
    const auto host = static_cast<std::size_t>(model.hosts[r]);
    if (members.size() <= host) members.resize(host + 1);
    members[host].push_back(static_cast<std::int32_t>(r));
  }
  return members;
}

struct Score {
  double latency_ns = 0, way_ns = 0;  // predicted; the ways of all signals together
};
bool better_than(const Score& a, const Score& b) {
  return a.latency_ns < kGain * b.latency_ns || (a.latency_ns <= b.latency_ns && a.way_ns < kGain * b.way_ns);
}

// A draft whose hosts change places. Host h of the draft's schedule is at place at_[h], which is a host, too.
class Order {
 public:
  Order(const Draft& draft, const CostModel& model)
      : draft_(draft), model_(model), members_(members_of_hosts(model)), hosts_(members_.size()) {
    at_.resize(hosts_);
    reset();
    std::map<std::pair<std::size_t, std::size_t>, std::int32_t> signals;
    for (const Stage& stage : draft.schedule.stages)
      for (const Transfer& t : stage.transfers)
        if (!draft.schedule.is_word(t.from) && !draft.schedule.is_word(t.to) &&
            model.is_message(t.from, t.to))
          ++signals[std::minmax(host(t.from), host(t.to))];
    peers_.resize(hosts_);
    for (const auto& [pair, count] : signals) {
      peers_[pair.first].push_back({pair.second, count});
      peers_[pair.second].push_back({pair.first, count});
    }
    distance_.assign(hosts_ * hosts_, 0);
    for (std::size_t a = 0; a < hosts_; ++a)
      for (std::size_t b = 0; b < hosts_; ++b)
        distance_[a * hosts_ + b] = distance(model, members_[a].front(), members_[b].front());
  }

  // Places one host after the other, beginning with the first one at `centre`.
  void place_greedily(std::size_t first, std::size_t centre) {
    std::vector<bool> placed(hosts_, false), taken(hosts_, false);
    std::vector<std::int32_t> pull(hosts_, 0);  // of each host: signals with those placed
    const auto place = [&](std::size_t h, std::size_t at) {
      at_[h] = static_cast<std::int32_t>(at);
      placed[h] = taken[at] = true;
      for (const Peer& peer : peers_[h]) pull[peer.host] += peer.signals;
    };
    place(first, centre);
    for (std::size_t k = 1; k < hosts_; ++k) {
      std::size_t next = hosts_, best = hosts_;
      for (std::size_t h = 0; h < hosts_; ++h)
        if (!placed[h] && (next == hosts_ || pull[h] > pull[next])) next = h;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t at = 0; at < hosts_; ++at) {
        if (taken[at]) continue;
        const double way = way_of(next, at, [&](const Peer& peer) { return placed[peer.host]; });
        if (way < least) least = way, best = at;
      }
      place(next, best);
    }
  }

  // Swaps the places of two hosts, never of `fixed`, while that is better.
  void swap_while_better(std::size_t fixed) {
    std::size_t left = kSwapped / (1 + draft_.schedule.transfer_count());
    if (left < hosts_) return;
    Score now = score();
    for (bool better = true; better && left > 0;) {
      better = false;
      for (std::size_t a = 0; a < hosts_; ++a)
        for (std::size_t b = a + 1; b < hosts_ && left > 0; ++b) {
          if (a == fixed || b == fixed) continue;
          std::swap(at_[a], at_[b]);
          --left;
          const Score swapped = score();
          if (better_than(swapped, now)) {
            now = swapped;
            better = true;
          } else {
            std::swap(at_[a], at_[b]);
          }
        }
    }
  }

  Score score() {
    double way = 0;
    for (std::size_t h = 0; h < hosts_; ++h)
      way += way_of(h, static_cast<std::size_t>(at_[h]), [&](const Peer& peer) { return peer.host > h; });
    return {latency_cost(schedule(), model_, {}), way};
  }

  // The draft's schedule with the hosts at their places.
  const Schedule& schedule() {
    const Ranks ranks = placed_ranks();
    if (trial_.stages.empty()) trial_ = draft_.schedule;
    const auto put = [&](std::int32_t vertex) {
      return trial_.is_word(vertex) ? vertex : ranks[static_cast<std::size_t>(vertex)];
    };
    for (std::size_t s = 0; s < trial_.stages.size(); ++s)
      for (std::size_t k = 0; k < trial_.stages[s].transfers.size(); ++k) {
        const Transfer& from = draft_.schedule.stages[s].transfers[k];
        Transfer& to = trial_.stages[s].transfers[k];
        to.from = put(from.from);
        to.to = put(from.to);
      }
    return trial_;
  }

  // The rank at the place of each rank of the draft.
  Ranks placed_ranks() const {
    Ranks ranks(model_.hosts.size());
    for (std::size_t h = 0; h < hosts_; ++h)
      for (std::size_t k = 0; k < members_[h].size(); ++k)
        ranks[static_cast<std::size_t>(members_[h][k])] = members_[static_cast<std::size_t>(at_[h])][k];
    return ranks;
  }

  // The host with the shortest ways to all others.
  std::size_t most_central() const {
    const auto reach = [&](std::size_t h) {
      const auto row = distance_.begin() + static_cast<std::ptrdiff_t>(h * hosts_);
      return std::accumulate(row, row + static_cast<std::ptrdiff_t>(hosts_), 0.0);
    };
    std::size_t best = 0;
    for (std::size_t h = 1; h < hosts_; ++h)
      if (reach(h) < kGain * reach(best)) best = h;
    return best;
  }

  void reset() { std::iota(at_.begin(), at_.end(), 0); }  // all hosts where the draft has them
  std::size_t host_of_first() const { return host(0); }

 private:
  std::size_t host(std::int32_t rank) const {
    return static_cast<std::size_t>(model_.hosts[static_cast<std::size_t>(rank)]);
  }
  struct Peer {
    std::size_t host;
    std::int32_t signals;  // in both directions
  };
  // The way of the signals of a host at this place with those of its peers that count.
  template <class Counts>
  double way_of(std::size_t h, std::size_t at, const Counts& counts) const {
    double way = 0;
    for (const Peer& peer : peers_[h])
      if (counts(peer))
        way += peer.signals * distance_[at * hosts_ + static_cast<std::size_t>(at_[peer.host])];
    return way;
  }

  const Draft& draft_;
  const CostModel& model_;
  std::vector<Ranks> members_;  // of each host
  std::size_t hosts_;
  Ranks at_;                              // of each host of the draft: its place
  std::vector<std::vector<Peer>> peers_;  // of each host of the draft, ascending
  std::vector<double> distance_;          // between two places
  Schedule trial_;
};

}  // namespace

bool take_neighbours_first(std::string& name) {
  const std::string_view suffix = kNeighboursFirst;
  if (!name.ends_with(suffix)) return false;
  name.resize(name.size() - suffix.size());
  return true;
}

bool has_neighbours(const Topology& topology, const CostModel& model) {
  const std::vector<Ranks> members = members_of_hosts(model);
  if (members.size() < 3) return false;
  for (const Ranks& ranks : members)
    if (ranks.size() != members[0].size()) return false;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = a + 1; b < members.size(); ++b) {
      const double way = distance(model, members[a].front(), members[b].front());
      least = std::min(least, way);
      most = std::max(most, way);
    }
  return most > (topology.network ? 1 : kSmallestGap) * least;
}

std::optional<Draft> with_neighbours_first(const Draft& draft, const CostModel& model) {
  Order order(draft, model);
  const Score plain = order.score();
  const bool rooted = !arrives(draft.schedule.collective) || !releases(draft.schedule.collective);
  const std::size_t first = order.host_of_first();
  order.place_greedily(first, rooted ? first : order.most_central());
  if (!better_than(order.score(), plain)) order.reset();
  order.swap_while_better(rooted ? first : model.hosts.size());
  if (!better_than(order.score(), plain)) return std::nullopt;
  Draft ordered{order.schedule(), on_ranks(draft.levels, order.placed_ranks(), model), draft.family};
  ordered.schedule.algorithm += kNeighboursFirst;
  ordered.family += kNeighboursFirst;
  return ordered;
}

void add_neighbours_first(std::vector<Draft>& drafts, const CostModel& model) {
  std::vector<std::pair<double, std::size_t>> latency;
  for (std::size_t d = 0; d < drafts.size(); ++d)
    latency.emplace_back(latency_cost(drafts[d].schedule, model, {}), d);
  std::sort(latency.begin(), latency.end());
  std::set<std::string> families;
  std::vector<Draft> ordered;
  for (const auto& [ns, d] : latency) {
    if (families.size() == kOrdered) break;
    if (!families.insert(drafts[d].family).second) continue;
    if (auto draft = with_neighbours_first(drafts[d], model)) ordered.push_back(std::move(*draft));
  }
  for (Draft& draft : ordered) drafts.push_back(std::move(draft));
}

}  // namespace fermata
