// One profile from several rounds: for each quantity, the other rounds outvote a disturbed one.
#include "profile/rounds.hpp"

#include <gtest/gtest.h>

namespace fermata {
namespace {

Profile round_of(double factor) {
  Profile p = estimate_profile(*topology_from_regular({.cores = 2}));
  p.origin = "measured";
  p.o = p.l = p.g = p.g_direct = Matrix(2);
  for (const auto field : {&Profile::o, &Profile::l, &Profile::g, &Profile::g_direct})
    (p.*field).at(0, 1) = (p.*field).at(1, 0) = 10 * factor;
  p.one_way_ns = p.awaited_ns = p.reader_ns = p.word_read_ns = p.yield_ns = p.futex_ns = p.direct_ns =
      100 * factor;
  p.fold_byte_ns = 0.5 * factor;
  p.word_add_ns = {5 * factor, 8 * factor};
  p.memory.work_ns = 2 * factor;
  p.layouts = {{"private", 60 * factor}, {"packed", 30 * factor}};
  p.domains = {{Level::kL3, 2, 0.2 * factor}};
  p.tearing = {{16, Level::kL3, 1000, 0}};
  p.remarks = {"always"};
  return p;
}

void expect_costs_of(const Profile& p, double factor) {
  for (const auto field : {&Profile::o, &Profile::l, &Profile::g, &Profile::g_direct})
    EXPECT_DOUBLE_EQ((p.*field).at(0, 1), 10 * factor);
  for (const auto field :
       {&Profile::one_way_ns, &Profile::awaited_ns, &Profile::reader_ns, &Profile::word_read_ns,
        &Profile::yield_ns, &Profile::futex_ns, &Profile::direct_ns})
    EXPECT_DOUBLE_EQ(p.*field, 100 * factor);
  EXPECT_DOUBLE_EQ(p.fold_byte_ns, 0.5 * factor);
  EXPECT_EQ(p.word_add_ns, (std::vector<double>{5 * factor, 8 * factor}));
  EXPECT_DOUBLE_EQ(p.memory.work_ns.value_or(0), 2 * factor);
  ASSERT_EQ(p.layouts.size(), 2u);
  EXPECT_DOUBLE_EQ(p.layouts[1].period_ns, 30 * factor);
  ASSERT_EQ(p.domains.size(), 1u);
  EXPECT_DOUBLE_EQ(p.domains[0].byte_ns, 0.2 * factor);
}

TEST(Rounds, TwoDisturbedOfFiveChangeNothingButTheRemarks) {
  Profile torn = round_of(9);
  torn.tearing[0].torn = 7;
  torn.remarks.push_back("once");
  const Profile p = combined({round_of(1), torn, round_of(1), round_of(0.1), round_of(1)});
  expect_costs_of(p, 1);
  ASSERT_EQ(p.tearing.size(), 1u);
  EXPECT_EQ(p.tearing[0].reads, 5000);
  EXPECT_EQ(p.tearing[0].torn, 7);
  ASSERT_EQ(p.remarks.size(), 3u);
  EXPECT_EQ(p.remarks[1], "once");
  EXPECT_EQ(
      p.remarks[2],
      "the nearest CPUs' latency changed while measuring: one way 10 to 900 ns in 5 rounds, median 100");
}

TEST(Rounds, WhatARoundLacksTheOthersSay) {
  Profile poor = round_of(3);
  poor.futex_ns = 0;  // not measured
  poor.layouts.clear();
  poor.domains.clear();
  poor.word_add_ns.pop_back();
  poor.g_direct = Matrix(0);
  poor.fold_byte_ns = poor.g.at(0, 1) = 0;
  const Profile p = combined({poor, round_of(2)});
  ASSERT_EQ(p.layouts.size(), 2u);
  EXPECT_DOUBLE_EQ(p.layouts[0].period_ns, 120);
  ASSERT_EQ(p.domains.size(), 1u);
  ASSERT_EQ(p.word_add_ns.size(), 2u);
  EXPECT_DOUBLE_EQ(p.word_add_ns[1], 16);
  EXPECT_DOUBLE_EQ(p.g_direct.at(1, 0), 20);
  EXPECT_DOUBLE_EQ(p.g.at(0, 1), 20);
  EXPECT_DOUBLE_EQ(p.fold_byte_ns, 1);
  EXPECT_DOUBLE_EQ(p.one_way_ns, 250);
  EXPECT_DOUBLE_EQ(p.futex_ns, 200);
}

TEST(Rounds, ParametersOfMemoryAreMediansOfTheRoundsThatKnowThem) {
  std::vector<Profile> rounds(5, round_of(1));
  rounds[0].memory = {.miss_share = 0.4, .overlap = 2, .work_ns = 1.0, .sibling_share = 0.1, .prefetch = 1};
  rounds[1].memory = {.miss_share = 0.5, .line_share = 0.8, .overlap = 2, .work_ns = 9.0, .prefetch = 8};
  rounds[3].memory = {.miss_share = 0.6, .overlap = 1, .work_ns = 1.5, .prefetch = 1};
  rounds[2].memory = rounds[4].memory = {};
  const MemoryParameters memory = combined(rounds).memory;
  EXPECT_EQ(memory, (MemoryParameters{.miss_share = 0.5,
                                      .line_share = 0.8,
                                      .overlap = 2,
                                      .work_ns = 1.5,
                                      .sibling_share = 0.1,
                                      .prefetch = 1}));
}

TEST(Rounds, OneIsItself) {
  const Profile one = round_of(1);
  EXPECT_EQ(combined({one}), one);
}

}  // namespace
}  // namespace fermata
