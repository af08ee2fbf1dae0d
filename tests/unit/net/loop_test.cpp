// The in-process transport keeps the contract of src/net/net.hpp over links that delay, reorder and lose
// lines.
#include "../../loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "sync/landing.hpp"

namespace fermata::net {
namespace {

struct Slot {
  std::atomic<std::uint64_t> header{0};
  std::uint64_t payload[kLineWords] = {};
  template <class Bring>
  bool take(std::uint64_t newer, std::uint32_t words, const std::uint64_t* from, Bring&& bring) {
    return land<RealAtomics>(
        header, [this](std::uint32_t i) -> std::uint64_t& { return payload[i]; }, newer, words, from, bring);
  }
};

// The memory behind a window: slots, and how often each was written.
struct Memory {
  Slot slots[8];
  unsigned char bytes[8][kMostBlock] = {};
  std::uint32_t landed = 0, refused = 0;

  Window window() { return {reinterpret_cast<std::byte*>(slots), sizeof slots, land_here, this}; }
  static void land_here(void* self, const Line* line, const Block* block) {
    auto& m = *static_cast<Memory*>(self);
    Slot& slot = m.slots[line->offset / sizeof(Slot)];
    const auto bring = [&] {
      if (block != nullptr) std::memcpy(m.bytes[block->offset], block->from, block->bytes);
    };
    ++(slot.take(line->header, line->words, line->payload, bring) ? m.landed : m.refused);
  }
};

Line line_for(std::uint32_t to, std::uint32_t slot, std::uint64_t header) {
  Line line{.offset = slot * sizeof(Slot), .header = header, .to = to, .words = kLineWords};
  for (std::uint32_t i = 0; i < kLineWords; ++i) line.payload[i] = header * 10 + i;
  return line;
}

std::size_t block_bytes(std::uint64_t n) { return 1 + n * 977 % kMostBlock; }

// Waits until `there` holds, or 20 s.
template <class There>
bool comes(const std::vector<const Port*>& ports, There&& there) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    for (const Port* p : ports) p->progress(p->self);
    if (there()) return true;
  }
  return false;
}

void open(const Port* port, Memory& memory) {
  const Window window = memory.window();
  ASSERT_EQ(port->open(port->self, &window), 0);
  EXPECT_EQ(port->open(port->self, &window), static_cast<int>(Status::kBusy)) << "a port has one window";
}

constexpr std::int64_t kMicro = 1000;
constexpr std::int64_t kLong = 10'000'000'000;

// A clock that only looks at it advance, so that what overtakes what does not depend on the machine.
std::int64_t steps() {
  static std::atomic<std::int64_t> ns{0};
  return ns.fetch_add(2 * kMicro);
}

struct Links : testing::TestWithParam<LoopOptions> {};

// Every slot keeps the newest line written to it, whatever the link does, and each line is seen at most once.
TEST_P(Links, TheNewestLineOfASlotStays) {
  LoopOptions options = GetParam();
  options.now = steps;
  Loop loop({0, 1}, options);
  Memory here, there;
  open(loop.port(0), here);
  open(loop.port(1), there);
  constexpr std::uint64_t kLines = 400;
  for (std::uint64_t n = 1; n <= kLines; ++n) {
    const Line line = line_for(1, n % 8, n);
    const std::vector<unsigned char> bytes(block_bytes(n), static_cast<unsigned char>(n));
    const Block block{n % 8, bytes.size(), bytes.data()};
    loop.port(0)->write(loop.port(0)->self, &line, n % 3 == 0 ? nullptr : &block);
    if (n % 16 == 0) loop.port(1)->progress(loop.port(1)->self);
  }
  const auto newest_there = [&] {
    for (std::uint64_t n = kLines - 7; n <= kLines; ++n)
      if (there.slots[n % 8].header != n) return false;
    return true;
  };
  ASSERT_TRUE(comes({loop.port(0), loop.port(1)}, newest_there));
  std::atomic<bool> closed{false};
  std::thread other([&] {
    while (!closed) loop.port(1)->progress(loop.port(1)->self);
  });
  loop.port(0)->close(loop.port(0)->self, kLong);
  closed = true;
  other.join();
  for (std::uint64_t n = kLines - 7; n <= kLines; ++n) {
    EXPECT_EQ(there.slots[n % 8].header, n);
    for (std::uint32_t i = 0; i < kLineWords; ++i) EXPECT_EQ(there.slots[n % 8].payload[i], n * 10 + i);
    // The data that came with a line are there, and no data of an older line that came later.
    for (std::size_t i = 0; n % 3 != 0 && i < block_bytes(n); ++i)
      ASSERT_EQ(there.bytes[n % 8][i], n % 256) << n << ", byte " << i;
  }
  EXPECT_EQ(here.landed, 0u);
  EXPECT_LE(there.landed, kLines);
  const Loop::Counts counts = loop.counts();
  if (GetParam().lost > 0) {
    EXPECT_GT(counts.lost, 0u);
    EXPECT_GT(counts.repeats, 0u);
  }
  if (GetParam().held > 0 || GetParam().lost > 0) {
    EXPECT_GT(there.refused, 0u) << "nothing came late or twice: the test shows nothing";
  }
  // repeats were still under way
  EXPECT_TRUE(comes({loop.port(1)}, [&] { return loop.port(1)->is_gone(loop.port(1)->self, 0) != 0; }));
  EXPECT_FALSE(loop.port(0)->is_gone(loop.port(0)->self, 1));
}

