// Split phase with data: fermata_arrive_with begins a call and fermata_depart ends it, with the result of the
// blocking function.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "../../operation.hpp"
#include "../../with_members.hpp"

namespace {

constexpr int kMembers = 3;
constexpr int kRounds = 200;

using fermata::test::operation;

void end(fermata_member* m, bool asks) {
  while (asks && fermata_test(m) == FERMATA_PENDING) std::this_thread::yield();
  ASSERT_EQ(fermata_depart(m), FERMATA_OK) << fermata_error_detail();
}

void work(fermata_member* m, int rank) {
  for (int i = 0; i < kRounds; ++i) {
    const bool asks = (i + rank) % 2 == 0;
    const int root = i % kMembers;
    double sums[7];
    double mine[7];
    for (int k = 0; k < 7; ++k) mine[k] = rank + k + i;
    const size_t count = i % 3 == 0 ? 1 : 7;
    const fermata_operation all = operation(FERMATA_ALLREDUCE, mine, sums, count, FERMATA_DOUBLE, 0);
    if (rank == 1 && i % 5 == 0) {  // other members may call the blocking function
      ASSERT_EQ(fermata_allreduce(m, mine, sums, count, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
    } else {
      ASSERT_EQ(fermata_arrive_with(m, &all), FERMATA_OK) << fermata_error_detail();
      EXPECT_EQ(fermata_barrier(m), FERMATA_ERR_BUSY);
      end(m, asks);
    }
    for (size_t k = 0; k < count; ++k)
      EXPECT_EQ(sums[k], 3.0 + kMembers * static_cast<double>(static_cast<int>(k) + i));
    std::int32_t words[3] = {rank == root ? i : -1, rank == root ? i + 1 : -1, -7};
    const fermata_operation cast =
        operation(FERMATA_BROADCAST, nullptr, words, i % 2 == 0 ? 2 : 1, FERMATA_INT32, root);
    ASSERT_EQ(fermata_arrive_with(m, &cast), FERMATA_OK) << fermata_error_detail();
    end(m, asks);
    EXPECT_EQ(words[0], i);
    EXPECT_EQ(words[1], i % 2 == 0 || rank == root ? i + 1 : -1);
    std::int64_t at_root = -1;
    const std::int64_t one = rank + 1;
    const fermata_operation to_root =
        operation(FERMATA_REDUCE, &one, rank == root ? &at_root : nullptr, 1, FERMATA_INT64, root);
    ASSERT_EQ(fermata_arrive_with(m, &to_root), FERMATA_OK) << fermata_error_detail();
    end(m, asks);
    EXPECT_EQ(at_root, rank == root ? 6 : -1);
  }
}

// An operator that associates gives the bits of a serial loop in every order. A sum of doubles does not, so
// only an order that the plan may choose is taken.
void fold_left_to_right(fermata_member* m, int rank) {
  double in = rank + 0.5, out = 0;
  fermata_operation o = operation(FERMATA_ALLREDUCE, &in, &out, 1, FERMATA_DOUBLE, 0);
  for (const int collective : {FERMATA_ALLREDUCE, FERMATA_REDUCE}) {
    o.collective = collective;
    o.ordered = FERMATA_LEFT_TO_RIGHT;
    o.op = FERMATA_SUM;
    EXPECT_EQ(fermata_arrive_with(m, &o), FERMATA_ERR_UNSUPPORTED);
    EXPECT_STREQ(fermata_error_detail(),
                 "this call does not fold sum of double left to right: use fermata_begin");
    o.op = FERMATA_MAX;
    ASSERT_EQ(fermata_arrive_with(m, &o), FERMATA_OK) << fermata_error_detail();
    end(m, false);
    if (collective == FERMATA_ALLREDUCE || rank == 0) {
      EXPECT_EQ(out, kMembers - 0.5);
    }
    o.op = FERMATA_SUM;
    o.ordered = FERMATA_RANK_ORDER;
    ASSERT_EQ(fermata_arrive_with(m, &o), FERMATA_OK) << fermata_error_detail();
    end(m, false);
  }
}

TEST(ArriveWith, RefusesAnOrderThatThePlanMayNotGive) {
  fermata::test::with_members(kMembers, fold_left_to_right);
}

TEST(ArriveWith, GivesWhatTheBlockingCallGives) { fermata::test::with_members(kMembers, work); }

}  // namespace
