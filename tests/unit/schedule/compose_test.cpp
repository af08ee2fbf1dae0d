// Schedules composed from schedules: each result is proved again.
#include <gtest/gtest.h>

#include "algo/algorithm.hpp"
#include "schedule/compose.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};

Schedule built(const char* name, Collective collective, int members, Half half = Half::kWhole,
               int degree = 2) {
  return find_algorithm(name)->build(
      {.collective = collective, .half = half, .members = members, .degree = degree});
}

TEST(Compose, LiftMapsMembersAndWords) {
  const Schedule s = lift(built("counter", Collective::kBarrier, 2), {5, 3}, 7);
  EXPECT_EQ(s.members, 7);
  ASSERT_EQ(s.stages.size(), 2u);
  EXPECT_EQ(s.stages[0].transfers[0], (Transfer{.from = 5, .to = 7}));
  EXPECT_EQ(s.stages[0].transfers[1], (Transfer{.from = 3, .to = 7}));
  EXPECT_EQ(s.stages[1].transfers[1], (Transfer{.from = 7, .to = 3}));
  const Schedule reduce = lift(built("linear", Collective::kReduce, 3), {4, 1, 2}, 5);
  EXPECT_EQ(reduce.root, 4);
}

TEST(Compose, BesideAlignsEarlyOrLate) {
  const Schedule tree = lift(built("binomial", Collective::kBarrier, 4, Half::kArrive), {0, 1, 2, 3}, 6);
  const Schedule pair = lift(built("linear", Collective::kBarrier, 2, Half::kArrive), {4, 5}, 6);
  const Schedule early = beside({tree, pair}, Align::kEarly), late = beside({tree, pair}, Align::kLate);
  ASSERT_EQ(early.stages.size(), 2u);
  EXPECT_EQ(early.stages[0].transfers.size(), 3u);
  EXPECT_EQ(early.stages[1].transfers.size(), 1u);
  EXPECT_EQ(late.stages[0].transfers.size(), 2u);
  EXPECT_EQ(late.stages[1].transfers.back(), (Transfer{.from = 5, .to = 4}));
  EXPECT_EQ(early.algorithm, "binomial/linear");
}

TEST(Compose, BesideKeepsWordsApart) {
  const Schedule a = lift(built("sense_reversing", Collective::kBarrier, 2), {0, 1}, 5);
  const Schedule b = lift(built("sense_reversing", Collective::kBarrier, 3), {2, 3, 4}, 5);
  const Schedule both = beside({a, b}, Align::kEarly);
  ASSERT_EQ(both.words.size(), 4u);
  EXPECT_EQ(both.words[2].threshold, 3);
  EXPECT_EQ(both.words[3].agent, 2);
  EXPECT_FALSE(verify(both, {}).ok());  // the two halves do not know of each other
  const Schedule joined = then(both, built("linear", Collective::kBarrier, 5));
  EXPECT_TRUE(verify(joined, {}).ok()) << verify(joined, {}).error().message;
}

TEST(Compose, ReduceThenBroadcastIsAnAllreduce) {
  const Schedule s = then(built("binomial", Collective::kReduce, 9),
                          built("kary", Collective::kBroadcast, 9, Half::kWhole, 3));
  EXPECT_EQ(s.collective, Collective::kAllreduce);
  EXPECT_TRUE(verify(s, kFloatSum).ok());
}

TEST(Compose, TransposedArrivalIsTheRelease) {
  for (const char* name : {"linear", "kary", "binomial", "binomial_high"}) {
    for (const Collective collective : {Collective::kBarrier, Collective::kReduce, Collective::kAllreduce}) {
      for (int p = 1; p <= 17; ++p) {
        const Schedule arrival = built(name, collective, p, Half::kArrive);
        const Schedule whole = then(arrival, transpose(arrival));
        EXPECT_EQ(whole.collective, collective == Collective::kReduce ? Collective::kAllreduce : collective);
        EXPECT_TRUE(verify(whole, kFloatSum).ok()) << name << " P=" << p;
      }
    }
  }
  EXPECT_EQ(transpose(built("counter", Collective::kBarrier, 4)), built("counter", Collective::kBarrier, 4));
}

