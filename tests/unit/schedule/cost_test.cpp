// Costs calculated by hand from equations 1 and 2 and the model in cost.hpp.
#include <gtest/gtest.h>

#include "algo/algorithm.hpp"
#include "schedule/compose.hpp"
#include "schedule/cost.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

CostModel uniform(int members, double o, double l) {
  CostModel m;
  m.members = members;
  m.o.assign(static_cast<std::size_t>(members) * members, o);
  m.l.assign(static_cast<std::size_t>(members) * members, l);
  for (int i = 0; i < members; ++i) m.o[static_cast<std::size_t>(i) * members + i] = o / 4;
  return m;
}

Schedule barrier(const char* name, int members, int degree = 2) {
  return find_algorithm(name)->build({.members = members, .degree = degree});
}

TEST(Cost, EquationsOneAndTwo) {
  CostModel m = uniform(4, 20, 5);
  m.o[1] = 30;
  m.l[2] = 7;
  EXPECT_DOUBLE_EQ(stage_cost_eq1(m, 0, {1, 2, 3}), 30 + 5 + 7 + 5);
  EXPECT_DOUBLE_EQ(stage_cost_eq2(m, 0, {1, 2, 3}), 5 + 5 + 7 + 5);
  EXPECT_DOUBLE_EQ(stage_cost_eq1(m, 0, {}), 0);
  EXPECT_DOUBLE_EQ(stage_cost_eq2(m, 0, {}), 5);
}

TEST(Cost, StagesOnAUniformMachine) {
  const CostModel m = uniform(8, 20, 5);
  EXPECT_DOUBLE_EQ(cost(barrier("linear", 8), m, {}).critical_path_ns, 2 * (20 + 7 * 5));
  EXPECT_DOUBLE_EQ(cost(barrier("dissemination", 8), m, {}).critical_path_ns, 3 * 25);
  EXPECT_DOUBLE_EQ(cost(barrier("dissemination", 5), m, {}).critical_path_ns, 3 * 25);
  EXPECT_DOUBLE_EQ(cost(barrier("butterfly", 8), m, {}).critical_path_ns, 3 * 25);
  EXPECT_DOUBLE_EQ(cost(barrier("binomial", 8), m, {}).critical_path_ns, 6 * 25);
  EXPECT_DOUBLE_EQ(cost(barrier("complete", 8), m, {}).critical_path_ns, 20 + 7 * 5);
  EXPECT_DOUBLE_EQ(cost(barrier("kary", 7, 2), m, {}).critical_path_ns, 4 * (20 + 2 * 5));
  EXPECT_DOUBLE_EQ(cost(barrier("linear", 1), m, {}).critical_path_ns, 0);
}

// In the stage between two hosts of two members each, the second message leaves after the first. Between four
// hosts, no message waits.
TEST(Cost, MessagesOfAHostLeaveOneAfterTheOther) {
  CostModel m = uniform(4, 20, 5);
  m.hosts = {0, 1, 2, 3};
  EXPECT_DOUBLE_EQ(cost(barrier("butterfly", 4), m, {}).critical_path_ns, 2 * 25);
  m.hosts = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(cost(barrier("butterfly", 4), m, {}).critical_path_ns, 2 * 25 + 5);
}

// Four hosts that all tell each other: each sends three messages until 12 / 4 + 3 x 5, and takes three in 5
// each. On one host, the signals come meanwhile.
TEST(Cost, MessagesAreTakenAfterOwnOnesHaveBeenSent) {
  CostModel m = uniform(4, 12, 5);
  EXPECT_DOUBLE_EQ(cost(barrier("complete", 4), m, {}).critical_path_ns, 12 + 3 * 5);
  m.hosts = {0, 1, 2, 3};
  const Cost over_hosts = cost(barrier("complete", 4), m, {});
  EXPECT_DOUBLE_EQ(over_hosts.critical_path_ns, 3 + 3 * 5 + 3 * 5);
  ASSERT_EQ(over_hosts.critical_path.size(), 2u);  // its own sends, then what it takes
  EXPECT_EQ(over_hosts.critical_path[0].vertex, over_hosts.critical_path[1].vertex);
  EXPECT_DOUBLE_EQ(over_hosts.critical_path[0].at_ns, 3 + 3 * 5);
}

