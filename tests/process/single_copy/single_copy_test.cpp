// Long blocks between processes: read directly from the sender's memory, or through the segment, and with
// members that differ about that.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <vector>

#include "../../soon.hpp"
#include "../failures/forked_members.hpp"

namespace fermata::test {
namespace {

using Words = std::vector<std::uint64_t>;

std::uint64_t value(std::uint64_t rank, std::uint64_t k, std::uint64_t round) {
  return (rank + 1) * 1'000'003 + k * 17 + round * 31;
}

// Returns a code that gives the line of the failed condition.
#define NEED(condition) \
  if (!(condition)) return __LINE__ % 100 + 100

int allreduce(fermata_member* m, std::uint64_t rank, std::uint64_t n, std::size_t count, std::uint64_t round,
              bool in_place) {
  Words in(count), out(count);
  for (std::size_t k = 0; k < count; ++k) in[k] = value(rank, k, round);
  if (in_place) out = in;
  NEED(fermata_allreduce(m, in_place ? FERMATA_IN_PLACE : in.data(), out.data(), count, FERMATA_UINT64,
                         FERMATA_SUM) == FERMATA_OK);
  for (std::size_t k = 0; k < count; ++k) {
    std::uint64_t sum = 0;
    for (std::uint64_t r = 0; r < n; ++r) sum += value(r, k, round);
    NEED(out[k] == sum);
  }
  return 0;
}

int alltoall(fermata_member* m, std::uint64_t rank, std::uint64_t n, std::size_t count, std::uint64_t round) {
  Words in(n * count), out(n * count);
  for (std::size_t k = 0; k < n * count; ++k) in[k] = value(rank, k, round);
  NEED(fermata_alltoall(m, in.data(), out.data(), count, FERMATA_UINT64) == FERMATA_OK);
  for (std::uint64_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < count; ++k) NEED(out[r * count + k] == value(r, rank * count + k, round));
  return 0;
}

int broadcast(fermata_member* m, std::uint64_t rank, std::uint64_t n, std::size_t count,
              std::uint64_t round) {
  Words data(count);
  const std::uint64_t root = round % n;
  for (std::size_t k = 0; k < count && rank == root; ++k) data[k] = value(root, k, round);
  NEED(fermata_broadcast(m, data.data(), count * sizeof data[0], static_cast<int>(root)) == FERMATA_OK);
  for (std::size_t k = 0; k < count; ++k) NEED(data[k] == value(root, k, round));
  return 0;
}

int all(fermata_member* m, std::uint64_t rank, std::uint64_t n) {
  std::uint64_t round = 0;
  for (const std::size_t count : {3001ul, 4096ul, 20011ul, 300'007ul, 5ul, 20011ul, 600'007ul}) {
    for (int repeat = 0; repeat < 2; ++repeat, ++round) {
      for (const bool in_place : {false, true}) {
        const int bad = allreduce(m, rank, n, count, round, in_place);
        if (bad != 0) return bad;
      }
      const int bad = alltoall(m, rank, n, count, round);
      if (bad != 0) return bad;
      const int worse = broadcast(m, rank, n, count, round);
      if (worse != 0) return worse;
    }
  }
  return 0;
}

enum class Who { kAll, kNobody, kOdd };

class SingleCopy : public testing::TestWithParam<Who> {};

TEST_P(SingleCopy, ResultsAreTheSame) {
  for (const int members : {2, 3, 4}) {
    fermata_team* team = make_team(members, FERMATA_PROCESSES);
    ASSERT_NE(team, nullptr) << fermata_error_detail();
    ForkedMembers forked(members, [&](int rank) {
      const bool may = GetParam() == Who::kAll || (GetParam() == Who::kOdd && rank % 2 == 1);
      setenv("FERMATA_CMA", may ? "1" : "0", 1);
      fermata_member* m = nullptr;
      if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 99;
      const int bad = all(m, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(members));
      if (bad == 0) fermata_barrier(m);
      fermata_member_leave(m);
      return bad;
    });
    for (int r = 0; r < members; ++r) EXPECT_EQ(forked.wait_for(r), 0) << "rank " << r << " of " << members;
    fermata_team_destroy(team);
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, SingleCopy, testing::Values(Who::kAll, Who::kNobody, Who::kOdd));

// A test moves a part of a long block only, so that a member's other requests and its own work go on.
TEST(SingleCopy, ATestMovesAPart) {
  fermata_team* team = make_team(2, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  const SharedCount begun;
  ForkedMembers forked(2, [&](int rank) {
    setenv("FERMATA_CMA", "1", 1);
    fermata_member* m = nullptr;
    if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 99;
    Words data(1 << 20, rank == 0 ? 7 : 0);
    fermata_operation o = FERMATA_OPERATION_INIT;
    o.collective = FERMATA_BROADCAST;
    o.out = data.data();
    o.count = data.size();
    o.type = FERMATA_UINT64;
    NEED(rank == 0 || is_soon([&] { return (*begun).load() == 1; }));
    fermata_request* request = nullptr;
    NEED(fermata_begin(m, &o, &request) == FERMATA_OK);
    if (rank == 0) *begun = 1;
    int parts = 0, status;
    while ((status = fermata_request_test(request)) == FERMATA_PENDING) ++parts;
    NEED(status == FERMATA_OK && data.front() == 7 && data.back() == 7);
    NEED(rank == 0 || parts > 16);
    fermata_request_free(request);
    fermata_member_leave(m);
    return 0;
  });
  for (int r = 0; r < 2; ++r) EXPECT_EQ(forked.wait_for(r), 0) << "rank " << r;
  fermata_team_destroy(team);
}

// The other member dies while this one reads its memory, or is read by it. The survivor gets an error.
TEST(SingleCopy, ADeadLenderIsReported) {
  fermata_team* team = make_team(2, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  ForkedMembers forked(2, [&](int rank) {
    setenv("FERMATA_CMA", "1", 1);
    fermata_member* m = nullptr;
    if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 99;
    Words in(1'000'000, 1), out(1'000'000);
    for (;;) {
      const int status = fermata_allreduce(m, in.data(), out.data(), in.size(), FERMATA_UINT64, FERMATA_SUM);
      if (status != FERMATA_OK) return code_of(status);
    }
  });
  // in its first call or later: before that, no member could know that it is lost
  EXPECT_TRUE(comes_to_say(team, 1, " call "));
  usleep(50'000);
  kill(forked.pid(1), SIGKILL);
  EXPECT_EQ(forked.wait_for(0), code_of(FERMATA_ERR_MEMBER_LOST));
  EXPECT_EQ(forked.wait_for(1), 1000 + SIGKILL);
  fermata_team_destroy(team);
}

}  // namespace
}  // namespace fermata::test
