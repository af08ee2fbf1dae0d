// Small blocks of two members: each sends the other its part in the plan of an allreduce. A repeated call
// takes a shorter path than the first one. So each call is made several times, between other calls, from
// changing buffers.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "../../soon.hpp"
#include "../../with_members.hpp"

namespace fermata::test {
namespace {

constexpr int kTimes = 4;

template <class T>
T value(int rank, int block, int round) {
  return static_cast<T>(1 + rank + 2 * block + 4 * round);
}

template <class T>
struct Buffers {
  T in[2], out[8];  // out has a free block on both sides of the output
  T* at = out + 2;
  void fill(int rank, int round) {
    for (int b = 0; b < 2; ++b) in[b] = value<T>(rank, b, round);
    for (T& x : out) x = T{99};
  }
  void expect(int blocks, T first, T second, const std::string& what) const {
    EXPECT_EQ(at[0], first) << what;
    EXPECT_EQ(at[1], blocks == 2 ? second : T{99}) << what;
    for (const int outside : {0, 1, 4, 5}) EXPECT_EQ(out[outside], T{99}) << what;
  }
};

// in_place: the input lies in the output.
template <class T>
void allgather(fermata_member* m, int rank, int type, int round, bool in_place) {
  Buffers<T> b;
  b.fill(rank, round);
  if (in_place) b.at[rank] = b.in[0];
  ASSERT_EQ(fermata_allgather(m, in_place ? FERMATA_IN_PLACE : b.in, b.at, 1, type), FERMATA_OK)
      << fermata_error_detail();
  b.expect(2, value<T>(0, 0, round), value<T>(1, 0, round), "allgather");
}

template <class T>
void alltoall(fermata_member* m, int rank, int type, int round, bool in_place) {
  Buffers<T> b;
  b.fill(rank, round);
  if (in_place)
    for (int i = 0; i < 2; ++i) b.at[i] = b.in[i];
  ASSERT_EQ(fermata_alltoall(m, in_place ? FERMATA_IN_PLACE : b.in, b.at, 1, type), FERMATA_OK)
      << fermata_error_detail();
  b.expect(2, value<T>(0, rank, round), value<T>(1, rank, round), "alltoall");
}

template <class T>
void reduce_scatter(fermata_member* m, int rank, int type, int round, bool in_place, int op) {
  Buffers<T> b;
  b.fill(rank, round);
  if (in_place)
    for (int i = 0; i < 2; ++i) b.at[i] = b.in[i];
  ASSERT_EQ(fermata_reduce_scatter(m, in_place ? FERMATA_IN_PLACE : b.in, b.at, 1, type, op), FERMATA_OK)
      << fermata_error_detail();
  const T left = value<T>(0, rank, round), right = value<T>(1, rank, round);
  b.expect(in_place ? 2 : 1,
           op == FERMATA_SUM ? static_cast<T>(left + right)
           : left < right    ? left
                             : right,
           b.at[1], "reduce_scatter");
}

template <class T>
void gather_and_scatter(fermata_member* m, int rank, int type, int round, int root) {
  Buffers<T> b;
  b.fill(rank, round);
  ASSERT_EQ(fermata_gather(m, b.in, b.at, 1, type, root), FERMATA_OK) << fermata_error_detail();
  if (rank == root) b.expect(2, value<T>(0, 0, round), value<T>(1, 0, round), "gather");
  b.fill(rank, round);
  ASSERT_EQ(fermata_scatter(m, b.in, b.at, 1, type, root), FERMATA_OK) << fermata_error_detail();
  b.expect(1, value<T>(root, rank, round), T{}, "scatter");
}

template <class T>
void all_of(fermata_member* m, int rank, int type) {
  for (int round = 0; round < kTimes; ++round)
    for (const bool in_place : {false, true}) {
      for (int again = 0; again < 2; ++again) allgather<T>(m, rank, type, round + again, in_place);
      for (int again = 0; again < 2; ++again) alltoall<T>(m, rank, type, round + again, in_place);
      for (const int op : {FERMATA_SUM, FERMATA_MIN}) {
        for (int again = 0; again < 2; ++again) reduce_scatter<T>(m, rank, type, round + again, in_place, op);
        double one = 1 + rank, sum = 0;
        ASSERT_EQ(fermata_allreduce(m, &one, &sum, 1, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
        EXPECT_EQ(sum, 3);
      }
      allgather<T>(m, rank, type, round, !in_place);
      ASSERT_EQ(fermata_barrier(m), FERMATA_OK);
      allgather<T>(m, rank, type, round, in_place);
      for (int root = 0; root < 2; ++root) gather_and_scatter<T>(m, rank, type, round, root);
      allgather<T>(m, rank, type, round, in_place);
    }
}

void every_width(fermata_member* m, int rank) {
  all_of<double>(m, rank, FERMATA_DOUBLE);
  all_of<float>(m, rank, FERMATA_FLOAT);
  all_of<std::int16_t>(m, rank, FERMATA_INT16);
  all_of<std::uint8_t>(m, rank, FERMATA_UINT8);
}

TEST(Swap, BlocksOfTwoMembersAreTheRightOnes) { with_members(2, every_width); }

// A linear plan folds at one member: blocks of both members must be carried.
TEST(Swap, PlansThatAreNoExchangeGiveTheSame) { with_linear_allreduces(2, 8, every_width); }

// A member that gives up waiting continues later, with the complete result.
TEST(Swap, OneThatWasInterruptedIsCompletedByResume) {
  std::atomic<int> given_up{0};  // calls of rank 0, which alone waits for a late member
  with_members(2, [&](fermata_member* m, int rank) {
    int calls = 0;
    for (int round = 0; round < 3; ++round) {
      const double in[2] = {1.0 + rank, 10.0 + rank};
      double gathered[2] = {}, got[2] = {}, sum = 0;
      int late = 0;
      const auto wait = [&](auto&& call) {
        ++calls;
        if (rank == 1) {
          EXPECT_TRUE(is_soon([&] { return given_up >= calls; }));
        }
        if (rank == 0) fermata_member_set_timeout(m, 0.002);
        int status = call();
        late += status == FERMATA_ERR_TIMEOUT;
        if (rank == 0) ++given_up;
        fermata_member_set_timeout(m, 20);
        while (status == FERMATA_ERR_TIMEOUT) status = fermata_resume(m);
        ASSERT_EQ(status, FERMATA_OK) << fermata_error_detail();
      };
      wait([&] { return fermata_allgather(m, in, gathered, 1, FERMATA_DOUBLE); });
      wait([&] { return fermata_alltoall(m, in, got, 1, FERMATA_DOUBLE); });
      wait([&] { return fermata_reduce_scatter(m, in, &sum, 1, FERMATA_DOUBLE, FERMATA_SUM); });
      EXPECT_EQ(gathered[0], 1);
      EXPECT_EQ(gathered[1], 2);
      EXPECT_EQ(got[0], rank == 0 ? 1 : 10);
      EXPECT_EQ(got[1], rank == 0 ? 2 : 11);
      EXPECT_EQ(sum, rank == 0 ? 3 : 21);
      EXPECT_EQ(late, rank == 0 ? 3 : 0);
    }
  });
}

TEST(Swap, ADifferentOneIsNamed) {
  with_members(2, [](fermata_member* m, int rank) {
    const double in[2] = {1, 2};
    double out[2];
    for (int i = 0; i < 2; ++i) ASSERT_EQ(fermata_allgather(m, in, out, 1, FERMATA_DOUBLE), FERMATA_OK);
    const int status = rank == 0 ? fermata_allgather(m, in, out, 1, FERMATA_DOUBLE)
                                 : fermata_alltoall(m, in, out, 1, FERMATA_DOUBLE);
    EXPECT_EQ(status, FERMATA_ERR_MISMATCH);
    EXPECT_NE(std::string(fermata_error_detail()).find("allgather"), std::string::npos)
        << fermata_error_detail();
    EXPECT_NE(std::string(fermata_error_detail()).find("alltoall"), std::string::npos)
        << fermata_error_detail();
  });
}

}  // namespace
}  // namespace fermata::test
