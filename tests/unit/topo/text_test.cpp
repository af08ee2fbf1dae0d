#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "topo/json.hpp"
#include "topo/topology.hpp"

namespace fermata {
namespace {

Topology two_cpus() {
  Topology t;
  t.source = "file:x";
  t.model = "Some CPU @ 2.5GHz";
  t.kernel = "6.1";
  t.virtual_machine = true;
  t.cpus_total = 4;
  t.quota_cpus = 1.7;
  t.cpus = {{.os_index = 0}, {.os_index = 3, .core = 1, .l2 = 1}};
  t.shape = "00000000deadbeef";
  return t;
}

std::string complaint(std::string_view text) {
  const auto t = topology_from_text(text);
  if (t.ok()) return "accepted";
  EXPECT_EQ(t.error().status, Status::kParse);
  return t.error().message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TopologyText, RoundTrips) {
  const Topology t = two_cpus();
  const auto back = topology_from_text(to_text(t));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, t);
}

TEST(TopologyText, RoundTripsEverySyntheticMachine) {
  for (const char* spec :
       {"pack:1 core:1 pu:1", "pack:2 l3:1 core:18 pu:1", "pack:4 core:6 pu:8", "pack:2 l3:8 core:8 pu:1"}) {
    const auto t = topology_from_synthetic(spec);
    ASSERT_TRUE(t.ok()) << t.error().message;
    const auto back = topology_from_text(to_text(*t));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, *t) << spec;
  }
}

TEST(TopologyText, RefusesWithLineAndReason) {
  const std::string good = to_text(two_cpus());
  EXPECT_NE(complaint("").find("line 1"), std::string::npos);
  EXPECT_EQ(complaint("nonsense\n").substr(0, 7), "line 1:");
  EXPECT_EQ(complaint(replaced(good, "line 64", "line 7")), "line 6: a line has 16 to 4096 bytes");
  EXPECT_EQ(complaint(replaced(good, "virtual yes", "virtual maybe")), "line 5: yes or no is expected");
  EXPECT_EQ(complaint(replaced(good, "kernel 6.1", "colour red")), "line 4: unknown key 'colour'");
  EXPECT_EQ(complaint(replaced(good, "core 1", "core x")),
            "line 11: 'core' must be a whole number from 0 to 65536");
  EXPECT_EQ(complaint(replaced(good, "core 1", "core 99999999999999999999")).substr(0, 8), "line 11:");
  EXPECT_NE(complaint(replaced(good, "core 1 l2 1", "core 0 l2 1")).find("two domains"), std::string::npos);
  const auto first = good.find("\ncpu "), next = good.find('\n', first + 1);
  const std::string cpu = good.substr(first + 1, next - first);
  EXPECT_NE(complaint(replaced(good, "end\n", cpu + "end\n")).find("listed twice"), std::string::npos);
  EXPECT_NE(complaint(replaced(good, "end\n", "")).find("stops before 'end'"), std::string::npos);
  EXPECT_NE(complaint(good + "cpu 1\n").find("after 'end'"), std::string::npos);
  EXPECT_NE(complaint(replaced(good, "quota 1.7", "quota nan")).find("line 8"), std::string::npos);
  EXPECT_NE(complaint(replaced(good, "total 4", "line 64")).find("comes twice"), std::string::npos);
}

TEST(TopologyText, EveryTruncationIsRefused) {
  const std::string good = to_text(two_cpus());
  for (std::size_t n = 0; n + 1 < good.size(); ++n)
    EXPECT_NE(complaint(std::string_view(good).substr(0, n)), "accepted") << n;
}

TEST(TopologyJson, RoundTrips) {
  const Topology t = two_cpus();
  const auto node = read_json(to_json(t));
  ASSERT_TRUE(node.ok()) << node.error().message;
  const auto back = topology_from_node(*node);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, t);
}

TEST(TopologyJson, RegularFormIsBounded) {
  const auto read = [](const char* text) {
    const auto node = read_json(text);
    return node.ok() ? topology_from_node(*node) : Result<Topology>(node.error());
  };
  const auto t = read(R"({"regular": {"packages": 4, "cores": 6, "l3": 1, "l2": 0, "smt": 8}})");
  ASSERT_TRUE(t.ok()) << t.error().message;
  EXPECT_EQ(t->cpus.size(), 192u);
  const auto huge = read("{\n \"regular\": {\"packages\": 60000,\n \"cores\": 60000}}");
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().message, "line 2: regular topology: more than 65536 CPUs");
}

TEST(JsonReader, KnowsTheLineOfEachValue) {
  const auto node = read_json("{\n\"a\": 1,\n\"b\": [2,\n3],\n\"c\": {\n}\n}");
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(node->get("a")->line, 2);
  EXPECT_EQ(node->get("b")->items[1].line, 4);
  EXPECT_EQ(node->get("c")->line, 5);
}

TEST(JsonReader, RefusesWithALine) {
  for (const char* bad : {"", "{", "[1,]", "{\"a\" 1}", "nul", "1e999", "\"\xff\"", "[1] 2"}) {
    const auto node = read_json(bad);
    ASSERT_FALSE(node.ok()) << bad;
    EXPECT_EQ(node.error().message.substr(0, 5), "line ") << bad;
  }
  EXPECT_EQ(read_json("{\n\n]").error().message.substr(0, 7), "line 3:");
  EXPECT_NE(read_json(std::string(100000, '[')).error().message.find("32 deep"), std::string::npos);
}

}  // namespace
}  // namespace fermata
