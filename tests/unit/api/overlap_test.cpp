// Up to 56 bytes, a call reads all input before it writes output. So input and output of calls on lines may
// overlap in any way.
#include <gtest/gtest.h>

#include "../../with_members.hpp"

namespace fermata::test::overlap {
namespace {

constexpr int kMembers = 3;
constexpr std::size_t kMost = 7;

void overlap(fermata_member* m, int rank) {
  for (std::size_t count = 1; count <= kMost; ++count)
    for (std::size_t shift = 0; shift <= count; ++shift)
      for (const bool up : {false, true})
        for (const bool reduces : {false, true}) {
          double x[2 * kMost];
          double* const in = x + (up ? 0 : shift);
          double* const out = x + (up ? shift : 0);
          for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<double>(i) + 10 * rank;
          const int status = reduces ? fermata_reduce(m, in, out, count, FERMATA_DOUBLE, FERMATA_SUM,
                                                      static_cast<int>(shift) % kMembers)
                                     : fermata_allreduce(m, in, out, count, FERMATA_DOUBLE, FERMATA_SUM);
          ASSERT_EQ(status, FERMATA_OK) << fermata_error_detail();
          if (reduces && rank != static_cast<int>(shift) % kMembers) continue;
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(out[i], 3 * static_cast<double>(i) + 30)
                << count << " elements, " << shift << " apart, upwards " << up;
        }
}

TEST(Overlap, OfCallsOnLinesIsHarmless) { with_members(kMembers, overlap); }

// Adjacent blocks do not overlap, in any order, and an empty block has no place.
void any_order(fermata_member* m, int rank) {
  const std::size_t counts[kMembers] = {2, 0, 3}, displacements[kMembers] = {3, 1, 0};
  const double in[3] = {10.0 * rank, 10.0 * rank + 1, 10.0 * rank + 2};
  double out[5] = {};
  ASSERT_EQ(fermata_allgatherv(m, in, out, counts, displacements, FERMATA_DOUBLE), FERMATA_OK)
      << fermata_error_detail();
  const double expected[5] = {20, 21, 22, 0, 1};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

TEST(Overlap, BlocksOfAnOutputMayLieInAnyOrder) { with_members(kMembers, any_order); }

// The input may lie in a gap between blocks of the output.
void input_before_blocks(fermata_member* m, int rank) {
  const std::size_t counts[kMembers] = {2, 0, 3}, displacements[kMembers] = {3, 0, 5};
  double memory[8] = {10.0 * rank, 10.0 * rank + 1, 10.0 * rank + 2};
  ASSERT_EQ(fermata_allgatherv(m, memory, memory, counts, displacements, FERMATA_DOUBLE), FERMATA_OK)
      << fermata_error_detail();
  const double expected[5] = {0, 1, 20, 21, 22};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(memory[3 + i], expected[i]) << i;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(memory[i], 10.0 * rank + i) << i;
}

TEST(Overlap, AnInputMayLieBeforeTheBlocksOfAnOutput) { with_members(kMembers, input_before_blocks); }

}  // namespace
}  // namespace fermata::test::overlap
