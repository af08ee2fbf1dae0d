// From times to the parameters of coherent memory, with times that are made up.
#include "profile/memory.hpp"

#include <gtest/gtest.h>

namespace fermata {
namespace {

AccessTimes plain() {
  AccessTimes t{.read = 62, .read_own = 2, .add = 48, .add_own = 8, .await = 8, .await_own = 1};
  t.after_one = t.after_three = std::vector<double>(8, 62);
  return t;
}

MemoryParameters of(const AccessTimes& times) {
  MemoryParameters memory;
  deduce_accesses(times, memory);
  return memory;
}

TEST(DeduceAccesses, MissAndInvalidation) {
  const MemoryParameters m = of(plain());
  EXPECT_DOUBLE_EQ(m.miss_share.value_or(0), 0.6);
  EXPECT_EQ(m.overlap, 2);
  EXPECT_EQ(m.prefetch, 0);
  EXPECT_FALSE(m.work_ns || m.sibling_share || m.line_share);
}

// 16 lines: the first one is a whole miss in any case.
TEST(DeduceAccesses, LoadsOverlapIfFurtherLinesCostLessThanHalfAMiss) {
  AccessTimes t = plain();
  t.await = 1 + (60 + 15 * 29) / 16.0;
  EXPECT_EQ(of(t).overlap, 2);
  t.await = 1 + (60 + 15 * 31) / 16.0;
  EXPECT_EQ(of(t).overlap, 1);
}

TEST(DeduceAccesses, LinesThatCameAlongInARow) {
  AccessTimes t = plain();
  t.after_one = {3, 62, 3, 3, 3, 3, 3, 3};  // the pair of a line; the others came for another reason
  EXPECT_EQ(of(t).prefetch, 1);
  t.after_three = {3, 12, 31, 33, 3, 3, 3, 3};
  EXPECT_EQ(of(t).prefetch, 3);
  t.after_one = std::vector<double>(8, 3);
  EXPECT_EQ(of(t).prefetch, 8);
}

TEST(DeduceAccesses, TimesThatTellNothingLeaveParametersEmpty) {
  AccessTimes t = plain();
  t.add = t.add_own - 1;
  EXPECT_FALSE(of(t).miss_share);
  EXPECT_TRUE(of(t).overlap);
  t.read = t.read_own;
  EXPECT_EQ(of(t), MemoryParameters{});
}

TEST(DeduceWork, HalfAStoreAndASignalAndWhatSiblingsAdd) {
  MemoryParameters m;
  deduce_work({4}, m);
  EXPECT_DOUBLE_EQ(m.work_ns.value_or(0), 2);
  EXPECT_FALSE(m.sibling_share);
  deduce_work({4, 5, 6, 7}, m);
  EXPECT_DOUBLE_EQ(m.sibling_share.value_or(0), 0.25);
  deduce_work({4, 3}, m);
  EXPECT_EQ(m.sibling_share, 0);
  MemoryParameters nothing;
  deduce_work({0, 5}, nothing);
  deduce_work({}, nothing);
  EXPECT_EQ(nothing, MemoryParameters{});
}

TEST(DeduceReaders, TwiceTheSlopeOverReadersAsAShareOfAMiss) {
  MemoryParameters m;
  deduce_readers({200, 206, 212, 218}, 60, m);
  EXPECT_DOUBLE_EQ(m.line_share.value_or(0), 0.2);
  deduce_readers({200, 290, 380}, 60, m);  // readers are farther than the pair that gave the miss
  EXPECT_EQ(m.line_share, 1);
  MemoryParameters nothing;
  deduce_readers({200}, 60, nothing);
  deduce_readers({200, 190}, 60, nothing);
  deduce_readers({200, 212}, 0, nothing);
  EXPECT_EQ(nothing, MemoryParameters{});
}

}  // namespace
}  // namespace fermata
