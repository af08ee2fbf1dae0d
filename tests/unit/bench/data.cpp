// The worker loop accepts, for each collective and size, the results that MPI defines, and no others.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

#include "bench/session.hpp"

namespace fermata::bench {
namespace {

enum class Fault { kNone, kOneElement, kStale };

// Each member reads all others' contributions directly.
class Naive final : public Subject {
 public:
  explicit Naive(Fault fault) : fault_(fault) {}
  std::string prepare(const Case& c, Arena& arena) override {
    case_ = c;
    word_ = arena.make<std::atomic<std::uint64_t>>(0);
    goals_.resize(static_cast<std::size_t>(c.members));
    return {};
  }
  void work(int rank, Turn& turn) override {
    std::uint64_t goal = goals_[static_cast<std::size_t>(rank)];
    int calls = 0;
    const auto meet = [&] {
      goal += static_cast<std::uint64_t>(case_.members);
      word_->fetch_add(1, std::memory_order_acq_rel);
      while (word_->load(std::memory_order_acquire) < goal) sched_yield();
    };
    turn.run(rank, [&](const double*, double* out) {
      meet();
      if (fault_ != Fault::kStale || ++calls == 1) compute(rank, turn, out);
      // The fault is not in the sampled elements of a large payload, unless all are sampled.
      const int blocks = case_.doubles() * blocks_out(case_.collective, case_.members);
      if (fault_ == Fault::kOneElement && blocks != 0) out[blocks - 1] += 1;
      meet();
    });
    goals_[static_cast<std::size_t>(rank)] = goal;
  }

 private:
  void compute(int rank, Turn& turn, double* out) const {
    const Collective collective = case_.collective;
    const int n = case_.members, count = case_.doubles();
    const int from = blocks_in(collective, n) > 1 ? rank * count : 0;
    const int first = 0, last = collective == Collective::kScan     ? rank + 1
                                : collective == Collective::kExscan ? rank
                                                                    : n;
    for (int i = 0; i < count; ++i) {
      if (folds(collective)) {
        out[i] = 0;
        for (int r = first; r < last; ++r) out[i] += turn.in_of(r)[from + i];
      } else {
        for (int r = 0; r < blocks_out(collective, n); ++r) out[r * count + i] = turn.in_of(r)[from + i];
      }
    }
  }
  const Fault fault_;
  Case case_;
  std::atomic<std::uint64_t>* word_ = nullptr;
  std::vector<std::uint64_t> goals_;
};

Outcome run_naive(Collective collective, int bytes, Fault fault, bool rotating = false) {
  Options options;
  options.collective = collective;
  options.rotating = rotating;
  options.members = {3};
  options.bytes = {bytes};
  options.rivals = {};
  options.own = options.floors = false;
  options.seconds = 0.02;
  Contestant c;
  c.name = "naive";
  c.launch.make = [fault] { return std::make_unique<Naive>(fault); };
  options.extra.push_back(c);
  return run(options);
}

class EveryCollectiveOfData : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Data, EveryCollectiveOfData, testing::Range(1, kCollectiveCount),
                         [](const auto& each) {
                           return std::string(name_of(static_cast<Collective>(each.param)));
                         });

TEST_P(EveryCollectiveOfData, RightResultsPassAndWrongOnesDoNot) {
  const Collective collective = static_cast<Collective>(GetParam());
  for (const int bytes : {8, 56, 4104}) {
    SCOPED_TRACE(bytes);
    const Outcome right = run_naive(collective, bytes, Fault::kNone);
    EXPECT_EQ(right.rows.size(), 1u) << (right.left_out.empty() ? "" : right.left_out[0].reason);
    for (const Fault fault : {Fault::kOneElement, Fault::kStale}) {
      const Outcome wrong = run_naive(collective, bytes, fault);
      ASSERT_EQ(wrong.left_out.size(), 1u) << static_cast<int>(fault);
      EXPECT_NE(wrong.left_out[0].reason.find("wrong"), std::string::npos) << wrong.left_out[0].reason;
    }
  }
}

TEST(Roots, RotateWhereTheyAreAskedTo) {
  // This subject treats every broadcast and scatter as one from rank 0.
  for (const Collective collective : {Collective::kBroadcast, Collective::kScatter}) {
    const Outcome outcome = run_naive(collective, 8, Fault::kNone, true);
    ASSERT_EQ(outcome.left_out.size(), 1u);
    EXPECT_NE(outcome.left_out[0].reason.find("wrong"), std::string::npos) << outcome.left_out[0].reason;
  }
  for (const Collective collective :
       {Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter}) {
    Options options;
    options.collective = collective;
    options.members = {3};
    options.bytes = {8, 4104};
    options.rotating = true;
    options.rivals = options.algorithms = {};
    options.floors = false;
    options.seconds = 0.02;
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.rows.size(), 2u) << name_of(collective);
    EXPECT_TRUE(outcome.left_out.empty())
        << outcome.left_out[0].subject << ": " << outcome.left_out[0].reason;
  }
  Options options;
  options.rotating = true;
  EXPECT_NE(check(options).find("--roots"), std::string::npos) << "a barrier has no root";
}

TEST_P(EveryCollectiveOfData, ItsFloorOfLargePayloadsIsRight) {
  Options options;
  options.collective = static_cast<Collective>(GetParam());
  options.members = {2};
  options.bytes = {1 << 10, (1 << 16) + 8};
  options.engines = {Engine::kThreads, Engine::kProcesses};
  options.rivals = {};
  options.own = false;
  options.seconds = 0.02;
  const Outcome outcome = run(options);
  EXPECT_TRUE(outcome.left_out.empty()) << outcome.left_out[0].subject << ": " << outcome.left_out[0].reason;
  int floors = 0;
  for (const Row& row : outcome.rows) floors += row.role == Role::kFloor ? 1 : 0;
  const bool twice =
      options.collective == Collective::kBroadcast || options.collective == Collective::kAllreduce;
  EXPECT_EQ(floors, twice ? 8 : 4) << "one or two floors for each size and engine";
}

}  // namespace
}  // namespace fermata::bench
