// Operations on blocks that fail: calls differ, members die, arguments are refused, waits time out.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../../operation.hpp"
#include "../../with_members.hpp"
#include "kill.hpp"

namespace fermata::test {
namespace {

constexpr std::size_t kMost = 1 << 17;  // doubles: 1 MiB

struct Called {
  int collective;
  std::size_t count;
  int op;
  int root;
  const char* name;  // its name in error messages
  int ordered = FERMATA_ANY_ORDER;
};

int call_ordered(fermata_member* m, const Called& c, const double* in, double* out) {
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = c.collective;
  o.in = in;
  o.out = out;
  o.count = c.count;
  o.type = FERMATA_DOUBLE;
  o.op = c.op;
  o.root = c.root;
  o.ordered = c.ordered;
  return fermata_execute(m, &o);
}

int call(fermata_member* m, const Called& c, const double* in, double* out) {
  if (c.ordered != FERMATA_ANY_ORDER) return call_ordered(m, c, in, out);
  switch (c.collective) {
    case FERMATA_BROADCAST: return fermata_broadcast(m, out, c.count * sizeof(double), c.root);
    case FERMATA_REDUCE: return fermata_reduce(m, in, out, c.count, FERMATA_DOUBLE, c.op, c.root);
    case FERMATA_ALLREDUCE: return fermata_allreduce(m, in, out, c.count, FERMATA_DOUBLE, c.op);
    case FERMATA_ALLGATHER: return fermata_allgather(m, in, out, c.count, FERMATA_DOUBLE);
    default: return fermata_alltoall(m, in, out, c.count, FERMATA_DOUBLE);
  }
}

// The last rank calls `one`, all others call `most`. A member that had nothing to wait for learns of the
// mismatch in its next call that waits.
void expect_mismatch(int members, const Called& most, const Called& one) {
  SCOPED_TRACE(std::string(most.name) + " against " + one.name + ", P " + std::to_string(members));
  with_members(members, [&](fermata_member* m, int rank) {
    std::vector<double> in(4 * 20000), out(4 * 20000);
    int status = call(m, rank == members - 1 ? one : most, in.data(), out.data());
    if (status == FERMATA_OK) status = fermata_barrier(m);
    EXPECT_EQ(status, FERMATA_ERR_MISMATCH) << "rank " << rank << ": " << fermata_error_detail();
    const std::string detail = fermata_error_detail();
    EXPECT_TRUE(detail.find(most.name) != std::string::npos && detail.find(one.name) != std::string::npos)
        << "rank " << rank << ": " << detail;
    EXPECT_LT(fermata_barrier(m), 0) << "the team is broken";
  });
}

TEST(BlockMismatch, EveryMemberNamesBothCalls) {
  for (const int members : {2, 3}) {
    for (const std::size_t count : {std::size_t{8}, std::size_t{100}, std::size_t{20000}}) {
      expect_mismatch(members, {FERMATA_ALLGATHER, count, 0, 0, "allgather"},
                      {FERMATA_ALLTOALL, count, 0, 0, "alltoall"});
      expect_mismatch(members, {FERMATA_ALLREDUCE, count, FERMATA_SUM, 0, "sum"},
                      {FERMATA_ALLREDUCE, count, FERMATA_MAX, 0, "max"});
      expect_mismatch(members, {FERMATA_ALLREDUCE, count, FERMATA_SUM, 0, "allreduce"},
                      {FERMATA_ALLGATHER, count, 0, 0, "allgather"});
      expect_mismatch(members, {FERMATA_ALLREDUCE, count, FERMATA_SUM, 0, "sum,"},
                      {FERMATA_ALLREDUCE, count, FERMATA_SUM, 0, "sum left to right", FERMATA_LEFT_TO_RIGHT});
    }
  }
}

TEST(BlockMismatch, OnALineAgainstOnBlocks) {
  for (const int members : {2, 3})
    expect_mismatch(members, {FERMATA_ALLREDUCE, 7, FERMATA_SUM, 0, "56 bytes"},
                    {FERMATA_ALLREDUCE, 8, FERMATA_SUM, 0, "64 bytes"});
}

// Runs operations of 1 MiB until one fails.
int run_for_ever(fermata_team* team, int rank, unsigned seed, std::atomic<int>& joined) {
  fermata_member* member = nullptr;
  int status = fermata_team_join(team, rank, &member);
  if (status != FERMATA_OK) return code_of(status);
  fermata_member_set_timeout(member, 20);
  const int members = fermata_member_count(member);
  std::vector<double> in(kMost), out(kMost);
  ++joined;
  for (unsigned i = seed; status == FERMATA_OK; ++i) {
    const std::size_t share = kMost / static_cast<unsigned>(members);
    const int root = static_cast<int>(i % static_cast<unsigned>(members));
    switch (i % 5) {
      case 0:
        status = fermata_allreduce(member, in.data(), out.data(), kMost, FERMATA_DOUBLE, FERMATA_SUM);
        break;
      case 1: status = fermata_broadcast(member, out.data(), kMost * sizeof(double), root); break;
      case 2: status = fermata_alltoall(member, in.data(), out.data(), share, FERMATA_DOUBLE); break;
      case 3:
        status = fermata_reduce(member, in.data(), out.data(), kMost, FERMATA_DOUBLE, FERMATA_MAX, root);
        break;
      default: status = fermata_allgather(member, in.data(), out.data(), share, FERMATA_DOUBLE); break;
    }
  }
  const bool names = std::strstr(fermata_error_detail(), "rank 0") != nullptr;
  fermata_member_leave(member);
  return names ? code_of(status) : 99;
}

TEST(BlockDeath, SurvivorsReportAKilledProcess) {
  expect_survivors_report(0, FERMATA_TEST_SCALE > 1 ? 5 : 50, 1237, 20000, run_for_ever);
}

fermata_operation allreduce_of(std::vector<double>& data) { return in_place_sum(data.data(), data.size()); }

TEST(BlockArguments, BadOnesAreRefusedAndChangeNothing) {
  with_members(2, [](fermata_member* m, int rank) {
    std::vector<double> x(64, 1.0), y(64, 2.0);
    const size_t counts[2] = {1, 1};
    EXPECT_EQ(fermata_gather(nullptr, x.data(), y.data(), 1, FERMATA_DOUBLE, 0), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_gather(m, nullptr, y.data(), 1, FERMATA_DOUBLE, 0), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_gather(m, x.data(), y.data(), 1, FERMATA_DOUBLE, 2), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_scatter(m, x.data(), y.data(), 1, FERMATA_DOUBLE, -1), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_scatter(m, x.data(), nullptr, 1, FERMATA_DOUBLE, 0), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allgather(m, x.data(), nullptr, 1, FERMATA_DOUBLE), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allgather(m, x.data(), y.data(), 1, 99), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_alltoall(m, x.data(), y.data(), SIZE_MAX / 4, FERMATA_DOUBLE), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_scan(m, x.data(), y.data(), 1, FERMATA_DOUBLE, FERMATA_XOR), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_exscan(m, x.data(), y.data(), 1, FERMATA_DOUBLE, 99), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_allgatherv(m, x.data(), y.data(), nullptr, nullptr, FERMATA_DOUBLE),
              FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_alltoallv(m, x.data(), counts, nullptr, y.data(), nullptr, nullptr, FERMATA_DOUBLE),
              FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_execute(m, nullptr), FERMATA_ERR_ARGUMENT);
    fermata_request* request = nullptr;
    const fermata_operation good = allreduce_of(x);
    const auto refused = [&](auto&& spoil, int status) {
      fermata_operation o = good;
      spoil(o);
      EXPECT_EQ(fermata_execute(m, &o), status);
      EXPECT_EQ(fermata_begin(m, &o, &request), status);
      EXPECT_EQ(fermata_prepare(m, &o, &request), status);
      EXPECT_EQ(request, nullptr);
    };
    refused([](fermata_operation& o) { o.size = 8; }, FERMATA_ERR_ARGUMENT);
    refused([](fermata_operation& o) { o.collective = 0; }, FERMATA_ERR_ARGUMENT);
    refused([](fermata_operation& o) { o.collective = FERMATA_EXSCAN + 1; }, FERMATA_ERR_ARGUMENT);
    refused([](fermata_operation& o) { o.out = nullptr; }, FERMATA_ERR_ARGUMENT);
    refused([](fermata_operation& o) { o.count = SIZE_MAX / 16; }, FERMATA_ERR_ARGUMENT);
    // elements without an operator of their own
    refused([](fermata_operation& o) { o.element = 24; }, FERMATA_ERR_ARGUMENT);
    refused([](fermata_operation& o) { o.element = 5000; }, FERMATA_ERR_UNSUPPORTED);
    refused([](fermata_operation& o) { o.irregular = 1; }, FERMATA_ERR_UNSUPPORTED);
    refused(
        [&](fermata_operation& o) {
          o.collective = FERMATA_ALLGATHER;
          o.out_counts = counts;
        },
        FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_begin(m, &good, nullptr), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_request_start(nullptr), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_request_test(nullptr), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_request_wait(nullptr), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_request_reset(nullptr, x.data(), x.data()), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(fermata_request_free(nullptr), FERMATA_OK);
    size_t index = 7;
    EXPECT_EQ(fermata_request_wait_any(&request, 1, &index), FERMATA_ERR_ARGUMENT);
    EXPECT_EQ(index, 7u);
    EXPECT_EQ(fermata_request_wait_all(&request, 1), FERMATA_OK);
    EXPECT_EQ(x, std::vector<double>(64, 1.0));
    EXPECT_EQ(y, std::vector<double>(64, 2.0));
    EXPECT_EQ(fermata_execute(m, &good), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(x, std::vector<double>(64, 2.0)) << "rank " << rank;
  });
}

TEST(BlockRequests, WhatIsActiveIsLeftAlone) {
  std::atomic<bool> tried{false};
  with_members(2, [&](fermata_member* m, int rank) {
    std::vector<double> x(500, 1.0), y(500, 3.0);
    const fermata_operation kept = allreduce_of(x);
    const fermata_operation once = allreduce_of(y);
    fermata_request* prepared = nullptr;
    fermata_request* begun = nullptr;
    ASSERT_EQ(fermata_prepare(m, &kept, &prepared), FERMATA_OK) << fermata_error_detail();
    while (rank == 1 && !tried) std::this_thread::yield();
    ASSERT_EQ(fermata_request_start(prepared), FERMATA_OK) << fermata_error_detail();
    ASSERT_EQ(fermata_begin(m, &once, &begun), FERMATA_OK) << fermata_error_detail();
    if (rank == 0) {
      EXPECT_EQ(fermata_request_start(begun), FERMATA_ERR_BUSY);
      EXPECT_EQ(fermata_request_start(prepared), FERMATA_ERR_BUSY);
      EXPECT_EQ(fermata_request_free(prepared), FERMATA_ERR_BUSY);
      EXPECT_EQ(fermata_request_reset(prepared, FERMATA_IN_PLACE, y.data()), FERMATA_ERR_BUSY);
      EXPECT_EQ(fermata_request_free(begun), FERMATA_ERR_BUSY);
      EXPECT_EQ(fermata_request_test(begun), FERMATA_PENDING);
      fermata_member_set_timeout(m, 0.02);
      EXPECT_EQ(fermata_request_wait(begun), FERMATA_ERR_TIMEOUT);
      EXPECT_EQ(fermata_request_test(begun), FERMATA_PENDING);
      fermata_member_set_timeout(m, 20);
      tried = true;
    }
    EXPECT_EQ(fermata_request_wait(begun), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(fermata_request_wait(prepared), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(x, std::vector<double>(500, 2.0));
    EXPECT_EQ(y, std::vector<double>(500, 6.0));
    ASSERT_EQ(fermata_request_start(begun), FERMATA_OK) << fermata_error_detail();  // a second time
    EXPECT_EQ(fermata_request_wait(begun), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(y, std::vector<double>(500, 12.0));
    EXPECT_EQ(fermata_request_free(begun), FERMATA_OK);
    EXPECT_EQ(fermata_request_free(prepared), FERMATA_OK);
  });
}

TEST(BlockTimeout, LeavesTheCallOutstandingAndResumes) {
  for (const std::size_t count : {std::size_t{8}, std::size_t{500}, kMost}) {
    std::atomic<bool> timed_out{false};
    with_members(2, [&](fermata_member* m, int rank) {
      std::vector<double> x(count, 1.0);
      const auto reduce = [&] {
        return fermata_allreduce(m, FERMATA_IN_PLACE, x.data(), count, FERMATA_DOUBLE, FERMATA_SUM);
      };
      while (rank == 1 && !timed_out) std::this_thread::yield();
      if (rank == 0) {
        fermata_member_set_timeout(m, 0.02);
        EXPECT_EQ(reduce(), FERMATA_ERR_TIMEOUT);
        EXPECT_EQ(fermata_barrier(m), FERMATA_ERR_BUSY);
        EXPECT_EQ(reduce(), FERMATA_ERR_BUSY);
        fermata_request* request = nullptr;
        const fermata_operation o = allreduce_of(x);
        EXPECT_EQ(fermata_begin(m, &o, &request), FERMATA_ERR_BUSY);
        EXPECT_EQ(fermata_resume(m), FERMATA_ERR_TIMEOUT);
        timed_out = true;
        fermata_member_set_timeout(m, 20);
        EXPECT_EQ(fermata_resume(m), FERMATA_OK) << fermata_error_detail();
      } else {
        EXPECT_EQ(reduce(), FERMATA_OK) << fermata_error_detail();
      }
      EXPECT_EQ(x, std::vector<double>(count, 2.0)) << "rank " << rank;
      EXPECT_EQ(reduce(), FERMATA_OK);
      EXPECT_EQ(x, std::vector<double>(count, 4.0)) << "rank " << rank;
      EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
      EXPECT_EQ(fermata_resume(m), FERMATA_ERR_ARGUMENT);
    });
  }
}

}  // namespace
}  // namespace fermata::test
