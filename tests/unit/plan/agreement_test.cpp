#include "plan/agreement.hpp"

#include <gtest/gtest.h>

namespace fermata {
namespace {

TEST(Agreement, PerfectOrderIsOne) {
  const Agreement a = agreement({10, 20, 40, 80}, {11, 25, 50, 90}, 0.05);
  EXPECT_DOUBLE_EQ(a.rank_correlation, 1);
  EXPECT_DOUBLE_EQ(a.pairs_in_order, 1);
  EXPECT_NEAR(a.worst_error, 0.2, 1e-12);
}

TEST(Agreement, ReversedOrderIsMinusOne) {
  const Agreement a = agreement({80, 40, 20, 10}, {11, 25, 50, 90}, 0.05);
  EXPECT_DOUBLE_EQ(a.rank_correlation, -1);
  EXPECT_DOUBLE_EQ(a.pairs_in_order, 0);
}

TEST(Agreement, TiesWithinTheNoiseAreNotHeldAgainstThePrediction) {
  const Agreement a = agreement({10, 10, 20}, {100, 103, 200}, 0.05);
  EXPECT_DOUBLE_EQ(a.rank_correlation, 1);
  EXPECT_DOUBLE_EQ(a.pairs_in_order, 1);
  EXPECT_LT(agreement({10, 10, 20}, {100, 200, 150}, 0.05).rank_correlation, 1);
}

}  // namespace
}  // namespace fermata
