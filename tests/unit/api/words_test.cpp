// Allreduces of several words. A call that repeats the last one takes a shorter path than the first. So each
// call is made several times, between other calls, from changing buffers.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "../../soon.hpp"
#include "../../with_members.hpp"

namespace fermata::test {
namespace {

constexpr int kRepeats = 3;
constexpr int kOps[] = {FERMATA_SUM, FERMATA_PROD, FERMATA_MIN, FERMATA_MAX};

template <class T>
T given(int rank, std::size_t i, int round) {
  return static_cast<T>(1 + (static_cast<std::size_t>(rank) * 3 + i + static_cast<std::size_t>(round)) % 5);
}

template <class T>
T fold_two(int op, T a, T b) {
  switch (op) {
    case FERMATA_SUM: return static_cast<T>(a + b);
    case FERMATA_PROD: return static_cast<T>(a * b);
    case FERMATA_MIN: return a < b ? a : b;
    default: return a < b ? b : a;
  }
}

// shift: bytes by which the buffers are off their alignment.
template <class T>
void allreduce_of(fermata_member* m, int rank, int type, int op, std::size_t count, int round, bool in_place,
                  std::size_t shift) {
  alignas(8) unsigned char in[72], out[72];
  std::memset(in, 0x5a, sizeof in);
  std::memset(out, 0x5a, sizeof out);
  T values[56 / sizeof(T)];
  for (std::size_t i = 0; i < count; ++i) values[i] = given<T>(rank, i, round);
  std::memcpy((in_place ? out : in) + shift, values, count * sizeof(T));
  const void* const from = in_place ? FERMATA_IN_PLACE : in + shift;
  ASSERT_EQ(fermata_allreduce(m, from, out + shift, count, type, op), FERMATA_OK) << fermata_error_detail();
  std::memcpy(values, out + shift, count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    T expected = given<T>(0, i, round);
    for (int r = 1; r < fermata_member_count(m); ++r)
      expected = fold_two<T>(op, expected, given<T>(r, i, round));
    ASSERT_EQ(values[i], expected) << count << " elements of type " << type << ", op " << op << ", element "
                                   << i << ", rank " << rank;
  }
  for (std::size_t b = 0; b < sizeof out; ++b)
    if (b < shift || b >= shift + count * sizeof(T)) {
      ASSERT_EQ(out[b], 0x5a) << count << " elements, byte " << b;
    }
}

template <class T>
void every_count(fermata_member* m, int rank, int type) {
  for (const int op : kOps)
    for (std::size_t count = 1; count <= 56 / sizeof(T); ++count) {
      for (int round = 0; round < kRepeats; ++round)
        for (const bool in_place : {false, true})
          ASSERT_NO_FATAL_FAILURE(allreduce_of<T>(m, rank, type, op, count, round, in_place, 0));
      ASSERT_NO_FATAL_FAILURE(allreduce_of<T>(m, rank, type, op, count, 0, false, 1));
    }
}

void every_count_of_all_types(fermata_member* m, int rank) {
  every_count<double>(m, rank, FERMATA_DOUBLE);
  every_count<float>(m, rank, FERMATA_FLOAT);
  every_count<std::int64_t>(m, rank, FERMATA_INT64);
  every_count<std::int32_t>(m, rank, FERMATA_INT32);
  every_count<std::int16_t>(m, rank, FERMATA_INT16);
  every_count<std::uint8_t>(m, rank, FERMATA_UINT8);
}

void every_count_of_two_types(fermata_member* m, int rank) {
  every_count<double>(m, rank, FERMATA_DOUBLE);
  every_count<std::int32_t>(m, rank, FERMATA_INT32);
}

TEST(Words, EveryCountAndTypeHasTheRightResult) { with_members(2, every_count_of_all_types); }

// An exchange has one round for two members, and more for four. Three members fold in no rounds.
TEST(Words, TheSameWithMoreMembers) {
  for (const int members : {3, 4}) with_members(members, every_count_of_two_types);
}

// Another plan has no rounds: its members send what they have folded to each other.
TEST(Words, PlansWithoutRoundsGiveTheSame) { with_linear_allreduces(2, 56, every_count_of_all_types); }

// The prepared first signals of calls of one word and of several are independent, and each call that changes
// the history forgets both.
TEST(Words, OtherCallsInBetweenDisturbNothing) {
  with_members(2, [](fermata_member* m, int rank) {
    for (int round = 0; round < 4; ++round) {
      ASSERT_NO_FATAL_FAILURE(allreduce_of<double>(m, rank, FERMATA_DOUBLE, FERMATA_SUM, 7, round, false, 0));
      ASSERT_NO_FATAL_FAILURE(allreduce_of<double>(m, rank, FERMATA_DOUBLE, FERMATA_SUM, 1, round, false, 0));
      ASSERT_NO_FATAL_FAILURE(allreduce_of<float>(m, rank, FERMATA_FLOAT, FERMATA_MAX, 14, round, true, 0));
      ASSERT_EQ(fermata_barrier(m), FERMATA_OK);
      ASSERT_NO_FATAL_FAILURE(allreduce_of<float>(m, rank, FERMATA_FLOAT, FERMATA_MAX, 14, round, true, 0));
      double gathered[6] = {}, mine[3] = {1.0 + rank, 2.0 + rank, 3.0 + rank};
      ASSERT_EQ(fermata_allgather(m, mine, gathered, 3, FERMATA_DOUBLE), FERMATA_OK);
      for (int r = 0; r < 2; ++r)
        for (int i = 0; i < 3; ++i) EXPECT_EQ(gathered[3 * r + i], 1.0 + i + r);
      ASSERT_NO_FATAL_FAILURE(allreduce_of<float>(m, rank, FERMATA_FLOAT, FERMATA_MAX, 14, round, true, 0));
      double sent[4] = {1, 2, 3, 4.0 + round};
      ASSERT_EQ(fermata_broadcast(m, sent, sizeof sent, round % 2), FERMATA_OK);
      ASSERT_NO_FATAL_FAILURE(allreduce_of<float>(m, rank, FERMATA_FLOAT, FERMATA_MAX, 14, round, true, 0));
    }
  });
}

// Every member names the calls, whether the first call or a repeated one differs.
void expect_named(int rank_of_other, std::size_t count, int type, int op, const char* named) {
  with_members(2, [=](fermata_member* m, int rank) {
    double in[7] = {1, 2, 3, 4, 5, 6, 7}, out[7];
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(fermata_allreduce(m, in, out, 4, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
    const int status = rank == rank_of_other ? fermata_allreduce(m, in, out, count, type, op)
                                             : fermata_allreduce(m, in, out, 4, FERMATA_DOUBLE, FERMATA_SUM);
    EXPECT_EQ(status, FERMATA_ERR_MISMATCH) << named;
    const std::string detail = fermata_error_detail();
    EXPECT_NE(detail.find("rank 0"), std::string::npos) << detail;
    EXPECT_NE(detail.find("rank 1"), std::string::npos) << detail;
    EXPECT_NE(detail.find(named), std::string::npos) << named << " in: " << detail;
    EXPECT_EQ(fermata_allreduce(m, in, out, 4, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_ERR_MISMATCH);
  });
}

TEST(Words, AnotherLengthTypeOrOperatorIsNamed) {
  for (const int other : {0, 1}) {
    for (const std::size_t count : {2, 3, 5, 6, 7})
      expect_named(other, count, FERMATA_DOUBLE, FERMATA_SUM, std::to_string(8 * count).c_str());
    expect_named(other, 4, FERMATA_INT64, FERMATA_SUM, "int64");
    expect_named(other, 4, FERMATA_DOUBLE, FERMATA_MAX, "max");
  }
}

// A member that gives up waiting continues later, with the complete result.
TEST(Words, OneThatWasInterruptedIsCompletedByResume) {
  for (const std::size_t count : {4, 7, 9}) {  // floats
    std::atomic<int> given_up{0};
    with_members(2, [&](fermata_member* m, int rank) {
      for (int round = 0; round < 3; ++round) {
        float in[9], out[9] = {};
        for (std::size_t i = 0; i < count; ++i) in[i] = given<float>(rank, i, round);
        if (rank == 1) {
          EXPECT_TRUE(is_soon([&] { return given_up > round; }));
        } else {
          fermata_member_set_timeout(m, 0.002);
        }
        int status = fermata_allreduce(m, in, out, count, FERMATA_FLOAT, FERMATA_SUM);
        if (rank == 0) {
          EXPECT_EQ(status, FERMATA_ERR_TIMEOUT);
          ++given_up;
          fermata_member_set_timeout(m, 20);
          status = fermata_resume(m);
        }
        ASSERT_EQ(status, FERMATA_OK) << fermata_error_detail();
        for (std::size_t i = 0; i < count; ++i)
          EXPECT_EQ(out[i], given<float>(0, i, round) + given<float>(1, i, round));
      }
    });
  }
}

TEST(Words, ANaNIsTheSameAsInEveryOtherFold) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  with_members(2, [](fermata_member* m, int rank) {
    for (std::size_t count = 2; count <= 7; ++count)
      for (std::size_t at = 0; at < count; ++at)
        for (int again = 0; again < 2; ++again) {
          double in[7], out[7], alone = 0;
          for (std::size_t i = 0; i < count; ++i) in[i] = 1 + rank;
          in[at] = rank == 0 ? kInfinity : -kInfinity;
          ASSERT_EQ(fermata_allreduce(m, in, out, count, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
          ASSERT_EQ(fermata_allreduce(m, in + at, &alone, 1, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
          for (std::size_t i = 0; i < count; ++i)
            if (i == at) EXPECT_EQ(std::memcmp(out + i, &alone, 8), 0) << count << " doubles, at " << at;
            else EXPECT_EQ(out[i], 3) << count << " doubles, NaN at " << at;
        }
  });
}

}  // namespace
}  // namespace fermata::test
