// The end of a long transfer between hosts goes from memory to memory, if the port can do that.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "exec/blocks.hpp"
#include "house.hpp"

namespace fermata::test {
namespace {

constexpr std::size_t kLongNumbers = 100'000;  // 800 KB

int broadcast(fermata_member* m, std::vector<std::uint64_t>& data, int rank, std::uint64_t seed) {
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = rank == 0 ? seed + k : 0;
  const int status = fermata_broadcast(m, data.data(), data.size() * sizeof data[0], 0);
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < data.size(); ++k) wrong += data[k] != seed + k ? 1 : 0;
  if (status == FERMATA_OK) {
    EXPECT_EQ(wrong, 0U) << "rank " << rank;
  }
  return status;
}

// What goes through the ring is what the link holds in a round trip.
TEST(LongMessages, MostOfALongBlockGoesByOne) {
  constexpr std::uint64_t kCalls = 10;
  House house({}, false, {0, 1});
  const auto ends = house.run(10, [&](fermata_member* m, int rank) {
    std::vector<std::uint64_t> data(kLongNumbers);
    int status = FERMATA_OK;
    for (std::uint64_t i = 0; i < kCalls && status == FERMATA_OK; ++i) status = broadcast(m, data, rank, i);
    return status;
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
  const net::Loop::Counts counts = house.loop.counts();
  EXPECT_EQ(counts.longs, kCalls);
  EXPECT_GT(counts.long_bytes, kCalls * kLongNumbers * 8 / 2);
  EXPECT_EQ(counts.given_up, 0U);
}

TEST(LongMessages, APortWithoutThemWorks) {
  House house({.moves_long = false}, false, {0, 1});
  const auto ends = house.run(10, [&](fermata_member* m, int rank) {
    std::vector<std::uint64_t> data(kLongNumbers);
    return broadcast(m, data, rank, 1);
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
  EXPECT_EQ(house.loop.counts().longs, 0U);
}

// The receivers' buffers are shorter: they get what fits, and nothing lies behind it.
TEST(LongMessages, AShorterBufferGetsWhatFits) {
  House house({}, false, {0, 1, 2});
  const auto ends = house.run(10, [&](fermata_member* m, int rank) {
    fermata_member_set_bounded(m, 1);
    const std::size_t mine = rank == 1 ? kLongNumbers / 2 : kLongNumbers;
    std::vector<std::uint64_t> data(kLongNumbers, rank == 0 ? 5 : 7);
    const int status = fermata_broadcast(m, data.data(), mine * sizeof data[0], 0);
    for (std::size_t k = 0; k < kLongNumbers; ++k) EXPECT_EQ(data[k], k < mine ? 5U : 7U) << rank << ' ' << k;
    return status;
  });
  EXPECT_EQ(ends[0].status, FERMATA_OK) << ends[0].detail;
  EXPECT_EQ(ends[1].status, FERMATA_ERR_TRUNCATED) << ends[1].detail;
  EXPECT_EQ(ends[2].status, FERMATA_OK) << ends[2].detail;
}

// The receiver never comes. The sender's wait ends, but its message does not, until its member leaves.
TEST(LongMessages, AMessageThatNobodyTakesEndsWithItsMember) {
  House house({}, false, {0, 1});
  const auto ends = house.run(0.05, [&](fermata_member* m, int rank) {
    std::vector<std::uint64_t> data(kLongNumbers, 1);
    if (rank == 1) return static_cast<int>(FERMATA_OK);
    const int status = fermata_broadcast(m, data.data(), data.size() * sizeof data[0], 0);
    EXPECT_EQ(house.loop.counts().given_up, status == FERMATA_ERR_TIMEOUT ? 0U : 1U);
    return status;
  });
  EXPECT_NE(ends[0].status, FERMATA_OK);
  EXPECT_EQ(house.loop.counts().given_up, 1U);
}

// The sender's process is gone in the middle of a call: the receiver learns its rank, and gives the message
// up.
TEST(LongMessages, ASenderThatDiesIsNamed) {
  House house({.delay_ns = 20 * kMilli}, false, {0, 1});
  const auto ends = house.run(10, [&](fermata_member* m, int rank) {
    std::vector<std::uint64_t> data(kLongNumbers, 1);
    if (rank == 0) {
      fermata_member_set_timeout(m, 0.03);
      fermata_broadcast(m, data.data(), data.size() * sizeof data[0], 0);
      house.loop.kill(0);
      return static_cast<int>(FERMATA_OK);
    }
    return fermata_broadcast(m, data.data(), data.size() * sizeof data[0], 0);
  });
  EXPECT_EQ(ends[1].status, FERMATA_ERR_MEMBER_LOST) << ends[1].detail;
  EXPECT_NE(ends[1].detail.find("rank 0"), std::string::npos) << ends[1].detail;
  EXPECT_EQ(house.loop.counts().longs, 0U);
  EXPECT_EQ(house.loop.counts().given_up, 2U);
}

// Its process lives, but it makes no more calls.
TEST(LongMessages, AReceiverThatLeavesInsteadIsNamed) {
  House house({}, false, {0, 1, 1});
  const auto ends = house.run(10, [&](fermata_member* m, int rank) {
    std::vector<std::uint64_t> data(kLongNumbers);
    return rank == 1 ? static_cast<int>(FERMATA_OK) : broadcast(m, data, rank, 1);
  });
  EXPECT_EQ(ends[0].status, FERMATA_ERR_MEMBER_LOST) << ends[0].detail;
  EXPECT_NE(ends[0].detail.find("rank 1"), std::string::npos) << ends[0].detail;
}

// One process's port cannot receive what another one sends.
TEST(LongMessages, PortsThatDifferAreAMismatch) {
  House house({}, false, {0, 1}, true);
  const auto ends = house.run(10, [&](fermata_member* m, int rank) {
    std::vector<std::uint64_t> data(kLongNumbers);
    return broadcast(m, data, rank, 1);
  });
  EXPECT_EQ(ends[1].status, FERMATA_ERR_MISMATCH) << ends[1].detail;
  EXPECT_NE(ends[0].status, FERMATA_OK);
}

}  // namespace
}  // namespace fermata::test
