// A line and its block come out of their message as they went in, and a message that is cut short is refused.
#include "net/mpi/wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace fermata::net {
namespace {

// The bits of `fields` choose which optional fields the line has.
fermata_line line_with(unsigned fields) {
  fermata_line line{};
  line.offset = 4096, line.header = ~std::uint64_t{5}, line.to = line.rank = 3;
  line.words = static_cast<std::uint16_t>(fields % 8);
  for (std::uint32_t i = 0; i < line.words; ++i) line.payload[i] = 100 + i;
  if ((fields & 8) != 0) line.subteam = 7, line.rank = 1;
  if ((fields & 16) != 0) line.from = 2, line.sent_ns = -1;
  return line;
}

TEST(Wire, EachFieldComesOutAsItWentIn) {
  std::vector<unsigned char> bytes(FERMATA_MOST_BLOCK), message(Wire::kMost);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  const fermata_block block{1 << 20, FERMATA_MOST_BLOCK, bytes.data()};
  for (unsigned fields = 0; fields < 128; ++fields) {
    SCOPED_TRACE(fields);
    const fermata_line line = line_with(fields);
    const std::uint64_t after = (fields & 32) != 0 ? 9 : 0;
    const bool brings = (fields & 64) != 0;
    const std::size_t length = Wire::encode(line, after, brings ? &block : nullptr, message.data());
    ASSERT_LE(length, Wire::kMost);
    Letter letter;
    ASSERT_TRUE(Wire::decode(message.data(), length, letter));
    EXPECT_EQ(std::memcmp(&letter.line, &line, sizeof line), 0);
    EXPECT_EQ(letter.after, after);
    EXPECT_FALSE(letter.is_last);
    ASSERT_EQ(letter.block.bytes, brings ? block.bytes : 0);
    if (!brings) continue;
    EXPECT_EQ(letter.block.offset, block.offset);
    EXPECT_EQ(std::memcmp(letter.block.from, bytes.data(), bytes.size()), 0);
  }
}

TEST(Wire, AMessageHasOnlyTheFieldsThatItsLineUses) {
  unsigned char message[Wire::kMost];
  EXPECT_EQ(Wire::encode(line_with(0), 0, nullptr, message), 24U);
  EXPECT_EQ(Wire::encode(line_with(1), 0, nullptr, message), 32U);
  EXPECT_EQ(Wire::encode(line_with(127), 9, nullptr, message), Wire::kMostHead - 8);
}

TEST(Wire, AMessageThatIsCutShortIsRefused) {
  unsigned char message[Wire::kMost];
  for (unsigned fields = 0; fields < 64; ++fields) {
    const std::size_t length = Wire::encode(line_with(fields), fields / 32, nullptr, message);
    for (std::size_t part = 0; part < length; ++part) {
      const std::vector<unsigned char> cut(message, message + part);  // a copy: a read beyond it is found
      Letter letter;
      EXPECT_FALSE(Wire::decode(cut.data(), cut.size(), letter)) << fields << ", " << part;
    }
  }
}

TEST(Wire, TheLastMessageSaysHowManyWereSent) {
  unsigned char message[Wire::kMost];
  Letter letter;
  ASSERT_TRUE(Wire::decode(message, Wire::encode_last(12, message), letter));
  EXPECT_TRUE(letter.is_last);
  EXPECT_EQ(letter.line.header, 12U);
}

}  // namespace
}  // namespace fermata::net
