#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../../own_folder.hpp"
#include "profile/profile.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

Profile small() {
  Profile p;
  p.machine = "box \"with\" quotes\n";
  p.origin = "measured";
  p.engine = "threads";
  p.date = "2024-01-02T03:04:05Z";
  RegularShape shape;
  shape.cores = 3;
  p.topology = *topology_from_regular(shape);
  p.topology.model = "model";
  p.fingerprint = fingerprint(p.topology);
  p.o = Matrix(3);
  p.l = Matrix(3);
  for (std::size_t i = 0; i < 9; ++i)
    p.o.v[i] = 10.25 + static_cast<double>(i), p.l.v[i] = 1.0 / 3 + static_cast<double>(i);
  p.one_way_ns = 58.5;
  p.awaited_ns = 12;
  p.reader_ns = 0.1;
  p.word_add_ns = {5, 20.5};
  p.word_read_ns = 60;
  p.layouts = {{"private", 57}, {"counter", 27}};
  p.tearing = {{16, Level::kL3, 1000, 0}, {64, Level::kMachine, 1000, 14}};
  p.yield_ns = 500;
  p.futex_ns = 4000;
  p.citations = {{"l", "a paper, Table II", true}};
  p.remarks = {"remark"};
  return p;
}

std::string complaint(std::string_view text) {
  const auto p = profile_from_json(text);
  if (p.ok()) return "accepted";
  EXPECT_EQ(p.error().status, Status::kParse);
  return p.error().message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

int line_of(const std::string& text, const std::string& what) {
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(what)), '\n'));
}

TEST(ProfileFile, RoundTrips) {
  const Profile p = small();
  const auto back = profile_from_json(to_json(p));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, p);
}

Profile with_bytes() {
  Profile p = small();
  p.g = Matrix(3);
  for (std::size_t i = 0; i < 9; ++i) p.g.v[i] = i == 5 ? 0 : 0.125 + static_cast<double>(i);
  return p;
}

TEST(ProfileFile, ATimePerByteMakesItVersionTwo) {
  const Profile p = with_bytes();
  const std::string text = to_json(p);
  const auto back = profile_from_json(text);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, p);
  EXPECT_NE(text.find("\"version\": 2"), std::string::npos);
  EXPECT_EQ(to_json(small()).find("\"g\""), std::string::npos);
  EXPECT_NE(complaint(replaced(text, "\"version\": 2", "\"version\": 1")).find("'g' belongs to version 2"),
            std::string::npos);
  EXPECT_NE(complaint(replaced(text, "[0.125, 1.125, 2.125]", "[0.125, 1.125]")).find("a row of 3 numbers"),
            std::string::npos);
}

Profile with_more_bytes() {
  Profile p = with_bytes();
  p.g_direct = Matrix(3);
  for (std::size_t i = 0; i < 9; ++i) p.g_direct.v[i] = i % 4 == 0 ? 0 : 0.0625 * static_cast<double>(i);
  p.direct_ns = 850.25;
  p.fold_byte_ns = 0.0525;
  p.domains = {{Level::kL3, 3, 0.0417}, {Level::kMachine, 6, 0.025}};
  return p;
}

TEST(ProfileFile, DirectReadingFoldsAndDomainsMakeItVersionThree) {
  const Profile p = with_more_bytes();
  const std::string text = to_json(p);
  const auto back = profile_from_json(text);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, p);
  EXPECT_NE(text.find("\"version\": 3"), std::string::npos);
  EXPECT_NE(
      complaint(replaced(text, "\"version\": 3", "\"version\": 2")).find("'g_direct' belongs to version 3"),
      std::string::npos);
  EXPECT_NE(complaint(replaced(text, "\"cpus\": 6", "\"cpus\": 1")).find("'cpus'"), std::string::npos);
  EXPECT_NE(complaint(replaced(text, "\"byte_ns\": 0.025", "\"byte_us\": 0.025")).find("unknown key"),
            std::string::npos);
  EXPECT_NE(
      complaint(replaced(text, "{\"level\": \"machine\"", "{\"level\": \"moon\"")).find("names no level"),
      std::string::npos);
  const std::string table = to_table(p);
  for (const char* shown : {"850.2 ns", "0.0525 ns", "3 CPUs of one l3", "40.0 GB/s"})
    EXPECT_NE(table.find(shown), std::string::npos) << table;
  EXPECT_NE(byte_heat_map(p).find("read directly"), std::string::npos);
  EXPECT_NE(byte_heat_map(with_bytes()).find("through slots"), std::string::npos);
  EXPECT_EQ(byte_heat_map(small()), "");
}