// The root continues when it has begun a message, after O(i,i) + L. So its messages of a binomial tree's two
// stages are under way together. The message that another member passes on in the second stage takes the full
// time again.
TEST(Cost, WhoSendsAMessageDoesNotWaitForItToCome) {
  CostModel m = uniform(4, 20, 5);
  const Schedule s = find_algorithm("binomial")->build({.collective = Collective::kBroadcast, .members = 4});
  ASSERT_EQ(s.stages.size(), 2u);
  EXPECT_DOUBLE_EQ(cost(s, m, {}).departure_ns[0], 25 + 25);
  m.hosts = {0, 1, 2, 3};
  const Cost over_hosts = cost(s, m, {});
  EXPECT_DOUBLE_EQ(over_hosts.departure_ns[0], 10 + 10);
  EXPECT_DOUBLE_EQ(over_hosts.departure_ns[1], 10 + 25);
  EXPECT_DOUBLE_EQ(over_hosts.departure_ns[2], 25 + 10);
  EXPECT_DOUBLE_EQ(over_hosts.departure_ns[3], 25 + 25);
}

TEST(Cost, AwaitedSlotsThatComeAtOnceCostMaxOPlusSumL) {
  CostModel m = uniform(4, 20, 5);
  m.o[3 * 4 + 0] = 100;  // from member 3 to member 0
  m.l[2 * 4 + 0] = 50;
  Schedule s;
  s.members = 4;
  s.stages = {{{{.from = 1, .to = 0}, {.from = 2, .to = 0}, {.from = 3, .to = 0}}}};
  EXPECT_DOUBLE_EQ(cost(s, m, {}).departure_ns[0], 100 + 5 + 50 + 5);
}

TEST(Cost, ALateSlotCostsOnlyItself) {
  const CostModel m = uniform(4, 20, 5);
  Schedule s;  // 3 -> 2 first, so 2 is late at 0
  s.members = 4;
  s.stages = {{{{.from = 3, .to = 2}}}, {{{.from = 1, .to = 0}, {.from = 2, .to = 0}}}};
  const Cost c = cost(s, m, {});
  EXPECT_DOUBLE_EQ(c.departure_ns[0], 25 + 25);
  EXPECT_DOUBLE_EQ(c.departure_ns[1], 25);
  ASSERT_EQ(c.critical_path.size(), 2u);
  EXPECT_EQ(c.critical_path[0].vertex, 2);
  EXPECT_EQ(c.critical_path[1].stage, 1);
  EXPECT_DOUBLE_EQ(c.critical_path[1].at_ns, 50);
  EXPECT_DOUBLE_EQ(c.stage_ns[0], 25);
  EXPECT_DOUBLE_EQ(c.stage_ns[1], 50);
}

TEST(Cost, MeasuredCostOfAFurtherAwaitedSlotScalesWithDistance) {
  CostModel m = uniform(4, 20, 10);
  m.awaited = 2;
  Schedule s;
  s.members = 4;
  s.stages = {{{{.from = 1, .to = 0}, {.from = 2, .to = 0}, {.from = 3, .to = 0}}}};
  EXPECT_DOUBLE_EQ(cost(s, m, {}).departure_ns[0], 20 + 10 + 2 + 2);
  m.l[1 * 4 + 0] = 30;  // three times as far: the first read is full, further ones scale
  EXPECT_DOUBLE_EQ(cost(s, m, {}).departure_ns[0], 20 + (2 + 2 + 6) + (30 - 6));
}

// A further slot may cost more than its L. The first one, which may be the only one, still costs L.
TEST(Cost, AFurtherAwaitedSlotMayCostMoreThanTheFirst) {
  CostModel m = uniform(4, 20, 10);
  m.awaited = 15;
  Schedule s;
  s.members = 4;
  s.stages = {{{{.from = 1, .to = 0}}}};
  EXPECT_DOUBLE_EQ(cost(s, m, {}).departure_ns[0], 20 + 10);
  s.stages = {{{{.from = 1, .to = 0}, {.from = 2, .to = 0}, {.from = 3, .to = 0}}}};
  EXPECT_DOUBLE_EQ(cost(s, m, {}).departure_ns[0], 20 + 10 + 15 + 15);
}