INSTANTIATE_TEST_SUITE_P(
    All, Links,
    testing::Values(
        LoopOptions{}, LoopOptions{.delay_ns = 200 * kMicro},
        LoopOptions{.delay_ns = 50 * kMicro, .jitter_ns = 100 * kMicro, .held = 0.2},
        LoopOptions{.delay_ns = 20 * kMicro, .lost = 0.3, .seed = 7},
        LoopOptions{.delay_ns = 20 * kMicro, .jitter_ns = 50 * kMicro, .held = 0.1, .lost = 0.2, .seed = 3}));

TEST(Loop, NothingComesBeforeItsTime) {
  Loop loop({0, 1}, {.delay_ns = 5'000'000});
  Memory there;
  open(loop.port(1), there);
  const auto start = std::chrono::steady_clock::now();
  const Line line = line_for(1, 0, 1);
  loop.port(0)->write(loop.port(0)->self, &line, nullptr);
  ASSERT_TRUE(comes({loop.port(1)}, [&] { return there.slots[0].header == 1; }));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(5));
}

TEST(Loop, WhoDiesIsGoneOnceWhatItSentIsThere) {
  Loop loop({0, 0, 1}, {.delay_ns = 2'000'000});
  Memory there;
  open(loop.port(0), there);
  const Line line = line_for(1, 3, 5);
  loop.port(1)->write(loop.port(1)->self, &line, nullptr);
  loop.kill(1);
  EXPECT_FALSE(loop.port(0)->is_gone(loop.port(0)->self, 2)) << "a line is still under way";
  ASSERT_TRUE(comes({loop.port(0)}, [&] { return loop.port(0)->is_gone(loop.port(0)->self, 2) != 0; }));
  EXPECT_EQ(there.slots[3].header, 5u);
  loop.port(1)->write(loop.port(1)->self, &line, nullptr);  // the port is closed
  EXPECT_TRUE(loop.port(0)->is_gone(loop.port(0)->self, 2));
}

TEST(Loop, NothingLandsAtWhoIsDead) {
  Loop loop({0, 1}, {});
  Memory here, there;
  open(loop.port(0), here);
  open(loop.port(1), there);
  const Line line = line_for(1, 0, 1);
  loop.port(0)->write(loop.port(0)->self, &line, nullptr);
  for (int look = 0; look < 10; ++look) {  // the line arrives
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    loop.port(0)->progress(loop.port(0)->self);
  }
  loop.kill(1);
  loop.port(1)->progress(loop.port(1)->self);
  EXPECT_EQ(there.landed, 0u);
}

TEST(Loop, WhoNeverAnswersIsGivenUp) {
  Loop loop({0, 1, 2}, {.repeat_ns = 500 * kMicro, .patience = 20});
  Memory here, there;
  open(loop.port(0), here);
  open(loop.port(1), there);
  loop.cut(0, 1);
  const Line line = line_for(1, 0, 1);
  loop.port(0)->write(loop.port(0)->self, &line, nullptr);
  ASSERT_TRUE(
      comes({loop.port(0), loop.port(1)}, [&] { return loop.port(0)->is_gone(loop.port(0)->self, 1) != 0; }));
  EXPECT_EQ(there.landed, 0u);
  EXPECT_FALSE(loop.port(0)->is_gone(loop.port(0)->self, 2)) << "another link";
  loop.port(0)->close(loop.port(0)->self, kLong);  // does not wait for the lost link
}

// However long its process was stopped.
TEST(Loop, WhoAnswersIsNotGivenUp) {
  Loop loop({0, 1}, {.delay_ns = 20 * kMicro, .repeat_ns = 100 * kMicro, .patience = 3});
  Memory here, there;
  open(loop.port(0), here);
  open(loop.port(1), there);
  const Line line = line_for(1, 0, 1);
  loop.port(0)->write(loop.port(0)->self, &line, nullptr);
  for (int look = 0; look < 10; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    loop.port(0)->progress(loop.port(0)->self);
    ASSERT_FALSE(loop.port(0)->is_gone(loop.port(0)->self, 1)) << look;
  }
  loop.port(1)->progress(loop.port(1)->self);
  EXPECT_EQ(there.landed, 1u);
}

TEST(Landing, HeadersWrapAround) {
  Slot slot;
  slot.header = ~std::uint64_t{0} - 1;
  const std::uint64_t one[] = {1}, two[] = {2};
  EXPECT_TRUE(slot.take(3, 1, one, [] {}));
  EXPECT_FALSE(slot.take(~std::uint64_t{0}, 1, two, [] {}));
  EXPECT_FALSE(slot.take(3, 1, two, [] {}));
  EXPECT_EQ(slot.header, 3u);
  EXPECT_EQ(slot.payload[0], 1u);
}

}  // namespace
}  // namespace fermata::net