TEST(ProfileFile, CoherentMemoryMakesItVersionSix) {
  Profile p = small();
  p.memory = {.miss_share = 0.45,
              .line_share = 0.9,
              .overlap = 2,
              .work_ns = 1.25,
              .sibling_share = 0.3,
              .prefetch = 1};
  const std::string text = to_json(p);
  const auto back = profile_from_json(text);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, p);
  EXPECT_NE(text.find("\"version\": 6"), std::string::npos);
  EXPECT_EQ(to_json(small()).find("\"memory\""), std::string::npos);
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& reason) {
    const std::string message = complaint(replaced(text, from, to));
    EXPECT_NE(message.find("line " + std::to_string(line_of(text, "\"memory\""))), std::string::npos)
        << message;
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  };
  expect("\"version\": 6", "\"version\": 5", "'memory' belongs to version 6");
  expect("\"miss_share\": 0.45", "\"miss_share\": 1.5", "'miss_share'");
  expect("\"overlap\": 2", "\"overlap\": 3", "'overlap'");
  expect("\"prefetch\": 1", "\"prefetch\": 1.5", "'prefetch'");
  expect("\"work_ns\": 1.25", "\"work_us\": 1.25", "unknown key 'work_us'");
  const auto begin = text.find("{\"miss_share\"");
  expect(text.substr(begin, text.find('}', begin) + 1 - begin), "5", "'memory'");
  const std::string table = to_table(p);
  for (const char* shown : {"0.45", "0.9", "overlap", "1.2 ns", "0.3"})
    EXPECT_NE(table.find(shown), std::string::npos) << shown << table;
  p.memory = {.prefetch = 0};  // each key may be missing, and a value of 0 is known
  const auto one = profile_from_json(to_json(p));
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_EQ(*one, p);
}

TEST(ProfileBytes, MeasuredElseByLevel) {
  const Profile p = with_bytes();
  EXPECT_DOUBLE_EQ(byte_ns(p, p.g, 0, 1), 1.125);
  const double level = default_byte_ns(common_level(p.topology.cpus[1], p.topology.cpus[2]));
  EXPECT_DOUBLE_EQ(byte_ns(p, p.g, 1, 2), level);  // its entry is zero
  EXPECT_DOUBLE_EQ(byte_ns(p, small().g, 0, 1),
                   default_byte_ns(common_level(p.topology.cpus[0], p.topology.cpus[1])));
  for (int k = 1; k < kLevelCount; ++k)
    EXPECT_GT(default_byte_ns(static_cast<Level>(k)), default_byte_ns(static_cast<Level>(k - 1)));
}