TEST(Cost, PublishedLinesPayPerReader) {
  CostModel m = uniform(5, 20, 5);
  m.reader = 3;
  Schedule s;
  s.members = 5;
  s.stages.resize(1);
  for (int i = 1; i < 5; ++i) s.stages[0].transfers.push_back({.from = 0, .to = i});
  EXPECT_DOUBLE_EQ(cost(s, m, LayoutChoice{.layout = Layout::kPrivate}).critical_path_ns, 20 + 4 * 5);
  const Cost c = cost(s, m, LayoutChoice{.layout = Layout::kPublished});
  EXPECT_DOUBLE_EQ(c.departure_ns[0], 25);
  EXPECT_DOUBLE_EQ(c.departure_ns[1], 25);
  EXPECT_DOUBLE_EQ(c.departure_ns[4], 25 + 3 * 3);
}

TEST(Cost, EachStageHasTheCostOfItsLayout) {
  CostModel m = uniform(2, 20, 5);
  m.layout_factor[static_cast<int>(Layout::kPacked)] = 0.5;
  const Schedule s = then(barrier("butterfly", 2), barrier("butterfly", 2));
  ASSERT_EQ(s.stages.size(), 2u);
  const LayoutChoice apart, together{.layout = Layout::kPacked};
  EXPECT_DOUBLE_EQ(cost(s, m, apart).critical_path_ns, 50);
  EXPECT_DOUBLE_EQ(cost(s, m, Layouts({apart, together})).critical_path_ns, 37.5);
  EXPECT_DOUBLE_EQ(cost(s, m, Layouts({together, apart})).critical_path_ns, 37.5);
}

TEST(Cost, LayoutAndStrideScaleSignals) {
  CostModel m = uniform(2, 20, 5);
  m.layout_factor[static_cast<int>(Layout::kPacked)] = 0.5;
  m.stride_factor[5] = 0.8;
  const Schedule s = barrier("butterfly", 2);
  EXPECT_DOUBLE_EQ(cost(s, m, LayoutChoice{.layout = Layout::kPacked}).critical_path_ns, 12.5);
  EXPECT_DOUBLE_EQ(cost(s, m, LayoutChoice{.stride = 5}).critical_path_ns, 20);
  // A member that gets no answer in its stage gains nothing from a shared line, and loses if more than two
  // share it.
  const Schedule tree = barrier("linear", 2);
  EXPECT_DOUBLE_EQ(cost(tree, m, LayoutChoice{.layout = Layout::kPacked}).critical_path_ns, 50);
  m.packed_sharers = 4;
  EXPECT_DOUBLE_EQ(cost(tree, m, LayoutChoice{.layout = Layout::kPacked}).critical_path_ns, 100);
  EXPECT_DOUBLE_EQ(cost(s, m, LayoutChoice{.layout = Layout::kPacked}).critical_path_ns, 25);
}

TEST(Cost, WordsQueueAddsAndSpareTheirCompleter) {
  CostModel m = uniform(4, 20, 5);
  m.word_add = 10;
  m.word_read = 30;
  m.reader = 1;
  const Cost c = cost(barrier("counter", 4), m, {});
  EXPECT_DOUBLE_EQ(c.departure_ns[3], 40);  // the last adder reads nothing
  EXPECT_DOUBLE_EQ(c.critical_path_ns, 40 + 30 + 2 * 1);
  const Cost phased = cost(barrier("sense_reversing", 4), m, {});
  EXPECT_DOUBLE_EQ(phased.departure_ns[3], 50);
  EXPECT_DOUBLE_EQ(phased.critical_path_ns, 50 + 30 + 2 * 1);
  // Two leaves of two: both complete at 20 and climb at 30 and 40. Then follow the root's phase, the other
  // leaf's phase, and its waiter.
  const Cost tree = cost(barrier("combining_tree", 4, 2), m, {});
  EXPECT_DOUBLE_EQ(tree.critical_path_ns, 40 + 10 + 30 + 10 + 30);
}