TEST(Compose, HalvesMakeWholes) {
  for (const Algorithm& arriving : algorithms()) {
    for (const Algorithm& releasing : algorithms()) {
      for (const Collective collective : {Collective::kBarrier, Collective::kAllreduce}) {
        for (const int p : {1, 2, 3, 5, 8, 13}) {
          const Request arrive{.collective = collective, .half = Half::kArrive, .members = p, .degree = 3};
          const Request release{.collective = collective, .half = Half::kRelease, .members = p, .degree = 3};
          if (!arriving.applicable(arrive) || !releasing.applicable(release)) continue;
          const Schedule s = then(arriving.build(arrive), releasing.build(release));
          EXPECT_TRUE(verify(s, kFloatSum).ok()) << s.algorithm << " P=" << p;
          EXPECT_TRUE(reuse_hazards(s, 2, collective != Collective::kBarrier).empty())
              << s.algorithm << " P=" << p;
        }
      }
    }
  }
}

// Two hosts of three: local arrival, an exchange of the leaders, local release.
TEST(Compose, HybridsAreComposition) {
  for (const Collective collective : {Collective::kBarrier, Collective::kAllreduce}) {
    const auto local = [&](Half half, Align align) {
      return beside({lift(built("linear", collective, 3, half), {0, 1, 2}, 6),
                     lift(built("binomial", collective, 3, half), {3, 4, 5}, 6)},
                    align);
    };
    const Schedule top = lift(built("butterfly", collective, 2), {0, 3}, 6);
    const Schedule s =
        then(then(local(Half::kArrive, Align::kEarly), top), local(Half::kRelease, Align::kLate));
    EXPECT_TRUE(verify(s, kFloatSum).ok());
    EXPECT_FALSE(verify(then(local(Half::kArrive, Align::kEarly), top), kFloatSum).ok());
  }
  // The same with a counter inside each host.
  const auto word = [](Half half, Align align) {
    const auto one = [half](std::vector<std::int32_t> ranks) {
      return lift(built("counter", Collective::kBarrier, 3, half), ranks, 6);
    };
    return beside({one({0, 1, 2}), one({3, 4, 5})}, align);
  };
  const Schedule top = lift(built("dissemination", Collective::kBarrier, 2), {0, 3}, 6);
  const Schedule s = then(then(word(Half::kArrive, Align::kEarly), top), word(Half::kRelease, Align::kLate));
  EXPECT_TRUE(verify(s, {}).ok());
  EXPECT_TRUE(reuse_hazards(s, 1, false).empty());
}

TEST(Compose, PipelineCutsChunksAndOverlapsStages) {
  const Schedule chain = built("kary", Collective::kBroadcast, 5, Half::kWhole, 1);
  const Schedule s = pipeline(chain, 3);
  EXPECT_EQ(s.chunks, 3);
  EXPECT_EQ(s.stages.size(), 4u + 2);
  EXPECT_EQ(s.transfer_count(), 3 * chain.transfer_count());
  EXPECT_TRUE(verify(s, kFloatSum).ok());
  EXPECT_EQ(s.stages[2].transfers.size(), 3u);
  for (const char* name : {"extended_butterfly", "complete", "tournament"}) {
    EXPECT_TRUE(verify(pipeline(built(name, Collective::kAllreduce, 7), 4), kFloatSum).ok()) << name;
  }
  const Schedule barrier = built("linear", Collective::kBarrier, 5);
  EXPECT_EQ(pipeline(barrier, 3), barrier);
}

