// Exchanges in rounds: each signal is followed by its ring, whichever member is late.
#include <gtest/gtest.h>

#include <vector>

#include "exec/cursor.hpp"

namespace fermata::exec {
namespace {

struct Memory {
  using Counter = std::atomic<std::uint64_t>;
  Counter lines[4][2] = {};
  std::uint64_t words[4][2] = {};
  std::vector<const Step*> rung;

  static std::uint32_t number(std::uint32_t offset) { return offset / 128; }
  Counter& header(std::uint32_t offset) { return lines[number(offset)][0]; }
  Counter& word(std::uint32_t offset) { return header(offset); }
  Counter& credit(std::uint32_t offset) { return header(offset); }
  std::uint64_t& payload(std::uint32_t offset, std::uint32_t i) { return words[number(offset)][i]; }
  void ring(const Step& step) { rung.push_back(&step); }
  void carry(const Step&, std::uint32_t, std::uint64_t, std::uint32_t, const std::uint64_t*) {
    ADD_FAILURE() << "no member is on another host";
  }
};
using TestCursor = Cursor<RealAtomics, Memory>;

Step step(Code code, std::uint32_t line) {
  Step s{};
  s.code = code;
  s.offset = line * 128;
  if (code == Code::kAwait) {
    s.pauses = 1;
    s.fold = Fold::kCombineRight;
  }
  return s;
}

TEST(Rounds, RingBehindEachSignal) {
  const Step program[] = {step(Code::kSend, 0), step(Code::kAwait, 1), step(Code::kSend, 2),
                          step(Code::kAwait, 3), step(Code::kEnd, 0)};
  ASSERT_TRUE(goes_in_rounds<Load::kOneWord>(program));
  constexpr std::uint64_t kEpisode = 9, kTag = 3;
  const Header header = Header::of(kEpisode, kTag);
  Memory memory;
  TestCursor cursor;
  const auto add = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  std::uint64_t value = 5;
  const TestCursor::PreparedSignal signal = TestCursor::prepare_signal(memory, program, kEpisode, kTag);
  TestCursor::send_prepared<Load::kOneWord>(signal, value);
  cursor.follow(memory, program, kEpisode, signal.header);
  EXPECT_EQ(&cursor.sent(), &program[0]);  // the caller rings
  EXPECT_TRUE(memory.rung.empty());
  EXPECT_EQ(memory.lines[0][0], header.bits);
  EXPECT_EQ(memory.words[0][0], 5u);
  EXPECT_EQ(cursor.round<Load::kOneWord>(memory, value, add, 0), TestCursor::Round::kLate);
  EXPECT_EQ(value, 5u);
  memory.words[1][0] = 20;
  memory.lines[1][0] = header.bits;
  ASSERT_EQ(cursor.round<Load::kOneWord>(memory, value, add, 0), TestCursor::Round::kMore);
  EXPECT_EQ(memory.words[2][0], 25u);
  EXPECT_EQ(memory.lines[2][0], header.bits);
  EXPECT_TRUE(memory.rung.empty());
  cursor.ring_again(memory);
  EXPECT_EQ(memory.rung, std::vector<const Step*>{&program[2]});
  memory.words[3][0] = 100;
  memory.lines[3][0] = header.bits;
  EXPECT_EQ(cursor.round<Load::kOneWord>(memory, value, add, 0), TestCursor::Round::kOver);
  EXPECT_EQ(value, 125u);
  EXPECT_EQ(memory.rung.size(), 1u);
}

Status add_line(void* to, const std::uint64_t* left, const std::uint64_t* right, std::uint32_t words) {
  for (std::uint32_t i = 0; i < words; ++i) static_cast<std::uint64_t*>(to)[i] = left[i] + right[i];
  return Status::kOk;
}

TEST(Rounds, SeveralWordsInPartsOfARound) {
  const Step program[] = {step(Code::kSend, 0), step(Code::kAwait, 1), step(Code::kSend, 2),
                          step(Code::kAwait, 3), step(Code::kEnd, 0)};
  ASSERT_TRUE(goes_in_rounds<Load::kWords>(program));
  constexpr std::uint64_t kEpisode = 9, kTag = 3;
  const Header header = Header::of(kEpisode, kTag);
  Memory memory;
  TestCursor cursor;
  std::uint64_t mine[2] = {5, 6}, result[2] = {};
  const TestCursor::PreparedSignal signal = TestCursor::prepare_signal(memory, program, kEpisode, kTag);
  TestCursor::send_prepared(signal, mine, sizeof mine);
  cursor.follow(memory, program, kEpisode, signal.header);
  EXPECT_EQ(memory.lines[0][0], header.bits);
  EXPECT_EQ(memory.words[0][0], 5u);
  EXPECT_EQ(memory.words[0][1], 6u);
  memory.lines[1][0] = Header::of(kEpisode, kTag + 1).bits;
  EXPECT_FALSE(cursor.await_words(0)) << "the signal is of another call";
  memory.words[1][0] = 20, memory.words[1][1] = 30;
  memory.lines[1][0] = header.bits;
  ASSERT_TRUE(cursor.await_words(0));
  EXPECT_FALSE(cursor.is_last_round());
  EXPECT_EQ(cursor.fold_words(mine, mine, add_line, 2), Status::kOk);
  cursor.send_words(memory, mine, 2);
  EXPECT_EQ(memory.words[2][0], 25u);
  EXPECT_EQ(memory.words[2][1], 36u);
  EXPECT_EQ(memory.lines[2][0], header.bits);
  EXPECT_TRUE(memory.rung.empty());
  cursor.ring_again(memory);
  EXPECT_EQ(memory.rung, std::vector<const Step*>{&program[2]});
  EXPECT_FALSE(cursor.await_words(0));
  memory.words[3][0] = 100, memory.words[3][1] = 200;
  memory.lines[3][0] = header.bits;
  ASSERT_TRUE(cursor.await_words(0));
  EXPECT_TRUE(cursor.is_last_round());
  EXPECT_EQ(cursor.fold_words(result, mine, add_line, 2), Status::kOk);
  EXPECT_EQ(result[0], 125u);
  EXPECT_EQ(result[1], 236u);
  EXPECT_EQ(mine[0], 25u);
}

}  // namespace
}  // namespace fermata::exec