TEST(Cost, SharedCpusPayTurnsPerWait) {
  CostModel m = uniform(4, 20, 5);
  m.word_add = 10;
  m.word_read = 30;
  m.switch_ns = 1000;
  const double alone = cost(barrier("counter", 4), m, {}).critical_path_ns;
  const double polled_apart = cost(barrier("sense_reversing", 4), m, {}).critical_path_ns;
  m.members_per_cpu = 2;
  // One context switch, and half a read more for each write of the word that all wait on: four adds of the
  // counter, or one flip of the phase.
  EXPECT_DOUBLE_EQ(cost(barrier("counter", 4), m, {}).critical_path_ns, alone + 2000 + 4 * 15);
  EXPECT_DOUBLE_EQ(cost(barrier("sense_reversing", 4), m, {}).critical_path_ns, polled_apart + 2000 + 15);
  EXPECT_DOUBLE_EQ(cost(barrier("butterfly", 4), m, {}).critical_path_ns, 2 * (25 + 2000));
}

TEST(Cost, PeriodIsTheGrowthPerEpisode) {
  const CostModel m = uniform(8, 20, 5);
  EXPECT_NEAR(period_cost(barrier("butterfly", 8), m, {}), 75, 0.1);
  EXPECT_NEAR(period_cost(barrier("binomial", 8), m, {}), 150, 0.1);
  EXPECT_DOUBLE_EQ(period_cost(barrier("linear", 1), m, {}), 0);
  // A broadcast streams: the root pays for its sends and waits for nobody.
  const Schedule s = find_algorithm("binomial")->build({.collective = Collective::kBroadcast, .members = 8});
  EXPECT_NEAR(period_cost(s, m, {}), 75, 0.1);
  EXPECT_DOUBLE_EQ(cost(s, m, {}).critical_path_ns, 75);
  // The member that is ahead at first, and pays most, delays the others in the end.
  CostModel crowd = uniform(8, 20, 5);
  crowd.switch_ns = 1000;
  crowd.members_per_cpu = 4;
  const Schedule tree =
      find_algorithm("kary")->build({.collective = Collective::kBroadcast, .members = 8, .degree = 6});
  EXPECT_GE(period_cost(tree, crowd, {}), 6 * 5);
  // Two members on one counter: adds are serial; a read overlaps with the completer's next add.
  CostModel two = uniform(2, 20, 5);
  two.word_add = 10;
  two.word_read = 8;
  EXPECT_NEAR(period_cost(barrier("counter", 2), two, {}), 20, 0.1);
}

// Builds, proves and costs one schedule of 1,024 ranks for every algorithm. One more quadratic step would
// exceed the test's time limit; `fermata bench planning` reports the times.
TEST(Cost, AThousandRanks) {
  constexpr int kRanks = FERMATA_TEST_SCALE > 1 ? 256 : 1024;
  CostModel m = uniform(kRanks, 20, 5);
  m.word_add = 10;
  for (const Algorithm& a : algorithms()) {
    for (const Collective collective : {Collective::kBarrier, Collective::kAllreduce}) {
      const Request request{.collective = collective, .members = kRanks};
      if (!a.applicable(request)) continue;
      const Schedule s = a.build(request);
      EXPECT_TRUE(verify(s, {.idempotent = true}).ok()) << a.name;
      EXPECT_GT(cost(s, m, {}).critical_path_ns, 0) << a.name;
    }
  }
}

CostModel with_bytes(int members, double g) {
  CostModel m = uniform(members, 20, 5);
  m.g.assign(static_cast<std::size_t>(members) * members, g);
  return m;
}

Schedule schedule_of(const char* name, Collective collective, int members) {
  return find_algorithm(name)->build({.collective = collective, .members = members});
}

TEST(Bytes, AMessageOfSeveralChunksPaysOnceForItsSignal) {
  const CostModel m = with_bytes(4, 0.5);
  // 1 -> 0 and 3 -> 2, then two chunks from 2 to 0
  const Schedule gather = schedule_of("binomial", Collective::kGather, 4);
  EXPECT_DOUBLE_EQ(cost(gather, m, {}).critical_path_ns, 2 * 25);
  EXPECT_DOUBLE_EQ(cost(gather, m, {}, 100).critical_path_ns, 25 + 50 + 25 + 100);
  EXPECT_DOUBLE_EQ(cost(gather, uniform(4, 20, 5), {}, 100).critical_path_ns, 2 * 25);
}

