// Members over several hosts call with different lengths, and no member waits for ever. Where all wait for
// all, every member gets the error. Where one member has or receives the data, only that one gets it, unless
// others differ, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "fermata/collectives.hpp"
#include "house.hpp"

namespace fermata::test {
namespace {

// Numbers of int32: on one word, on a line, on the line of a piece, past that line.
constexpr int kLengths[][2] = {{1, 2},   {2, 1},   {2, 3},   {1, 14},  {14, 15},
                               {15, 14}, {1, 300}, {300, 1}, {20, 40}, {5000, 5001}};
constexpr double kSeconds = 20;

using Numbers = std::vector<std::int32_t>;

int call(fermata_member* m, int collective, std::size_t count, int root) {
  Numbers in(count * kMembers, 1), out(count * kMembers, 2);
  switch (collective) {
    case FERMATA_BROADCAST: return fermata_broadcast(m, in.data(), count * sizeof in[0], root);
    case FERMATA_REDUCE:
      return fermata_reduce(m, in.data(), out.data(), count, FERMATA_INT32, FERMATA_SUM, root);
    case FERMATA_ALLREDUCE:
      return fermata_allreduce(m, in.data(), out.data(), count, FERMATA_INT32, FERMATA_SUM);
    case FERMATA_GATHER: return fermata_gather(m, in.data(), out.data(), count, FERMATA_INT32, root);
    case FERMATA_SCATTER: return fermata_scatter(m, in.data(), out.data(), count, FERMATA_INT32, root);
    case FERMATA_ALLGATHER: return fermata_allgather(m, in.data(), out.data(), count, FERMATA_INT32);
    case FERMATA_REDUCE_SCATTER:
      return fermata_reduce_scatter(m, in.data(), out.data(), count, FERMATA_INT32, FERMATA_SUM);
    case FERMATA_ALLTOALL: return fermata_alltoall(m, in.data(), out.data(), count, FERMATA_INT32);
    case FERMATA_SCAN: return fermata_scan(m, in.data(), out.data(), count, FERMATA_INT32, FERMATA_SUM);
    default: return fermata_exscan(m, in.data(), out.data(), count, FERMATA_INT32, FERMATA_SUM);
  }
}

constexpr unsigned kHost0 = 3, kHost2 = 48;

// The ranks of the mask `odd` use lengths[0], all others lengths[1]. A barrier comes before and after the
// call. Rank `late` calls after the others have looked at each other.
std::vector<House::End> with_lengths(int collective, const int (&lengths)[2], unsigned odd, int root,
                                     bool bounded, int late = -1) {
  House house(kLinks);
  return house.run(kSeconds, [&](fermata_member* m, int rank) -> int {
    fermata_member_set_bounded(m, bounded ? 1 : 0);
    int status = fermata_barrier(m);
    if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    if (status == FERMATA_OK)
      status = call(m, collective, static_cast<std::size_t>(lengths[(odd >> rank & 1) != 0 ? 0 : 1]), root);
    const int next =
        status == FERMATA_OK || status == FERMATA_ERR_TRUNCATED ? fermata_barrier(m) : FERMATA_OK;
    return next != FERMATA_OK ? next : status;
  });
}

bool is_met(int status) { return status == FERMATA_ERR_MISMATCH || status == FERMATA_ERR_BROKEN; }

class LengthsOverHosts : public testing::TestWithParam<int> {};

TEST_P(LengthsOverHosts, AreMetByAll) {
  for (const auto& lengths : kLengths)
    for (const unsigned odd : {1u, 8u, kHost0, kHost2}) {
      const auto ends = with_lengths(GetParam(), lengths, odd, 0, odd != 8);
      for (const auto& end : ends)
        EXPECT_TRUE(is_met(end.status)) << lengths[0] << " at ranks " << odd << ", " << lengths[1]
                                        << " at others: " << end.status << ": " << end.detail;
    }
}

INSTANTIATE_TEST_SUITE_P(Collectives, LengthsOverHosts,
                         testing::Values(FERMATA_ALLREDUCE, FERMATA_ALLGATHER, FERMATA_REDUCE_SCATTER,
                                         FERMATA_ALLTOALL, FERMATA_SCAN, FERMATA_EXSCAN));

class LengthsOfARoot : public testing::TestWithParam<int> {};

// The odd rank is the one that receives all, or one of those that receive a part.
TEST_P(LengthsOfARoot, AreTheReceiversAlone) {
  const bool inward = rules_of(GetParam()).root_gets();
  for (const auto& lengths : kLengths)
    for (const int root : {0, 3}) {
      const int odd = inward ? root : 5;
      const auto ends = with_lengths(GetParam(), lengths, 1u << odd, root, true);
      for (int r = 0; r < kMembers; ++r)
        EXPECT_EQ(ends[r].status, r == odd && lengths[0] < lengths[1] ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
            << lengths[0] << " at rank " << odd << ", " << lengths[1] << " at others, root " << root
            << ", rank " << r << ": " << ends[r].detail;
    }
}

// The receiver has begun with the others' length. It waits for the rest while more data of that length
// arrives.
TEST_P(LengthsOfARoot, AreTheReceiversAloneWhereOneIsLate) {
  const bool inward = rules_of(GetParam()).root_gets();
  constexpr int kLong[] = {100'000, 100'001};
  for (const int root : {0, 3})
    for (int late = 0; late < kMembers; ++late) {
      const int odd = inward ? root : 5;
      const auto ends = with_lengths(GetParam(), kLong, 1u << odd, root, true, late);
      for (int r = 0; r < kMembers; ++r)
        EXPECT_EQ(ends[r].status, r == odd ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
            << "root " << root << ", late " << late << ", rank " << r << ": " << ends[r].detail;
    }
}

// Data of a later call may arrive before data of this call from another member.
TEST(LengthsOverHostsBegun, MayBeOvertaken) {
  for (const bool begun : {false, true}) {
    House house({.delay_ns = 20'000, .jitter_ns = 2 * kMilli, .held = 0.2, .repeat_ns = 20 * kMilli});
    const auto ends = house.run(kSeconds, [&](fermata_member* m, int rank) -> int {
      fermata_member_set_bounded(m, 1);
      int status = fermata_barrier(m);
      for (int i = 0; i < 60 && status == FERMATA_OK; ++i) {
        const int few = i % 2 == 0 ? 10 : 100, own = rank == 4 ? 110 - few : few;
        Numbers data[] = {Numbers(static_cast<std::size_t>(own), rank == 0 ? i : -1),
                          Numbers(100, rank == 0 ? i : -1)};
        fermata_request* requests[2] = {};
        for (int c = 0; c < 2 && (status == FERMATA_OK || status == FERMATA_ERR_TRUNCATED); ++c) {
          if (!begun) {
            status = fermata_broadcast(m, data[c].data(), data[c].size() * sizeof data[c][0], 0);
            continue;
          }
          fermata_operation o = FERMATA_OPERATION_INIT;
          o.collective = FERMATA_BROADCAST;
          o.out = data[c].data();
          o.count = data[c].size();
          o.type = FERMATA_INT32;
          status = fermata_begin(m, &o, &requests[c]);
        }
        for (fermata_request* request : requests) {
          if (request != nullptr && (status == FERMATA_OK || status == FERMATA_ERR_TRUNCATED))
            status = fermata_request_wait(request);
          fermata_request_free(request);
        }
        if (status == FERMATA_ERR_TRUNCATED) status = FERMATA_OK;
        if (status == FERMATA_OK && (data[0][9] != i || data[1][99] != i)) return FERMATA_ERR_VERIFY;
        if (status == FERMATA_OK && i % 8 == 7) status = fermata_barrier(m);
      }
      return status;
    });
    for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << "begun " << begun << ": " << end.detail;
  }
}

// The root's first reduce, started in blocks, reads a line of which a part is late, while pieces of the
// second arrive. It must work whichever thread moves them.
TEST(LengthsOverHostsBegun, AreMovedOnByAThread) {
  ASSERT_EQ(fermata_progress_thread(1), FERMATA_OK);
  for (int late = 1; late < kMembers; ++late) {
    House house(kLinks);
    const auto ends = house.run(kSeconds, [&](fermata_member* m, int rank) -> int {
      fermata_member_set_bounded(m, 1);
      int status = fermata_barrier(m);
      if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      Numbers in(100, 1), out[2] = {Numbers(100, 0), Numbers(100, 0)};
      fermata_request* requests[2] = {};
      for (int i = 0; i < 2 && status == FERMATA_OK; ++i) {
        fermata_operation o = FERMATA_OPERATION_INIT;
        o.collective = FERMATA_REDUCE;
        o.in = in.data();
        o.out = out[i].data();
        o.count = rank != 0 && i == 0 ? 10 : in.size();
        o.type = FERMATA_INT32;
        o.op = FERMATA_SUM;
        status = fermata_begin(m, &o, &requests[i]);
      }
      for (fermata_request* request : requests) {
        if (status == FERMATA_OK) status = fermata_request_wait(request);
        fermata_request_free(request);
      }
      if (status == FERMATA_OK && rank == 0 &&
          (out[0][9] != kMembers || out[0][10] != 0 || out[1][99] != kMembers))
        return FERMATA_ERR_VERIFY;
      return status == FERMATA_OK ? fermata_barrier(m) : status;
    });
    for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << "late " << late << ": " << end.detail;
  }
  EXPECT_EQ(fermata_progress_thread(0), FERMATA_OK);
}

// The odd rank is one of several senders.
TEST_P(LengthsOfARoot, MayBeWrongAtAnyOther) {
  for (const auto& lengths : kLengths)
    for (const unsigned odd : {1u, 2u, 4u, 32u, kHost2}) {
      const auto ends = with_lengths(GetParam(), lengths, odd, odd == 1 ? 5 : 0, true);
      for (int r = 0; r < kMembers; ++r)
        EXPECT_NE(ends[r].status, FERMATA_ERR_TIMEOUT)
            << lengths[0] << " at ranks " << odd << ", " << lengths[1] << " at others, rank " << r << ": "
            << ends[r].detail;
    }
}

INSTANTIATE_TEST_SUITE_P(Collectives, LengthsOfARoot,
                         testing::Values(FERMATA_BROADCAST, FERMATA_REDUCE, FERMATA_GATHER, FERMATA_SCATTER));

}  // namespace
}  // namespace fermata::test