TEST(ProfileFile, RefusesWithLineAndReason) {
  const std::string good = to_json(small());
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& reason) {
    const std::string message = complaint(replaced(good, from, to));
    EXPECT_EQ(message.substr(0, message.find(':')), "line " + std::to_string(line_of(good, from))) << message;
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  };
  expect("\"one_way_ns\": 58.5", "\"one_way_ns\": -1", "'one_way_ns' must be a number from 0");
  expect("\"one_way_ns\": 58.5", "\"one_way_ns\": \"x\"", "must be a number");
  expect("\"futex_ns\": 4000", "\"futex_us\": 4000", "unknown key 'futex_us'");
  expect("\"bytes\": 16", "\"bytes\": 16.5", "whole number");
  expect("\"torn\": 14", "\"torn\": 1400", "there are more torn reads than reads");
  expect("\"level\": \"machine\"", "\"level\": \"moon\"", "names no level");
  expect("10.25, 11.25, 12.25", "10.25, 11.25", "a row of 3 numbers");
  expect("10.25, 11.25, 12.25", "10.25, 11.25, null", "a number of nanoseconds");
  expect("\"line_bytes\": 64", "\"line_bytes\": 1", "'line_bytes'");
  expect("[1, 1, 1, 0, 0, 0, 0, 0]", "[1, 1, 1, 0, 0, 0, 0]", "array of 8 numbers");
  EXPECT_NE(complaint(replaced(good, "\"version\": 1", "\"version\": 7")).find("version 1 to 6"),
            std::string::npos);
  EXPECT_NE(complaint(replaced(good, "\"measured\"", "\"guessed\"")).find("'origin'"), std::string::npos);
  EXPECT_NE(complaint(replaced(good, "  \"o\": [", "  \"p\": [")).find("unknown key"), std::string::npos);
}

TEST(ProfileFile, KeepsTheLayoutOfItsSignals) {
  Profile p = small();
  ASSERT_FALSE(p.layouts.empty());
  p.base_layout = p.layouts.back().layout + "+stride5";
  p.layouts.push_back({p.base_layout, 50});
  const std::string good = to_json(p);
  const auto back = profile_from_json(good);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->base_layout, p.base_layout);
  EXPECT_NE(complaint(replaced(good, "\"version\": 6", "\"version\": 5")).find("belongs to version 6"),
            std::string::npos);
  EXPECT_NE(
      complaint(replaced(good, "\"base_layout\": \"", "\"base_layout\": \"x")).find("none of 'layouts'"),
      std::string::npos);
}

TEST(ProfileFile, EveryTruncationIsRefused) {
  const std::string good = to_json(small());
  for (std::size_t n = 0; n + 2 < good.size(); ++n)
    EXPECT_NE(complaint(std::string_view(good).substr(0, n)), "accepted");
}

TEST(ProfileFile, AnyOneByteMayBeWrongWithoutHarm) {
  const std::string good = to_json(small());
  for (std::size_t n = 0; n < good.size(); ++n) {
    for (const char c : {'\0', '9', '"', ']', '}', '\xff'}) {
      std::string bad = good;
      bad[n] = c;
      const auto p = profile_from_json(bad);
      if (p.ok()) {
        EXPECT_EQ(p->o.n, static_cast<std::int32_t>(p->topology.cpus.size()));
      }
    }
  }
}

constexpr const char* kHead =
    "{\"format\": \"fermata-profile\", \"version\": 1, \"machine\": \"m\", \"origin\": \"published\",\n"
    "\"engine\": \"threads\", \"one_way_ns\": 10,\n";

TEST(ProfileLevels, ExpandByLevelNodeGroupAndHop) {
  const auto p =
      profile_from_json(std::string(kHead) +
                        R"("topology": {"regular": {"hosts": 4, "packages": 1, "numa": 2, "cores": 2}},
      "levels": {"self": {"o": 1, "l": 0}, "l3": {"o": 10, "l": 2}, "network": {"o": 1000, "l": 100,
      "groups": [{"hosts": 2, "o": 500, "l": 50}]}, "package": {"o": 20, "l": 3}}})");
  ASSERT_TRUE(p.ok()) << p.error().message;
  ASSERT_EQ(p->o.n, 16);
  EXPECT_EQ(p->o.at(0, 0), 1);
  EXPECT_EQ(p->o.at(0, 1), 10);
  EXPECT_EQ(p->l.at(0, 2), 3);
  EXPECT_EQ(p->o.at(0, 4), 500);
  EXPECT_EQ(p->o.at(0, 8), 1000);
  const auto mesh = profile_from_json(std::string(kHead) +
                                      R"("topology": {"regular": {"hosts": 4, "cores": 1},
                   "network": {"mesh": [2, 2], "hop_ns": 7}},
      "levels": {"self": {"o": 1, "l": 0}, "network": {"o": 1000, "l": 100}}})");
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  EXPECT_EQ(mesh->o.at(0, 1), 1000);
  EXPECT_EQ(mesh->o.at(0, 3), 1007);
  EXPECT_EQ(mesh->o.at(3, 0), 1007);
  EXPECT_EQ(mesh->l.at(3, 0), 100);
  // The matrices have the hops already.
  const auto back = profile_from_json(to_json(*mesh));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, *mesh);
}

