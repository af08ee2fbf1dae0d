// On which host each member of a team runs.
#include "exec/host_table.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "bare_host.hpp"

namespace fermata::exec {
namespace {

TEST(HostTable, OneHostNeedsNone) {
  const HostTable table;
  EXPECT_FALSE(table.are_several());
  EXPECT_FALSE(table.is_away(4095));
  EXPECT_EQ(table.of(4095), 0U);
  EXPECT_EQ(table.here(), 0U);
  EXPECT_EQ(table.count(), 1U);
}

TEST(HostTable, NamesTheHostOfEachRank) {
  std::uint32_t hosts[] = {2, 0, 1, 0, 1};
  HostTable table;
  ASSERT_EQ(table.copy(hosts, 4), Status::kOk);
  hosts[0] = 3;  // the table is a copy
  EXPECT_TRUE(table.are_several());
  EXPECT_EQ(table.here(), 1U);
  EXPECT_EQ(table.count(), 3U);
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(table.is_away(rank), rank != 2) << rank;
  EXPECT_EQ(table.of(0), 2U);
}

// A segment with a table, as another process may have written it.
struct HostTableOfASegment : testing::Test {
  TeamSegment segment = bare_segment(3);
  TeamLayout layout = segment.layout();

  HostTableOfASegment() { layout.hosts = layout.window + regions_in_window(3); }
  ~HostTableOfASegment() override { segment.memory().unmap(); }
  Status check(const std::uint32_t (&hosts)[4]) {
    std::memcpy(segment.base() + layout.window + regions_in_window(3), hosts, sizeof hosts);
    segment.set_layout(layout);
    HostTable table;
    return table.check(segment);
  }
};

TEST_F(HostTableOfASegment, IsCopiedIfItIsSound) {
  EXPECT_EQ(check({0, 1, 2, 1}), Status::kOk);
  EXPECT_EQ(check({0, 1, 3, 1}), Status::kMismatch) << "there are as many hosts as members, at most";
  EXPECT_EQ(check({0, 1, 2, 3}), Status::kMismatch);
}

TEST_F(HostTableOfASegment, LiesInTheSegment) {
  layout.hosts = segment.bytes() - 3 * sizeof(std::uint32_t);
  EXPECT_EQ(check({0, 1, 2, 1}), Status::kMismatch);
  layout.hosts = 2;
  EXPECT_EQ(check({0, 1, 2, 1}), Status::kMismatch);
}

TEST_F(HostTableOfASegment, NeedsAWindow) {
  layout.window += 8;
  EXPECT_EQ(check({0, 1, 2, 1}), Status::kMismatch);
}

}  // namespace
}  // namespace fermata::exec
