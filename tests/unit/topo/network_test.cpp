// Networks of hosts: routes worked out by hand, what all routes have in common, text and JSON.
#include "topo/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "topo/json.hpp"

namespace fermata {
namespace {

using Kind = Network::Kind;
using Links = std::vector<std::int32_t>;

Network network(Kind kind, std::vector<std::int32_t> sides, std::vector<std::int32_t> up = {}) {
  Network n;
  n.kind = kind;
  n.sides = std::move(sides);
  n.up = std::move(up);
  n.hop_ns = 10;
  if (kind == Kind::kDragonfly) n.global_ns = 70;
  if (kind == Kind::kDragonfly && n.up.empty()) n.up = {1};
  return n;
}

Links route(const Network& n, std::int32_t from, std::int32_t to) {
  Links links;
  find_route(n, from, to, links);
  return links;
}

// Host h has the links 4 h (first dimension, down), 4 h + 1 (up), 4 h + 2 (second dimension, down), 4 h + 3.
TEST(Network, TorusGoesTheShorterWayAndMeshHasOne) {
  const Network torus = network(Kind::kTorus, {4, 3}), mesh = network(Kind::kMesh, {4, 3});
  EXPECT_EQ(route(torus, 0, 7), (Links{0, 4 * 3 + 3}));  // down to 3, then up to 7
  EXPECT_EQ(route(torus, 0, 2), (Links{1, 4 * 1 + 1}));  // half way around: up
  EXPECT_EQ(route(torus, 0, 8), (Links{2}));             // down to the last row
  EXPECT_EQ(route(mesh, 0, 7), (Links{1, 5, 9, 4 * 3 + 3}));
  EXPECT_EQ(route(mesh, 8, 0), (Links{4 * 8 + 2, 4 * 4 + 2}));
  EXPECT_EQ(route(torus, 5, 5), Links{});
  EXPECT_EQ(links_of(torus), 48);
}

// Two hosts for each of four switches, two of which share a pair of switches: links 0 to 7 go up from the
// first level, 8 to 15 down to it, 16 to 23 and 24 to 31 between the second and third level.
TEST(Network, FatTreeGoesUpByTheReceiverAndDown) {
  const Network tree = network(Kind::kFatTree, {2, 2, 2}, {2, 2});
  EXPECT_EQ(links_of(tree), 32);
  EXPECT_EQ(route(tree, 0, 1), Links{});
  EXPECT_EQ(route(tree, 0, 2), (Links{0, 8 + 2}));
  EXPECT_EQ(route(tree, 1, 3), (Links{1, 8 + 3}));
  EXPECT_EQ(route(tree, 0, 7), (Links{1, 16 + 3, 24 + 4 + 3, 8 + 6 + 1}));
  EXPECT_EQ(route(tree, 7, 0), (Links{6, 16 + 4, 24, 8}));
}

// Five groups of two routers: a router has two links to other groups. Links 0 to 19 are local, four for each
// group; 20 + 5 g + h goes from group g to h.
TEST(Network, DragonflyGoesThroughTheRoutersWithTheLink) {
  const Network d = network(Kind::kDragonfly, {2, 2, 5});
  EXPECT_EQ(links_of(d), 45);
  EXPECT_EQ(route(d, 0, 1), Links{});
  EXPECT_EQ(route(d, 0, 3), Links{1});
  EXPECT_EQ(route(d, 0, 19), (Links{1, 20 + 4, 4 * 4 + 1}));
  EXPECT_EQ(route(d, 2, 17), (Links{20 + 4}));
  EXPECT_EQ(route(d, 0, 4), (Links{20 + 1, 4 * 1 + 2}));
  EXPECT_EQ(link_ns(d, 19), 10);
  EXPECT_EQ(link_ns(d, 20), 70);
}

// Two groups of four routers with two links between them, one at each of the first two routers: the
// receiver's router is even or odd. Links 0 to 31 are local.
TEST(Network, GroupsMayHaveSeveralLinks) {
  const Network d = network(Kind::kDragonfly, {1, 4, 2}, {2});
  EXPECT_EQ(links_of(d), 32 + 8);
  EXPECT_EQ(route(d, 0, 4), (Links{32 + 2}));
  EXPECT_EQ(route(d, 0, 5), (Links{1, 32 + 3}));
  EXPECT_EQ(route(d, 1, 7), (Links{32 + 3, 16 + 4 * 1 + 3}));
  EXPECT_EQ(route(d, 7, 2), (Links{16 + 4 * 3, 32 + 4, 2}));
}

TEST(Network, AllRoutesAreWithinTheLimits) {
  const Network all[] = {network(Kind::kTorus, {5}),
                         network(Kind::kTorus, {4, 4, 4}),
                         network(Kind::kTorus, {2, 3, 1, 4}),
                         network(Kind::kMesh, {3, 5}),
                         network(Kind::kFatTree, {4, 3, 2}, {2, 3}),
                         network(Kind::kFatTree, {3, 4, 1}, {3, 2}),
                         network(Kind::kFatTree, {6}),
                         network(Kind::kDragonfly, {2, 4, 9}),
                         network(Kind::kDragonfly, {1, 3, 4}),
                         network(Kind::kDragonfly, {3, 1, 4}),
                         network(Kind::kDragonfly, {1, 8, 4}, {5}),
                         network(Kind::kDragonfly, {2, 4, 1})};
  for (const Network& n : all) {
    SCOPED_TRACE(form_text(n));
    ASSERT_EQ(network_flaw(n), "");
    std::size_t longest = 0;
    for (std::int32_t from = 0; from < hosts_of(n); ++from)
      for (std::int32_t to = 0; to < hosts_of(n); ++to) {
        const Links links = route(n, from, to);
        longest = std::max(longest, links.size());
        ASSERT_EQ(std::set<std::int32_t>(links.begin(), links.end()).size(), links.size());
        for (const std::int32_t link : links) {
          ASSERT_GE(link, 0);
          ASSERT_LT(link, links_of(n));
        }
        // With several links between two groups, there and back may be over different ones.
        if (n.kind != Kind::kDragonfly || n.up[0] == 1) {
          ASSERT_EQ(links.size(), route(n, to, from).size());
        }
      }
    EXPECT_EQ(longest, static_cast<std::size_t>(most_hops(n)));
  }
}

TEST(Network, FurtherHostsAreFartherThanNeighbours) {
  const std::vector<double> torus = further_ns(network(Kind::kTorus, {8, 8}), 0);
  EXPECT_EQ(torus[1], 0);
  EXPECT_EQ(torus[2], 10);
  EXPECT_EQ(torus[4 + 8 * 4], 70);
  const std::vector<double> dragonfly = further_ns(network(Kind::kDragonfly, {1, 2, 3}), 0);
  EXPECT_EQ(dragonfly[1], 0);
  EXPECT_EQ(dragonfly[2], 70);  // over the link of its own router, then a local one
  EXPECT_EQ(further_ns(network(Kind::kFatTree, {2, 2}, {1}), 0), (std::vector<double>{0, 0, 20, 20}));
}

// ---- Files

Result<Topology> read(const std::string& network) {
  const auto node = read_json("{\"regular\": {\"hosts\": 8},\n\"network\": " + network + "}");
  return node.ok() ? topology_from_node(*node) : Result<Topology>(node.error());
}

TEST(Network, RoundTripsInTextAndJson) {
  for (const char* form :
       {R"({"torus": [2, 4], "hop_ns": 12.5, "gap_ns": 3, "byte_ns": 0.25})", R"({"mesh": [3, 3]})",
        R"({"fat_tree": {"down": [4, 2], "taper": 2}})", R"({"fat_tree": {"down": [8]}})",
        R"({"dragonfly": {"groups": 2, "routers": 2, "hosts": 2, "links": 3}, "global_ns": 400})"}) {
    const auto t = read(form);
    ASSERT_TRUE(t.ok()) << t.error().message;
    const auto text = topology_from_text(to_text(*t));
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_EQ(*text, *t) << form;
    const auto node = read_json(to_json(*t));
    ASSERT_TRUE(node.ok());
    const auto json = topology_from_node(*node);
    ASSERT_TRUE(json.ok()) << json.error().message;
    EXPECT_EQ(*json, *t) << form;
  }
}

TEST(Network, FilesHaveDefaults) {
  EXPECT_EQ(read(R"({"fat_tree": {"down": [4, 2], "taper": 2}})")->network.up, std::vector<std::int32_t>{2});
  EXPECT_EQ(read(R"({"fat_tree": {"down": [4, 2]}})")->network.up, std::vector<std::int32_t>{4});
  const Network d = read(R"({"dragonfly": {"groups": 4, "routers": 2, "hosts": 1}, "hop_ns": 30})")->network;
  EXPECT_EQ(d.global_ns, 30);
  EXPECT_EQ(d.gap_ns, Network{}.gap_ns);
  EXPECT_EQ(d.sides, (std::vector<std::int32_t>{1, 2, 4}));
}

TEST(Network, FilesAreRefusedWithLineAndReason) {
  const auto complaint = [](const std::string& network) {
    const auto t = read(network);
    return t.ok() ? std::string("accepted") : t.error().message;
  };
  EXPECT_EQ(complaint(R"({"torus": [2, 2]})"),
            "line 1: topology: the network has 4 hosts, but CPU 4 is on host 4");
  EXPECT_EQ(complaint("{\"torus\": [8],\n\"ring\": 1}"), "line 3: network: unknown key 'ring'");
  EXPECT_EQ(complaint("{\"torus\": [8,\n0]}"), "line 3: network: a count from 1 to 65536 is expected");
  EXPECT_EQ(complaint(R"({"hop_ns": 1})"),
            "line 2: network: 'torus', 'mesh', 'fat_tree' or 'dragonfly' is expected");
  EXPECT_NE(complaint(R"({"torus": [8], "mesh": [8]})").find("one form"), std::string::npos);
  EXPECT_NE(complaint(R"({"torus": [8], "global_ns": 5})").find("only a dragonfly"), std::string::npos);
  EXPECT_NE(complaint(R"({"torus": [8], "hop_ns": -5})").find("'hop_ns'"), std::string::npos);
  EXPECT_NE(complaint(R"({"torus": [60000, 60000]})").find("more than 65536 hosts"), std::string::npos);
  EXPECT_NE(complaint(R"({"torus": [1, 1, 1, 1, 1, 1, 1, 1, 8]})").find("1 to 8 dimensions"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"dragonfly": {"groups": 8, "routers": 8000, "hosts": 1}})").find("links"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"fat_tree": {"down": [4, 2], "up": [2, 2]}})").find("ports up"), std::string::npos);
  EXPECT_NE(complaint(R"({"fat_tree": {"down": [4, 2], "taper": 3}})").find("does not divide"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"fat_tree": {"down": [4, 2], "up": [2], "taper": 2}})").find("exclude"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"dragonfly": {"groups": 8}})").find("'hosts'"), std::string::npos);
  const std::string good = to_text(*read(R"({"torus": [8]})"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto t = topology_from_text(text.replace(text.find(from), from.size(), to));
    return t.ok() ? std::string("accepted") : t.error().message;
  };
  EXPECT_EQ(changed("network torus 8", "network torus x"), "line 10: a count from 1 to 65536 is expected");
  EXPECT_EQ(changed("network torus 8", "network ring 8"),
            "line 10: torus, mesh, fat_tree or dragonfly is expected");
  EXPECT_EQ(changed("gap_ns 10", "gap_ns -1"), "line 11: 'gap_ns' must be from 0 to 1e12");
  EXPECT_EQ(changed("network torus 8\n", ""), "line 10: 'network' is expected before 'links'");
}

// A plan for one network is none for another one.
TEST(Network, IsPartOfTheMachinesIdentity) {
  const auto torus = read(R"({"torus": [8]})"), mesh = read(R"({"mesh": [8]})"),
             slow = read(R"({"torus": [8], "hop_ns": 500})");
  EXPECT_NE(fingerprint(*torus), fingerprint(*mesh));
  EXPECT_NE(fingerprint(*torus), fingerprint(*slow));
}

}  // namespace
}  // namespace fermata
