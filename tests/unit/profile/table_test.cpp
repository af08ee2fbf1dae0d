// Profiles as tables and heat maps.
#include <gtest/gtest.h>

#include <algorithm>

#include "costs.hpp"
#include "profile/profile.hpp"

namespace fermata {
namespace {

using test::with_costs;

// Near within an L3, far between packages: the lightest and the darkest shade.
TEST(HeatMap, ShadesLevelsOfL) {
  Profile p = with_costs("pack:2 l3:1 core:2 pu:1", [](const Cpu&, const Cpu&) { return 50; });
  for (std::int32_t i = 0; i < 4; ++i)
    for (std::int32_t j = 0; j < 4; ++j) p.l.at(i, j) = i / 2 == j / 2 ? 5 : 20;
  EXPECT_EQ(heat_map(p),
            "L in ns, row: sender, column: receiver\n"
            "    0 \\ ░░████\n"
            "    1 ░░\\ ████\n"
            "    2 ████\\ ░░\n"
            "    3 ████░░\\ \n"
            "      ░ 5.0 ns  ...  █ 20.0 ns\n");
  p.l.at(0, 1) = 10;  // a sender slower in one direction: rows are senders
  EXPECT_NE(heat_map(p).find("    0 \\ ▒▒████\n    1 ░░\\ ████\n"), std::string::npos) << heat_map(p);
}

TEST(HeatMap, ShowsOAndLWhereOnlyODiffers) {
  const Profile p = with_costs("pack:2 l3:1 core:1 pu:1", [](const Cpu&, const Cpu&) { return 50; });
  EXPECT_NE(heat_map(p).find("    0 \\ ░░\n    1 ░░\\ \n      ░ 1.0 ns  ...  █ 1.0 ns\n"), std::string::npos)
      << heat_map(p);
  const Profile q = with_costs("pack:2 l3:1 core:2 pu:1",
                               [](const Cpu& a, const Cpu& b) { return a.l3 == b.l3 ? 50 : 150; });
  EXPECT_EQ(heat_map(q).substr(0, 43), "L is the same for all pairs; O + L in ns, r");
  EXPECT_NE(heat_map(q).find("    0 \\ ░░████\n"), std::string::npos) << heat_map(q);
}

TEST(HeatMap, IsThinnedOutOnLargeMachines) {
  const std::string map = heat_map(estimate_profile(*topology_from_synthetic("pack:2 core:48 pu:1")));
  EXPECT_NE(map.find("one in 3 CPUs\n    0 "), std::string::npos) << map;
  EXPECT_NE(map.find("\n    3 "), std::string::npos) << map;
  EXPECT_EQ(map.find("\n    1 "), std::string::npos) << map;
  EXPECT_EQ(std::count(map.begin(), map.end(), '\n'), 1 + 32 + 1);
}

TEST(Table, ShowsALineForEachLevelAndTheScalars) {
  Profile p = with_costs("pack:2 l3:1 core:2 pu:1",
                         [](const Cpu& a, const Cpu& b) { return a.l3 == b.l3 ? 50 : 150; });
  p.machine = "made up", p.one_way_ns = 25.5, p.remarks = {"a remark"};
  const std::string table = to_table(p);
  for (const char* line :
       {"made up\n", "  self            4     50.0      1.0        51.0    51.0        -        -\n",
        "  l3              4     50.0      1.0        51.0    51.0        -        -\n",
        "  machine         8    150.0      1.0       151.0   151.0        -        -\n",
        "  one-way line latency, nearest pair                      25.5 ns\n", "  * a remark\n"})
    EXPECT_NE(table.find(line), std::string::npos) << line << table;
}

TEST(Table, FitsAHundredColumns) {
  Profile p = estimate_profile(*topology_from_synthetic("pack:4 core:6 pu:8"));
  p.g = p.g_direct = p.l;
  for (const std::string& text : {to_table(p), heat_map(p), byte_heat_map(p)}) {
    std::size_t columns = 0;
    for (const char c : text) {
      if (c == '\n') columns = 0;
      else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++columns;  // code points, not bytes
      ASSERT_LE(columns, 100u);
    }
  }
}

}  // namespace
}  // namespace fermata