TEST(Bytes, WhatAMemberWritesAndReadsInAStageFollowsOneAnother) {
  const CostModel m = with_bytes(2, 0.5);
  EXPECT_DOUBLE_EQ(cost(schedule_of("linear", Collective::kReduce, 2), m, {}, 1000).critical_path_ns,
                   25 + 500);
  EXPECT_DOUBLE_EQ(cost(schedule_of("butterfly", Collective::kAllreduce, 2), m, {}, 1000).critical_path_ns,
                   2 * 500);
}

TEST(Bytes, APublishedPayloadIsWrittenOnce) {
  const CostModel m = with_bytes(5, 0.5);
  const Schedule s = schedule_of("linear", Collective::kBroadcast, 5);
  const LayoutChoice published{.layout = Layout::kPublished};
  EXPECT_DOUBLE_EQ(cost(s, m, {}, 1000).departure_ns[0], 20 + 4 * (5 + 500));
  EXPECT_DOUBLE_EQ(cost(s, m, published, 1000).departure_ns[0], 20 + 5 + 500);
}

TEST(Bytes, TheFirstSlotfulIsCopiedOutAfterItWasCopiedIn) {
  CostModel m = with_bytes(2, 0.5);
  m.bytes.slot = 600;
  const Schedule s = schedule_of("linear", Collective::kBroadcast, 2);
  EXPECT_DOUBLE_EQ(cost(s, m, {}, 100).departure_ns[1], 25 + 50 + 50);
  EXPECT_DOUBLE_EQ(cost(s, m, {}, 1000).departure_ns[1], 25 + 300 + 500);
  EXPECT_DOUBLE_EQ(cost(s, m, {}, 1000).departure_ns[0], 25 + 500);
}

TEST(Bytes, ADirectReadingKeepsTheSenderWaitingButNotBusy) {
  CostModel m = with_bytes(5, 0.5);
  m.direct.assign(25, 0.4);
  m.bytes.direct = Direct::from(9);
  m.bytes.direct_once = 10;
  m.bytes.direct_fold = 0.1;
  const Schedule two = schedule_of("linear", Collective::kBroadcast, 2),
                 five = schedule_of("linear", Collective::kBroadcast, 5);
  EXPECT_DOUBLE_EQ(cost(two, m, {}, 1000).departure_ns[1], 25 + 10 + 400);
  EXPECT_DOUBLE_EQ(cost(two, m, {}, 1000).departure_ns[0], 25 + 10 + 400 + 5);
  EXPECT_DOUBLE_EQ(cost(two, m, {}, 400).departure_ns[1], 25 + 200);  // too short for it
  // All members read at the same time.
  EXPECT_DOUBLE_EQ(cost(five, m, {}, 1000).departure_ns[4], 20 + 4 * 5 + 10 + 400);
  EXPECT_DOUBLE_EQ(cost(schedule_of("linear", Collective::kReduce, 2), m, {}, 1000).departure_ns[0],
                   25 + 10 + 500);
  // Both directions of an exchange run at once.
  EXPECT_DOUBLE_EQ(cost(schedule_of("butterfly", Collective::kAllreduce, 2), m, {}, 1000).critical_path_ns,
                   25 + 10 + 500 + 5);
}

TEST(Bytes, LongChunksCostMore) {
  CostModel m = with_bytes(2, 0.5);
  m.bytes.cached = 1000;
  m.bytes.beyond = 3;
  const Schedule s = schedule_of("linear", Collective::kBroadcast, 2);
  EXPECT_DOUBLE_EQ(cost(s, m, {}, 1000).departure_ns[1], 25 + 500);
  EXPECT_DOUBLE_EQ(cost(s, m, {}, 1001).departure_ns[1], 25 + 3 * 500.5);
}

