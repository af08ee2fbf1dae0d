#include <gtest/gtest.h>

#include "exec/block_program.hpp"
#include "plan/choices.hpp"
#include "plan/plan.hpp"

namespace fermata {
namespace {

// Two packages of two cores: o 100 * (1 + distance), l a tenth of it.
Profile profile_of(const Topology& topology) {
  Profile p;
  p.topology = topology;
  const auto n = static_cast<std::int32_t>(topology.cpus.size());
  p.o = Matrix(n);
  p.l = Matrix(n);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) {
      p.o.at(i, j) = i == j ? 5 : i / 2 == j / 2 ? 40 : 200 + i;
      p.l.at(i, j) = i == j ? 1 : p.o.at(i, j) / 10;
    }
  p.one_way_ns = 44;
  p.awaited_ns = 3;
  p.reader_ns = 4;
  p.word_add_ns = {5, 20, 30};
  p.word_read_ns = 25;
  p.layouts = {{"private", 60}, {"packed", 36}, {"counter", 27}, {"private+stride5", 48}};
  p.yield_ns = 400;
  p.futex_ns = 2500;
  return p;
}

class CostModelOf : public ::testing::Test {
 protected:
  void SetUp() override {
    auto t = topology_from_regular({.packages = 2, .cores = 2});
    ASSERT_TRUE(t.ok());
    topology_ = *t;
    profile_ = profile_of(topology_);
  }
  CostModel model(std::vector<std::int32_t> cpus, std::int32_t members) const {
    PlanKey key;
    key.members = members;
    key.cpus = std::move(cpus);
    return cost_model(profile_, topology_, key);
  }
  Topology topology_;
  Profile profile_;
};

TEST_F(CostModelOf, RowsFollowTheRanksCpus) {
  const CostModel m = model({3, 0, 2}, 3);
  EXPECT_DOUBLE_EQ(m.o_at(0, 1), 203);
  EXPECT_DOUBLE_EQ(m.o_at(1, 0), 200);
  EXPECT_DOUBLE_EQ(m.o_at(0, 2), 40);
  EXPECT_DOUBLE_EQ(m.l_at(0, 2), 4);
  EXPECT_DOUBLE_EQ(m.o_at(1, 1), 5);
  EXPECT_DOUBLE_EQ(m.awaited, 3);
  // The costs of words and of published lines grow with the team's mean distance: pairs 3-0 and 0-2 are
  // across packages; 3-2, within one, is the nearest pair.
  const double apart = (1.1 * (203 + 200) / 2 + 1.1 * (200 + 202) / 2 + 44) / 3;
  EXPECT_NEAR(m.word_add, 30 * apart / 44, 1e-9);
  EXPECT_NEAR(m.reader, 4 * apart / 44, 1e-9);
  EXPECT_NEAR(m.word_read, 25 * apart / 44, 1e-9);
  EXPECT_DOUBLE_EQ(m.members_per_cpu, 1);
}

TEST_F(CostModelOf, BytesAreMeasuredOrOfTheirLevel) {
  profile_.g = profile_.g_direct = Matrix(4);
  profile_.g.at(3, 0) = 0.375;  // into and out of a ring
  profile_.g.at(0, 0) = 0.04;
  profile_.g_direct.at(3, 0) = 0.25;
  const CostModel m = model({3, 0, 2}, 3);
  EXPECT_DOUBLE_EQ(m.g_at(0, 1), 0.1875);
  EXPECT_DOUBLE_EQ(m.direct_at(0, 1), 0.25);
  EXPECT_DOUBLE_EQ(m.g_at(1, 0), default_byte_ns(Level::kMachine));  // its entry is zero
  EXPECT_DOUBLE_EQ(m.direct_at(1, 0), default_byte_ns(Level::kMachine));
  EXPECT_DOUBLE_EQ(m.g_at(0, 2), default_byte_ns(common_level(topology_.cpus[3], topology_.cpus[2])));
  EXPECT_DOUBLE_EQ(m.g_at(2, 2), 0.04);
  EXPECT_GT(model({}, 3).g_at(0, 1), 0);
}

TEST_F(CostModelOf, HowBytesMoveFollowsTheEngine) {
  profile_.engine = "threads";
  profile_.g = profile_.g_direct = Matrix(4);
  profile_.g.at(0, 0) = 0.04;
  profile_.fold_byte_ns = 0.07;
  profile_.direct_ns = 20;
  profile_.domains = {{Level::kL3, 2, 0.2}, {Level::kMachine, 4, 0.15}};
  const ByteCosts threads = model({0, 1, 2}, 3).bytes;
  EXPECT_DOUBLE_EQ(threads.together, 0.15);
  EXPECT_DOUBLE_EQ(threads.direct_once, 20);
  EXPECT_NEAR(threads.direct_fold, 0.03, 1e-12);
  EXPECT_TRUE(threads.direct.moved[0].has(kDirectFrom) && !threads.direct.folded[1].has(kDirectFrom - 1));
  PlanKey key;
  key.members = 2;
  key.engine = Engine::kProcesses;
  const ByteCosts guessed = cost_model(profile_, topology_, key).bytes;  // guessed from a profile of threads
  EXPECT_EQ(guessed.direct, Direct());                                   // the profile has no block times
  EXPECT_GT(guessed.direct_once, 500);
  EXPECT_DOUBLE_EQ(guessed.together, 0.2);
  profile_.engine = "processes";
  EXPECT_DOUBLE_EQ(cost_model(profile_, topology_, key).bytes.direct_once, 20);
  const auto way = [&](const char* name, bool both, std::int64_t bytes, double ns) {
    profile_.blocks.push_back({name, both, bytes, ns});
  };
  for (const bool both : {false, true}) way("ring", both, 16384, 4000), way("ring", both, 65536, 20000);
  EXPECT_EQ(cost_model(profile_, topology_, key).bytes.direct, Direct());  // single copy is forbidden
  way("lent", false, 16384, 4100);
  way("lent", false, 65536, 15000);
  way("lent", true, 16384, 3900);
  way("lent", true, 65536, 19000);
  const Direct measured = cost_model(profile_, topology_, key).bytes.direct;
  EXPECT_EQ(measured.moved[1], Sizes::from(16));  // the largest measured size stands for all larger ones
  EXPECT_EQ(measured.moved[0], Sizes::from(14));
  EXPECT_EQ(measured.folded[1], Sizes::from(16));
  EXPECT_EQ(measured.folded[0], Sizes()) << "a further copy makes single copy the slower way";
}

TEST_F(CostModelOf, LongBlocksLeaveTheCaches) {
  const auto beyond = [&](std::vector<double> ns) {
    profile_.blocks.clear();
    std::int64_t bytes = 16384;
    for (const double each : ns) {
      profile_.blocks.push_back({"ring", true, bytes, each * static_cast<double>(bytes)});
      bytes *= 4;
    }
    return model({0, 1}, 2).bytes;
  };
  const ByteCosts rising = beyond({0.05, 0.04, 0.041, 0.06, 0.08});
  EXPECT_DOUBLE_EQ(rising.cached, 262144);
  EXPECT_DOUBLE_EQ(rising.beyond, 2);
  EXPECT_EQ(beyond({0.05, 0.04, 0.041, 0.041}).cached, 0) << "no measured size leaves the caches";
}

TEST_F(CostModelOf, LayoutFactorsAreRelativeToPrivate) {
  const CostModel m = model({0, 1}, 2);
  EXPECT_DOUBLE_EQ(m.layout_factor[static_cast<int>(Layout::kPacked)], 0.6);
  EXPECT_DOUBLE_EQ(m.layout_factor[static_cast<int>(Layout::kPublished)], 1);
  EXPECT_DOUBLE_EQ(m.stride_factor[5], 0.8);
  EXPECT_DOUBLE_EQ(m.stride_factor[2], 1);
  EXPECT_DOUBLE_EQ(m.word_add, 20);
}

// O and L of another layout than private: that one has the factor 1, and what was not measured costs as much
// as private.
TEST_F(CostModelOf, LayoutFactorsAreRelativeToTheBase) {
  profile_.base_layout = "private+stride5";
  const CostModel m = model({0, 1}, 2);
  EXPECT_DOUBLE_EQ(m.layout_factor[static_cast<int>(Layout::kPrivate)], 60.0 / 48);
  EXPECT_DOUBLE_EQ(m.layout_factor[static_cast<int>(Layout::kPublished)], 60.0 / 48);
  EXPECT_DOUBLE_EQ(m.layout_factor[static_cast<int>(Layout::kPacked)], 36.0 / 48);
  EXPECT_DOUBLE_EQ(m.layout_factor[static_cast<int>(Layout::kPrivate)] * m.stride_factor[5], 1);
}

// Published costs are of the nearest pair, measured ones of those who took part.
TEST_F(CostModelOf, ReadersFollowEachOtherByAShareOfASignal) {
  EXPECT_DOUBLE_EQ(reader_share(profile_), 4.0 / 44);
  profile_.origin = "measured";
  EXPECT_NEAR(reader_share(profile_), 4 / ((2 * 44 + 1.1 * (201 + 201.5 + 201.5 + 202)) / 6), 1e-9);
  profile_.reader_ns = 0;
  EXPECT_DOUBLE_EQ(reader_share(profile_), 1);
}

TEST_F(CostModelOf, UnpinnedMembersMeetTheMedianPair) {
  const CostModel m = model({}, 3);
  for (int i = 0; i < 3; ++i)
    // 8 of 12 pairs are between packages
    for (int j = 0; j < 3; ++j) EXPECT_TRUE(i == j || m.o_at(i, j) > 40);
  EXPECT_DOUBLE_EQ(m.o_at(0, 1), m.o_at(2, 1));
}

TEST_F(CostModelOf, SharedCpusAreCrowded) {
  EXPECT_DOUBLE_EQ(model({0, 0, 0, 1}, 4).members_per_cpu, 3);
  EXPECT_DOUBLE_EQ(model({}, 16).members_per_cpu, 4);
  EXPECT_DOUBLE_EQ(model({0, 0}, 2).o_at(0, 1), 2 * 5);  // one CPU does the work of both
  EXPECT_DOUBLE_EQ(model({0, 0}, 2).l_at(0, 1), 2 * 1);
  EXPECT_DOUBLE_EQ(model({0, 0}, 2).switch_ns, 400);
  profile_.yield_ns = 0;
  EXPECT_DOUBLE_EQ(model({0, 0}, 2).switch_ns, 2500);
}

TEST_F(CostModelOf, CpusWithoutARowGetTheirLevelsMedian) {
  profile_.topology.cpus.pop_back();
  profile_.o = Matrix(3);
  profile_.l = Matrix(3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) profile_.o.at(i, j) = i == j ? 5 : i / 2 == j / 2 ? 40 : 200;
  const CostModel m = model({0, 3}, 2);
  EXPECT_DOUBLE_EQ(m.o_at(0, 1), 200);
}

TEST(Degrees, AllOfASmallTeamAndStepsOfALargeOne) {
  EXPECT_EQ(degrees_to_try(2), std::vector<std::int32_t>{2});
  EXPECT_EQ(degrees_to_try(24).size(), 22u);
  EXPECT_EQ(degrees_to_try(24).back(), 23);
  const auto many = degrees_to_try(1024);
  EXPECT_LT(many.size(), 40u);
  for (std::size_t i = 1; i < many.size(); ++i) EXPECT_GT(many[i], many[i - 1]);
}

TEST(LayoutText, RoundTripsAndRefuses) {
  for (const char* text :
       {"private", "packed+2slots", "private+stride5+line128", "published+4slots+line128"}) {
    const auto choice = parse_layout(text);
    ASSERT_TRUE(choice.ok()) << text;
    EXPECT_EQ(to_string(*choice), text);
  }
  for (const char* text : {"", "shared", "packed+3slots", "private+stride9", "private+line96", "packed+",
                           "packed+x", "private+0slots", "private+-1slots", "private+2slots+"})
    EXPECT_FALSE(parse_layout(text).ok()) << text;
}

TEST(LayoutChoices, PackedNeedsTwoSlotsToALine) {
  const auto topology = topology_from_regular({.cores = 4});
  ASSERT_TRUE(topology.ok());
  CostModel m;
  const auto has = [&](std::int32_t payload, Layout layout) {
    PlanKey key;
    key.payload = payload;
    for (const LayoutChoice& c : layouts_to_try(m, *topology, key))
      if (c.layout == layout) return true;
    return false;
  };
  EXPECT_TRUE(has(0, Layout::kPacked));
  EXPECT_TRUE(has(8, Layout::kPacked));
  EXPECT_FALSE(has(56, Layout::kPacked));
  EXPECT_TRUE(has(56, Layout::kPublished));
}

}  // namespace
}  // namespace fermata
