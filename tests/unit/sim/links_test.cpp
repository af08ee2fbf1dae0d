// Links between hosts in virtual time: what a message takes alone, and where messages wait for each other.
#include "sim/links.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "algo/algorithm.hpp"
#include "sim/simulate.hpp"

namespace fermata {
namespace {

constexpr double kO = 900, kL = 100;

// Hosts of a network, with so many members each. O + L is 1,000 ns between neighbours.
struct Hosts {
  Topology topology;
  Profile profile;
  PlanKey key;
  sim::Machine machine;
};

Hosts hosts_in(const Network& network, std::int32_t members = 1) {
  Hosts h;
  const std::int32_t hosts = hosts_of(network);
  h.topology = *topology_from_regular({.hosts = hosts, .cores = members});
  h.topology.network = network;
  h.profile = estimate_profile(h.topology);
  for (std::int32_t i = 0; i < h.profile.o.n; ++i) {
    const std::vector<double> further = further_ns(network, i / members);
    for (std::int32_t j = 0; j < h.profile.o.n; ++j) {
      const bool apart = i / members != j / members;
      h.profile.o.at(i, j) = i == j ? 0 : apart ? kO + further[static_cast<std::size_t>(j / members)] : 50;
      h.profile.l.at(i, j) = i == j ? 0 : apart ? kL : 5;
    }
  }
  h.key.members = hosts * members;
  h.key.cpus = place(h.topology, h.key.members, Placement::kCore);
  take_hosts(h.key, h.topology);
  h.machine = sim::machine_of(h.profile, h.topology, h.key, {.work_ns = 0});
  return h;
}

Network grid(Network::Kind kind, std::vector<std::int32_t> sides) {
  Network n;
  n.kind = kind;
  n.sides = std::move(sides);
  n.hop_ns = 50;
  n.gap_ns = 30;
  n.byte_ns = 1;
  return n;
}

struct Sent {
  std::int32_t from, to;
  double at;
  std::size_t bytes = 8;
};

// When each message arrives, in ns.
std::vector<double> arrivals(const sim::Machine& machine, const std::vector<Sent>& sent) {
  sim::Links links(machine);
  std::vector<sim::Message> messages(sent.size());
  std::vector<double> out(sent.size());
  std::multimap<sim::Time, std::size_t> next;  // when to advance, or to send
  std::vector<bool> left(sent.size(), false);
  for (std::size_t k = 0; k < sent.size(); ++k) next.emplace(sim::from_ns(sent[k].at), k);
  while (!next.empty()) {
    const auto [at, k] = *next.begin();
    next.erase(next.begin());
    messages[k].from = sent[k].from, messages[k].to = sent[k].to, messages[k].bytes = sent[k].bytes;
    const auto step = left[k] ? links.advance(messages[k], at) : links.leave(messages[k], at);
    left[k] = true;
    if (step.arrived) out[k] = sim::to_ns(step.at);
    else next.emplace(step.at, k);
  }
  return out;
}

TEST(Links, AMessageAloneTakesOPlusL) {
  const Hosts h = hosts_in(grid(Network::Kind::kTorus, {8}));
  EXPECT_EQ(arrivals(h.machine, {{0, 1, 0}}), std::vector<double>{1000});
  EXPECT_EQ(arrivals(h.machine, {{0, 4, 7}}), std::vector<double>{7 + 1000 + 3 * 50});
  EXPECT_EQ(arrivals(h.machine, {{0, 7, 0}}), std::vector<double>{1000});
  // Bytes beyond the header take their time once.
  EXPECT_EQ(arrivals(h.machine, {{0, 4, 0, 64}}), std::vector<double>{1000 + 3 * 50 + 56});
}

// 0 to 2 and 1 to 3 share the link from 1 to 2. The first one reaches it 475 + 50 ns after it has left, and
// keeps it for 30 ns; the other one reaches it 475 ns after it has left.
TEST(Links, TwoMessagesOverOneLinkTakeAGapLonger) {
  const Hosts h = hosts_in(grid(Network::Kind::kMesh, {4}));
  EXPECT_EQ(arrivals(h.machine, {{0, 2, 0}, {1, 3, 51}}), (std::vector<double>{1050, 51 + 1050 + 29}));
  EXPECT_EQ(arrivals(h.machine, {{0, 2, 0}, {1, 3, 60}}), (std::vector<double>{1050, 60 + 1050 + 20}));
  EXPECT_EQ(arrivals(h.machine, {{0, 2, 0}, {1, 3, 80}}), (std::vector<double>{1050, 80 + 1050}));
  // Whoever reaches the link first passes it first, also if it has left later.
  EXPECT_EQ(arrivals(h.machine, {{0, 2, 0}, {1, 3, 40}}), (std::vector<double>{1050 + 20, 40 + 1050}));
  // The bytes of the one before.
  EXPECT_EQ(arrivals(h.machine, {{0, 2, 0, 64}, {1, 3, 51}}),
            (std::vector<double>{1050 + 56, 51 + 1050 + 63}));
}

TEST(Links, DisjointLinksDoNotDisturbEachOther) {
  const Hosts h = hosts_in(grid(Network::Kind::kMesh, {4}));
  EXPECT_EQ(arrivals(h.machine, {{0, 1, 0}, {2, 3, 0}, {1, 0, 0}, {3, 2, 0}}),
            (std::vector<double>{1000, 1000, 1000, 1000}));
}

// Messages pass a host's ports L apart; or their bytes, if these take longer.
TEST(Links, PortsHaveAGap) {
  const Hosts h = hosts_in(grid(Network::Kind::kTorus, {4}), 2);
  EXPECT_EQ(arrivals(h.machine, {{0, 2, 0}, {1, 7, 0}}), (std::vector<double>{1000, 1100}));
  EXPECT_EQ(arrivals(h.machine, {{0, 4, 0}, {6, 5, 0}}), (std::vector<double>{1000 + 100, 1000}));
  EXPECT_EQ(arrivals(h.machine, {{0, 2, 0, 208}, {1, 7, 0}}), (std::vector<double>{1200, 1208}));
}

// If O + L is less than the way alone, the way counts.
TEST(Links, TheWayIsTheLeast) {
  Network n = grid(Network::Kind::kTorus, {8});
  n.hop_ns = 2000;
  EXPECT_EQ(arrivals(hosts_in(n).machine, {{0, 1, 0}}), std::vector<double>{2000});
}

// ---- Whole plans

sim::Outcome latency(const Hosts& h, const std::string& algorithm, PlanKey key) {
  PlanOptions options;
  options.key = std::move(key);
  options.algorithm = algorithm;
  options.layout = "private+2slots";
  const auto plan = make_plan(h.topology, h.profile, options, nullptr);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  const auto program = compile_lines(*plan);
  EXPECT_TRUE(program.ok()) << program.error().message;
  const auto outcome = sim::simulate(*program, plan->key, h.topology, h.profile,
                                     {.quantity = sim::Quantity::kLatency, .costs = {.work_ns = 0}});
  EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  return *outcome;
}

// Two members exchange a message: as far as they are from each other, wherever their ranks are.
TEST(Links, AnExchangeTakesTheWay) {
  const Hosts h = hosts_in(grid(Network::Kind::kTorus, {8, 8}));
  for (const auto& [a, b, hops] : {std::tuple{0, 1, 1}, {0, 9, 2}, {63, 0, 2}, {3, 39, 8}}) {
    PlanKey key;
    key.members = 2;
    key.cpus = {a, b};
    take_hosts(key, h.topology);
    EXPECT_NEAR(latency(h, "dissemination", key).ns, 1000 + 50 * (hops - 1), 0.01) << a << " " << b;
  }
}

// All hosts of a ring send two hosts on at once: each link has two messages, of which one waits for a gap.
TEST(Links, ARingOfMessagesIsASlowRing) {
  Network n = grid(Network::Kind::kTorus, {8});
  const auto at = [&](double gap) {
    n.gap_ns = gap;
    return latency(hosts_in(n), "dissemination", hosts_in(n).key).ns;
  };
  // Stages of 1, 2 and 4 hops. In the third one, a link has four messages, which reach it 50 ns apart.
  EXPECT_NEAR(at(50), 3000 + 50 + 150, 0.01);
  EXPECT_GT(at(80), at(50) + 30);
}

TEST(Links, TheSameInputGivesTheSameResult) {
  const Hosts h = hosts_in(grid(Network::Kind::kTorus, {4, 4, 4}), 2);
  const sim::Outcome first = latency(h, "n_way_dissemination(3)", h.key),
                     second = latency(h, "n_way_dissemination(3)", h.key);
  EXPECT_EQ(first.ns, second.ns);
  EXPECT_EQ(first.events, second.events);
  EXPECT_EQ(first.ends_ns, second.ends_ns);
}

TEST(Links, AThousandHosts) {
  Network tree = grid(Network::Kind::kFatTree, {16, 8, 8});
  tree.up = {8, 8};
  Network dragonfly = grid(Network::Kind::kDragonfly, {4, 16, 16});
  dragonfly.global_ns = 300;
  dragonfly.up = {2};
  for (const Network& n : {grid(Network::Kind::kTorus, {16, 8, 8}), tree, dragonfly}) {
    const Hosts h = hosts_in(n);
    const double ns = latency(h, "butterfly", h.key).ns;
    EXPECT_GT(ns, 10 * 1000) << form_text(n);
    EXPECT_LT(ns, 10 * 2500) << form_text(n);
  }
}

}  // namespace
}  // namespace fermata