TEST(Bytes, MemoryBoundsWhatAllMoveTogether) {
  CostModel m = with_bytes(5, 0.5);
  m.direct.assign(25, 0.4);
  m.bytes.direct = Direct::from(0);
  m.bytes.together = 0.25;
  EXPECT_DOUBLE_EQ(cost(schedule_of("linear", Collective::kBroadcast, 5), m, {}, 1000).critical_path_ns,
                   4 * 1000 * 0.25);
  EXPECT_GT(cost(schedule_of("linear", Collective::kBroadcast, 2), m, {}, 1000).critical_path_ns, 400);
}

// Two hosts of two members: two of a broadcast's three messages leave the root's host.
TEST(Bytes, TheNetworkBoundsWhatAllHostsSend) {
  CostModel m = with_bytes(4, 0.001);
  m.hosts = {0, 0, 1, 1};
  m.bytes.between = 2;
  EXPECT_DOUBLE_EQ(cost(schedule_of("linear", Collective::kBroadcast, 4), m, {}, 1000).critical_path_ns,
                   2 * 1000 * 2);
  m.hosts = {};
  EXPECT_LT(cost(schedule_of("linear", Collective::kBroadcast, 4), m, {}, 1000).critical_path_ns, 1000);
}

TEST(Bytes, WhatTheBusiestMemberFoldsMayComeOnTop) {
  CostModel m = with_bytes(5, 0.5);
  const Schedule root_folds = schedule_of("linear", Collective::kReduce, 5);
  const Schedule chain =
      find_algorithm("kary")->build({.collective = Collective::kReduce, .members = 5, .degree = 1});
  const double star_ns = cost(root_folds, m, {}, 1000).critical_path_ns,
               chain_ns = cost(chain, m, {}, 1000).critical_path_ns;
  m.bytes.fold_apart = 0.1;
  EXPECT_DOUBLE_EQ(cost(root_folds, m, {}, 1000).critical_path_ns, star_ns + 4 * 100);
  EXPECT_DOUBLE_EQ(cost(chain, m, {}, 1000).critical_path_ns, chain_ns + 100);
}

TEST(Bytes, FurtherChunksOfAMessageAreWalkedThrough) {
  CostModel m = with_bytes(4, 0.5);
  m.bytes.chunk = 7;
  const Schedule gather = schedule_of("binomial", Collective::kGather, 4);
  EXPECT_DOUBLE_EQ(cost(gather, m, {}, 100).critical_path_ns, 25 + 50 + 25 + 100 + 7);
}

// Trees are for short vectors, pieces for long ones.
TEST(Bytes, LongVectorsWantPieces) {
  const CostModel m = with_bytes(16, 0.1);
  const auto time = [&m](const char* name, Collective collective, double bytes) {
    const Schedule s = schedule_of(name, collective, 16);
    return cost(s, m, {}, bytes / s.chunks).critical_path_ns;
  };
  constexpr double kShort = 64, kLong = 1 << 20;
  EXPECT_LT(time("binomial", Collective::kBroadcast, kShort),
            time("scatter_allgather", Collective::kBroadcast, kShort));
  EXPECT_GT(time("binomial", Collective::kBroadcast, kLong),
            time("scatter_allgather", Collective::kBroadcast, kLong));
  EXPECT_GT(time("scatter_allgather", Collective::kBroadcast, kLong), 0.1 * kLong);
  EXPECT_LT(time("butterfly", Collective::kAllreduce, kShort),
            time("recursive_halving", Collective::kAllreduce, kShort));
  EXPECT_GT(time("butterfly", Collective::kAllreduce, kLong),
            2 * time("recursive_halving", Collective::kAllreduce, kLong));
  EXPECT_LT(time("recursive_halving", Collective::kAllreduce, 1024),
            time("ring", Collective::kAllreduce, 1024));
  EXPECT_NEAR(time("recursive_halving", Collective::kAllreduce, kLong),
              time("ring", Collective::kAllreduce, kLong), 1e-3);
  EXPECT_LT(time("bruck", Collective::kAlltoall, kShort), time("pairwise", Collective::kAlltoall, kShort));
  EXPECT_GT(time("bruck", Collective::kAlltoall, kLong), time("pairwise", Collective::kAlltoall, kLong));
}

}  // namespace
}  // namespace fermata
