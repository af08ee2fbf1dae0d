#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <set>

#include "../../own_folder.hpp"
#include "topo/topology.hpp"

namespace fermata {
namespace {

Topology synthetic(const std::string& spec) {
  auto t = topology_from_synthetic(spec);
  EXPECT_TRUE(t.ok()) << (t.ok() ? "" : t.error().message);
  return t.ok() ? *t : Topology{};
}

std::size_t distinct(const Topology& t, std::int32_t Cpu::* member) {
  std::set<std::int32_t> ids;
  for (const Cpu& c : t.cpus) ids.insert(c.*member);
  return ids.size();
}

TEST(Synthetic, TwoPackagesOfEighteen) {
  const Topology t = synthetic("pack:2 l3:1 l2:18 core:1 pu:1");
  EXPECT_EQ(t.cpus.size(), 36u);
  EXPECT_EQ(distinct(t, &Cpu::package), 2u);
  EXPECT_EQ(distinct(t, &Cpu::l3), 2u);
  EXPECT_EQ(common_level(t.cpus[0], t.cpus[17]), Level::kL3);
  EXPECT_EQ(common_level(t.cpus[0], t.cpus[18]), Level::kMachine);
}

TEST(Synthetic, FourChipsOfSixWithEightThreads) {
  const Topology t = synthetic("pack:4 [numa] core:6 pu:8");
  EXPECT_EQ(t.cpus.size(), 192u);
  EXPECT_EQ(distinct(t, &Cpu::core), 24u);
  EXPECT_EQ(distinct(t, &Cpu::numa), 4u);
  EXPECT_EQ(common_level(t.cpus[0], t.cpus[7]), Level::kCore);
  EXPECT_EQ(common_level(t.cpus[0], t.cpus[8]), Level::kNuma)
      << "no shared cache: the next domain is the memory";
  EXPECT_EQ(t.cpus[13].smt, 5);
}

TEST(Synthetic, TwoPackagesOfSixtyFour) {
  const Topology t = synthetic("pack:2 numa:4 l3:2 core:8 pu:1");
  EXPECT_EQ(t.cpus.size(), 128u);
  EXPECT_EQ(distinct(t, &Cpu::l3), 16u);
  EXPECT_EQ(distinct(t, &Cpu::numa), 8u);
  EXPECT_EQ(common_level(t.cpus[0], t.cpus[7]), Level::kL3);
  EXPECT_EQ(common_level(t.cpus[0], t.cpus[8]), Level::kNuma);
  EXPECT_EQ(common_level(t.cpus[0], t.cpus[16]), Level::kPackage);
  EXPECT_EQ(common_level(t.cpus[0], t.cpus[64]), Level::kMachine);
}

TEST(Synthetic, OneNodeOverTwoPackagesDoesNotMakeThemNear) {
  const Topology t = synthetic("pack:2 core:2 pu:1");
  EXPECT_EQ(common_level(t.cpus[0], t.cpus[3]), Level::kMachine);
}

TEST(Synthetic, RefusesWhatIsAbsurd) {
  for (const char* bad :
       {"", "pack:0", "pack:99999999", "pack:300 core:300 pu:300", "pack:0x7fffffff pu:1", "pack: 9999999",
        "pack:-1", "core:4097 pu:1", "pack:2 core:(", "pack:2 l3:1 sofa:4", "300 300 300", "pack:+70000"}) {
    const auto t = topology_from_synthetic(bad);
    ASSERT_FALSE(t.ok()) << bad;
    EXPECT_EQ(t.error().status, Status::kParse);
  }
}

TEST(Discover, SeesThisProcessesAffinity) {
  const auto t = discover_topology();
  ASSERT_TRUE(t.ok()) << t.error().message;
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(static_cast<int>(t->cpus.size()), CPU_COUNT(&set));
  for (const Cpu& c : t->cpus) EXPECT_TRUE(CPU_ISSET(c.os_index, &set));
  EXPECT_GE(t->usable_cpus(), 1);
  EXPECT_GE(t->cpus_total, static_cast<std::int32_t>(t->cpus.size()));
}

TEST(Discover, TheFingerprintIsTheMachinesNotTheAffinitys) {
  const auto whole = discover_topology();
  ASSERT_TRUE(whole.ok());
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(whole->cpus[0].os_index, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto narrow = discover_topology();
  sched_setaffinity(0, sizeof before, &before);
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->cpus.size(), 1u);
  EXPECT_EQ(fingerprint(*narrow), fingerprint(*whole));
}

TEST(Xml, MissingAndMalformedFilesAreRefused) {
  EXPECT_EQ(topology_from_xml("/nonexistent.xml").error().status, Status::kNotFound);
  const test::OwnFolder folder;
  const std::string path = folder.path() / "bad-topology.xml";
  std::ofstream(path) << "<topology><object></topology>";
  EXPECT_EQ(topology_from_xml(path).error().status, Status::kParse);
  EXPECT_EQ(topology_from_file(path).error().status, Status::kParse);
}

TEST(Fingerprint, DependsOnStructureModelAndLine) {
  const Topology a = synthetic("pack:2 l3:1 core:2 pu:1"), b = synthetic("pack:1 l3:2 core:2 pu:1");
  EXPECT_NE(fingerprint(a), fingerprint(b));
  EXPECT_EQ(fingerprint(a).size(), 16u);
  Topology c = a;
  c.model = "other";
  EXPECT_NE(fingerprint(a), fingerprint(c));
  c = a;
  c.line_bytes = 128;
  EXPECT_NE(fingerprint(a), fingerprint(c));
  c = a;
  c.kernel = "another", c.quota_cpus = 1;
  EXPECT_EQ(fingerprint(a), fingerprint(c));
}

TEST(Place, CoresFirstThenSiblings) {
  const Topology t = synthetic("pack:2 l3:1 core:2 pu:2");  // CPUs 0,1 | 2,3 || 4,5 | 6,7
  EXPECT_EQ(place(t, 5, Placement::kCore), (std::vector<std::int32_t>{0, 2, 4, 6, 1}));
  EXPECT_EQ(place(t, 5, Placement::kCpu), (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(place(t, 5, Placement::kRoundRobin), (std::vector<std::int32_t>{0, 4, 2, 6, 1}));
}

TEST(Place, WrapsAtWhatIsUsable) {
  Topology t = synthetic("pack:1 core:4 pu:1");
  EXPECT_EQ(place(t, 6, Placement::kCpu), (std::vector<std::int32_t>{0, 1, 2, 3, 0, 1}));
  t.quota_cpus = 1.5;
  EXPECT_EQ(t.usable_cpus(), 2);
  EXPECT_EQ(place(t, 3, Placement::kCpu), (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_TRUE(place(t, 0, Placement::kCpu).empty());
}

TEST(CpuList, RoundTripsAndRefuses) {
  EXPECT_EQ(*parse_cpu_list("0-3,8"), (std::vector<std::int32_t>{0, 1, 2, 3, 8}));
  EXPECT_EQ(*parse_cpu_list("5,1"), (std::vector<std::int32_t>{5, 1}));
  EXPECT_EQ(cpu_list({8, 0, 1, 2, 3, 3}), "0-3,8");
  for (const char* bad : {"", "a", "1-", "3-1", "1,,2", "1,", "99999999999", "0-65535,0-65535", "-1"})
    EXPECT_FALSE(parse_cpu_list(bad).ok()) << bad;
}

TEST(Table, FitsAHundredColumns) {
  for (const char* spec : {"pack:2 numa:4 l3:2 core:8 pu:1", "pack:4 core:6 pu:8", "pack:1 core:72 pu:4"}) {
    const std::string table = to_table(synthetic(spec));
    std::size_t start = 0;
    for (std::size_t end = 0; (end = table.find('\n', start)) != std::string::npos; start = end + 1)
      EXPECT_LE(end - start, 100u) << table.substr(start, end - start);
  }
}

}  // namespace
}  // namespace fermata
