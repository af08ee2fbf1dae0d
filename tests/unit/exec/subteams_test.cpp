// The sub-teams of a port: their numbers, and which of them gets a line.
#include "exec/subteams.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace fermata::exec {
namespace {

// Ports are never used here, so any address serves.
TeamPort* port(std::size_t n) {
  alignas(64) static char ports[3][64];
  return reinterpret_cast<TeamPort*>(ports[n]);
}
TeamPort* lands_in(Subteams& subteams, std::uint32_t number) {
  TeamPort* found = nullptr;
  subteams.land_in(number, [&](TeamPort& port) { found = &port; });
  return found;
}

TEST(Subteams, NumbersGrow) {
  Subteams subteams;
  EXPECT_EQ(subteams.next_number(), 1U);
  subteams.see_number(7);
  EXPECT_EQ(subteams.next_number(), 8U);
  subteams.see_number(3);
  EXPECT_EQ(subteams.next_number(), 8U);
}

TEST(Subteams, TheLargestNumberOfAllThreadsCounts) {
  Subteams subteams;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&subteams, t] {
      for (std::uint32_t n = t; n < 4000; n += 4) subteams.see_number(n);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(subteams.next_number(), 4000U);
}

TEST(Subteams, EachIsFoundByItsNumberUntilItIsRemoved) {
  Subteams subteams;
  Subteams::Entry entries[3];
  for (std::uint32_t i = 0; i < 3; ++i) {
    entries[i] = {.port = port(i), .number = 10 + i};
    subteams.add(entries[i]);
  }
  EXPECT_EQ(lands_in(subteams, 9), nullptr);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(lands_in(subteams, 10 + i), port(i)) << i;
  subteams.remove(entries[1]);
  EXPECT_EQ(lands_in(subteams, 11), nullptr);
  EXPECT_EQ(lands_in(subteams, 10), port(0));
  EXPECT_EQ(lands_in(subteams, 12), port(2));
  subteams.remove(entries[2]);
  subteams.remove(entries[0]);
  EXPECT_EQ(lands_in(subteams, 10), nullptr);
}

// Otherwise a line could land in a segment that is unmapped.
TEST(Subteams, NoneIsRemovedWhileALineLands) {
  Subteams subteams;
  Subteams::Entry entry{.port = port(0), .number = 1};
  subteams.add(entry);
  std::atomic<bool> removed{false};
  std::thread remover;
  subteams.land_in(1, [&](TeamPort&) {
    remover = std::thread([&] {
      subteams.remove(entry);
      removed = true;
    });
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    EXPECT_FALSE(removed);
  });
  remover.join();
  EXPECT_TRUE(removed);
}

}  // namespace
}  // namespace fermata::exec