TEST(Compose, EveryCollectiveIsProvedInSegments) {
  int proved = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (int collective = 1; collective < kCollectiveCount; ++collective) {
      for (const int p : {2, 3, 5, 8}) {
        const Request request{.collective = static_cast<Collective>(collective), .members = p, .degree = 3};
        if (!algorithm.applicable(request) || !serves(algorithm, request, kFloatSum)) continue;
        const Schedule whole = algorithm.build(request), s = pipeline(whole, 3);
        const auto verdict = verify(s, kFloatSum);
        EXPECT_TRUE(verdict.ok()) << s.algorithm << " " << name_of(s.collective) << " P=" << p << ": "
                                  << verdict.error().message;
        EXPECT_EQ(s.stages.size(), whole.stages.empty() ? 0 : whole.stages.size() + 2);
        // Rank order is unchanged, too.
        constexpr OpTraits kProduct{.associative = true, .commutative = false, .idempotent = false};
        EXPECT_EQ(verify(s, kProduct).ok(), verify(whole, kProduct).ok())
            << s.algorithm << " " << name_of(s.collective) << " P=" << p;
        ++proved;
      }
    }
  }
  EXPECT_GT(proved, 150);
}

TEST(Compose, AStagesSegmentsAreOneMessage) {
  // two stages of one chunk there and one back
  const Schedule s = pipeline(built("ring", Collective::kAllreduce, 2), 3);
  ASSERT_EQ(s.stages.size(), 4u);
  const std::vector<Transfer>& middle = s.stages[1].transfers;
  ASSERT_EQ(middle.size(), 4u);  // the second segment reduced, the first one copied
  EXPECT_EQ(middle[0].from, middle[1].from);
  EXPECT_EQ(middle[2].from, middle[3].from);
  EXPECT_LT(middle[0].chunk, middle[1].chunk);
  EXPECT_LT(middle[2].chunk, middle[3].chunk);
}

TEST(Compose, MessagesAreNotOrderedAgainstAFold) {
  Stage stage;  // member 0 folds 1 before 2 in chunk 0, and 2 before 1 in chunk 1
  stage.transfers = {{1, 0, 0, 0, 0, Action::kCombine, Side::kRight},
                     {2, 0, 0, 0, 0, Action::kCombine, Side::kRight},
                     {2, 0, 1, 0, 0, Action::kCombine, Side::kRight},
                     {1, 0, 1, 0, 0, Action::kCombine, Side::kRight}};
  const Stage before = stage;
  order_messages(stage);
  EXPECT_EQ(stage, before);
  stage.transfers[2].to = stage.transfers[3].to = 3;
  // 1 -> 3, 2 -> 0, 2 -> 3, 1 -> 0: the senders are in another order
  std::swap(stage.transfers[0], stage.transfers[3]);
  stage.transfers.push_back({1, 3, 0, 0, 0, Action::kCombine, Side::kRight});
  order_messages(stage);
  EXPECT_EQ(stage.transfers[0].chunk, 0);
  EXPECT_EQ(stage.transfers[1].chunk, 1);
  EXPECT_EQ(stage.transfers[1].to, 3);
}

TEST(Compose, PartsOfCollectivesMakeWholes) {
  for (const int p : {2, 3, 6, 8}) {
    const auto part = [p](const char* name, Collective collective) { return built(name, collective, p); };
    const struct {
      Schedule a, b;
      Collective whole;
    } sums[] = {{part("recursive_halving", Collective::kReduceScatter), part("bruck", Collective::kAllgather),
                 Collective::kAllreduce},
                {part("recursive_halving", Collective::kReduceScatter), part("binomial", Collective::kGather),
                 Collective::kReduce},
                {part("binomial", Collective::kScatter), part("complete", Collective::kAllgather),
                 Collective::kBroadcast}};
    for (const auto& sum : sums) {
      Schedule s = then(sum.a, sum.b);
      EXPECT_EQ(s.collective, sum.whole);
      EXPECT_TRUE(verify(s, kFloatSum).ok())
          << s.algorithm << " P=" << p << ": " << verify(s, kFloatSum).error().message;
    }
    EXPECT_EQ(transpose(part("binomial", Collective::kGather)).collective, Collective::kScatter);
    EXPECT_TRUE(verify(transpose(part("binomial", Collective::kGather)), {}).ok());
    EXPECT_TRUE(verify(transpose(part("ring", Collective::kReduceScatter)), {}).ok());
  }
}

}  // namespace
}  // namespace fermata