TEST(ProfileLevels, NodesMayLieAtTheirOwnDistances) {
  const std::string text = std::string(kHead) +
                           R"("topology": {"regular": {"packages": 2, "numa": 1, "cores": 2}},
      "levels": {"self": {"o": 1, "l": 0}, "l3": {"o": 10, "l": 2}, "numa_pairs": {"o": [[0, 30], [30, 0]],
      "l": [[0, 4], [4, 0]]}}})";
  const auto p = profile_from_json(text);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p->o.at(0, 1), 10);
  EXPECT_EQ(p->o.at(0, 2), 30);
  EXPECT_EQ(p->l.at(3, 0), 4);
  EXPECT_NE(complaint(replaced(text, "[[0, 30], [30, 0]]", "[[0, 30], [30]]")).find("square"),
            std::string::npos);
  EXPECT_NE(complaint(replaced(text, "\"packages\": 2", "\"packages\": 3")).find("fewer nodes"),
            std::string::npos);
}

// Matrices of so many CPUs would take gigabytes: the costs stay by level, in the profile and in its file.
TEST(ProfileLevels, StayLevelsForManyCpus) {
  const std::string text = std::string(kHead) +
                           R"("topology": {"regular": {"hosts": 600, "packages": 2, "numa": 2, "cores": 2},
              "network": {"mesh": [30, 20], "hop_ns": 5}},
"levels": {"self": {"o": 1, "l": 0}, "l3": {"o": 10, "l": 1},
 "numa_pairs": {"o": [[0, 20, 30, 40], [20, 0, 50, 60], [30, 50, 0, 70], [40, 60, 70, 0]],
                "l": [[0, 2, 3, 4], [2, 0, 5, 6], [3, 5, 0, 7], [4, 6, 7, 0]]},
 "network": {"o": 100, "l": 9, "groups": [{"hosts": 2, "o": 80, "l": 8}]}}})";
  // NUMA nodes count on over the hosts, and a file names the pairs of all of them.
  EXPECT_NE(complaint(text).find("fewer nodes"), std::string::npos);
  const std::string plain = text.substr(0, text.find(" \"numa_pairs\"")) +
                            R"("package": {"o": 20, "l": 2}, "machine": {"o": 30, "l": 3},)" +
                            text.substr(text.find("\n \"network\""));
  const auto p = profile_from_json(plain);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p->o.n, 2048);
  ASSERT_TRUE(p->levels.has_value());
  const auto& cpus = p->topology.cpus;
  ASSERT_EQ(cpus.size(), 4800u);
  LevelLinks links(*p->levels, p->topology.network);
  for (std::int32_t i = 0; i < 2048; i += 7)
    for (std::int32_t j = 0; j < 2048; ++j) {
      const LinkCost cost =
          links.between(cpus[static_cast<std::size_t>(i)], cpus[static_cast<std::size_t>(j)]);
      ASSERT_EQ(p->o.at(i, j), cost.o) << i << " " << j;
      ASSERT_EQ(p->l.at(i, j), cost.l) << i << " " << j;
    }
  EXPECT_EQ(links.between(cpus[4799], cpus[4784]).o, 80);  // hosts 599 and 598
  EXPECT_EQ(links.between(cpus[4799], cpus[0]).o, 100 + (29 + 19 - 1) * 5);
  EXPECT_FALSE(links.between(cpus[0], Cpu{.host = 600}).known);
  const auto again = profile_from_json(to_json(*p));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, *p);
  EXPECT_EQ(to_json(*again), to_json(*p));
  EXPECT_NE(complaint(replaced(plain, "\"machine\": {\"o\": 30", "\"core\": {\"o\": 30"))
                .find("level 'machine' occurs"),
            std::string::npos);
}

