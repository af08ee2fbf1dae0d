// Pieces of long blocks between two hosts fill the parts of the ring buffer, in teams of every size.
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/blocks.hpp"

namespace fermata::exec {
namespace {

TEST(PiecesAway, FillTheParts) {
  std::uint64_t last_in_parts[kMostParts] = {};
  for (std::uint32_t members = 2; members <= kMostBlockMembers; ++members) {
    TeamLayout laid;
    laid.members = members;
    laid.hosts = 2;
    lay_out_blocks(0, kMostLinesOverHosts, laid);
    Channel channel;
    channel.in_quarter = laid.in_quarter;
    channel.last_in_parts = last_in_parts;
    ASSERT_LE(channel.most_away(), net::kMostBlock) << members << " members";
    if (laid.in_quarter < kRingLine) continue;  // lines only
    ASSERT_LE(channel.parts(), kMostParts) << members << " members";
    const std::size_t part = channel.in_part(), pieces = part / channel.most_away();
    EXPECT_LE(part - pieces * channel.most_away(), std::max(part / 128, pieces * kRingLine))
        << members << " members";
  }
}

}  // namespace
}  // namespace fermata::exec
