// A member with nothing to give or to get needs no buffer, whatever others give: an empty std::vector has
// none.
#include <gtest/gtest.h>

#include <vector>

#include "../../operation.hpp"
#include "../../with_members.hpp"
#include "fermata/fermata.h"

namespace fermata::test::empty_blocks {
namespace {

constexpr int kMembers = 3;
constexpr std::size_t kNone[kMembers] = {};

void begin_and_wait(fermata_member* m, const fermata_operation& operation) {
  fermata_request* request = nullptr;
  ASSERT_EQ(fermata_begin(m, &operation, &request), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(fermata_request_wait(request), FERMATA_OK);
  fermata_request_free(request);
}

// Member 1 gives `length` numbers: on a line, or through a ring buffer.
void calls(fermata_member* m, int rank, std::size_t length, bool begun) {
  const std::vector<std::int32_t> full(length, 7);
  const bool gives = rank == 1;
  std::size_t of_one[kMembers] = {0, length, 0}, to_two[kMembers] = {0, 0, length};
  const std::size_t mine = gives ? length : 0;
  std::vector<std::int32_t> got(length);
  const auto in = [&](bool any) { return any ? full.data() : nullptr; };
  const auto out = [&](bool any) {
    got.assign(length, -1);
    return any ? got.data() : nullptr;
  };
  const auto call = [&](int collective, const void* from, void* to, const std::size_t* in_counts,
                        const std::size_t* out_counts) {
    const bool scatters = collective == FERMATA_SCATTER;
    const std::size_t count = !scatters ? mine : to != nullptr ? length : 0;
    fermata_operation o = operation(collective, from, to, count, FERMATA_INT32, scatters ? 1 : 0);
    o.irregular = 1;
    o.in_counts = in_counts;
    o.out_counts = out_counts;
    if (begun) return begin_and_wait(m, o);
    EXPECT_EQ(fermata_execute(m, &o), FERMATA_OK) << fermata_error_detail();
  };
  const auto expect_got = [&](bool any) { EXPECT_TRUE(!any || got == full); };
  call(FERMATA_ALLGATHER, in(gives), out(true), nullptr, of_one);
  expect_got(true);
  call(FERMATA_GATHER, in(gives), out(rank == 0), nullptr, of_one);
  expect_got(rank == 0);
  call(FERMATA_SCATTER, in(gives), out(rank == 2), to_two, nullptr);
  expect_got(rank == 2);
  call(FERMATA_ALLTOALL, in(gives), out(rank == 2), gives ? to_two : kNone, rank == 2 ? of_one : kNone);
  expect_got(rank == 2);
}

TEST(EmptyBlocks, NeedNoBuffers) {
  for (const bool begun : {false, true})
    for (const std::size_t length : {std::size_t{2}, std::size_t{3000}})
      with_members(kMembers, [&](fermata_member* m, int rank) { calls(m, rank, length, begun); });
}

// The place of an empty block does not matter, in place either.
TEST(EmptyBlocks, MayLieAnywhere) {
  with_members(2, [&](fermata_member* m, int rank) {
    const std::size_t none[2] = {0, 0}, of_each[2] = {2, 0}, far[2] = {0, std::size_t{1} << 40};
    EXPECT_EQ(fermata_alltoallv(m, nullptr, none, far, nullptr, none, far, FERMATA_INT32), FERMATA_OK)
        << fermata_error_detail();
    std::int32_t numbers[2] = {rank, 5};
    const std::size_t* const counts = rank == 0 ? of_each : none;
    EXPECT_EQ(fermata_alltoallv(m, FERMATA_IN_PLACE, counts, far, numbers, counts, far, FERMATA_INT32),
              FERMATA_OK)
        << fermata_error_detail();
    EXPECT_EQ(numbers[1], 5);
  });
}

// A block that isn't empty needs a buffer.
TEST(EmptyBlocks, OthersAreRefusedWithoutABuffer) {
  with_members(1, [&](fermata_member* m, int) {
    std::int32_t number = 3;
    const std::size_t one[1] = {1}, none[1] = {0};
    EXPECT_EQ(fermata_alltoallv(m, nullptr, one, nullptr, &number, one, nullptr, FERMATA_INT32),
              FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_alltoallv(m, nullptr, none, nullptr, &number, one, nullptr, FERMATA_INT32),
              FERMATA_ERR_ARGUMENT)
        << "own blocks differ";
    EXPECT_EQ(fermata_alltoallv(m, &number, one, nullptr, nullptr, one, nullptr, FERMATA_INT32),
              FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_alltoallv(m, nullptr, none, nullptr, nullptr, none, nullptr, FERMATA_INT32),
              FERMATA_OK);
  });
}

}  // namespace
}  // namespace fermata::test::empty_blocks
