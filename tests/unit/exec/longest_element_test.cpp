// The MPI preload leaves longer elements to MPI, so a team must take all up to this length.
#include "../../../preload/mpi/longest_element.hpp"

#include <gtest/gtest.h>

#include "exec/blocks.hpp"

namespace fermata::exec {
namespace {

std::size_t longest_piece(int members, std::uint64_t most_lines) {
  TeamLayout laid;
  laid.members = static_cast<std::uint32_t>(members);
  lay_out_blocks(0, most_lines, laid);
  Channel channel;
  channel.in_quarter = laid.in_quarter;
  return channel.most();
}

TEST(LongestElement, FitsIntoAPieceOfEachTeam) {
  for (int members = 1; members <= static_cast<int>(kMostBlockMembers); ++members)
    for (const std::uint64_t lines : {kMostRingLines, kMostCrowdedLines})
      EXPECT_LE(preload::longest_element(members), longest_piece(members, lines)) << members << " members";
}

// An element is shorter than it could be only between the sizes that the table names.
TEST(LongestElement, IsTheWholePieceWhereTheTableNamesTheSize) {
  for (const int members : {64, 128, 256, 257, 1024})
    EXPECT_EQ(preload::longest_element(members), longest_piece(members, kMostRingLines)) << members;
  EXPECT_LT(longest_piece(41, kMostRingLines), preload::longest_element(40));
}

}  // namespace
}  // namespace fermata::exec