TEST(ProfileLevels, PairsOfNodesAreWrittenAgain) {
  LevelCosts costs;
  for (LinkCost& cost : costs.at) cost = {1.5, 0.5, true};
  costs.numa_nodes = 2;
  costs.numa_pairs = {{0, 0, true}, {20, 2, true}, {30, 3, true}, {0, 0, true}};
  Profile p = *profile_from_json(std::string(kHead) +
                                 R"("topology": {"regular": {"numa": 2, "cores": 1500}},
"levels": {"self": {"o": 1, "l": 0}, "l3": {"o": 10, "l": 1}, "package": {"o": 10, "l": 1}}})");
  p.levels = costs;
  const auto again = profile_from_json(to_json(p));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again->levels == p.levels);
}

TEST(ProfileLevels, RefusesMissingLevelsAndAbsurdSizes) {
  const std::string text =
      std::string(kHead) +
      "\"topology\": {\"regular\": {\"cores\": 2}},\n\"levels\": {\"self\": {\"o\": 1, \"l\": 0}}}";
  EXPECT_EQ(complaint(text), "line 4: profile: level 'l3' occurs and has no cost");
  EXPECT_EQ(complaint(replaced(text, "\"cores\": 2", "\"cores\": 65536")),
            "line 4: profile: level 'l3' occurs and has no cost");
  EXPECT_NE(complaint(replaced(text, "\"levels\": {", "\"levels\": {\"moon\": 1, "))
                .find("line 4: levels: unknown key"),
            std::string::npos);
}

TEST(Estimate, GrowsWithDistance) {
  const Profile p = estimate_profile(*topology_from_synthetic("pack:2 numa:2 l3:2 l2:2 core:2 pu:2"));
  EXPECT_EQ(p.origin, "estimated");
  ASSERT_EQ(p.o.n, 64);
  double before = 0;
  for (const std::int32_t j : {0, 1, 2, 4, 8, 16, 32}) {
    EXPECT_GT(p.o.at(0, j) + p.l.at(0, j), before);
    before = p.o.at(0, j) + p.l.at(0, j);
  }
  const auto back = profile_from_json(to_json(p));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, p);
}

class StoreTest : public testing::Test {
 protected:
  test::OwnCache cache_;
};

TEST_F(StoreTest, SavesAndLoads) {
  const Profile p = small();
  const auto missing = load_profile(p.fingerprint, "threads");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().status, Status::kNotFound);
  EXPECT_NE(missing.error().message.find("fermata profile"), std::string::npos);
  const auto path = save_profile(p);
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(*path, cache_.path() / "fermata" / ("profile-" + p.fingerprint + "-threads.json"));
  const auto back = load_profile(p.fingerprint, "threads");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, p);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(cache_.path() / "fermata"), {}), 1)
      << "no temporary is left";
}

TEST_F(StoreTest, AFileOfAnotherMachineIsRefused) {
  Profile p = small();
  ASSERT_TRUE(save_profile(p).ok());
  std::filesystem::rename(profile_path(p.fingerprint, "threads"),
                          profile_path("0123456789abcdef", "threads"));
  EXPECT_EQ(load_profile("0123456789abcdef", "threads").error().status, Status::kParse);
}

TEST_F(StoreTest, NamesCannotLeaveTheDirectory) {
  EXPECT_TRUE(profile_path("../../x", "threads").empty());
  EXPECT_EQ(load_profile("../x", "threads").error().status, Status::kNotFound);
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/nowhere", 1);
  EXPECT_EQ(cache_directory(), "/nowhere/.cache/fermata");
}

}  // namespace
}  // namespace fermata
