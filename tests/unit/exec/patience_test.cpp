// How long a call for progress waits for an answer: as long as answers take, and not at all if none comes.
#include "exec/patience.hpp"

#include <gtest/gtest.h>

namespace fermata::exec {
namespace {

TEST(Patience, WaitsTwiceAsLongAsAnswersTake) {
  Patience patience;
  EXPECT_EQ(patience.next_ns(), Patience::kMostNs);
  for (int i = 0; i < 100; ++i) patience.came(400);
  EXPECT_NEAR(static_cast<double>(patience.next_ns()), 800, 10);
  for (int i = 0; i < 100; ++i) patience.came(1);
  EXPECT_GT(patience.next_ns(), 100);
  for (int i = 0; i < 100; ++i) patience.came(1'000'000);
  EXPECT_EQ(patience.next_ns(), Patience::kMostNs);
}

TEST(Patience, WaitsInVainGetRare) {
  Patience patience;
  std::int64_t waited = 0;
  int waits = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t ns = patience.next_ns();
    if (ns == 0) continue;
    ++waits;
    waited += ns;
    patience.gave_up();
  }
  EXPECT_GT(waits, 100);
  EXPECT_LT(waited / 100'000, 20);
}

TEST(Patience, OneAnswerIsEnoughToTryAgain) {
  Patience patience;
  for (int i = 0; i < 100'000; ++i)
    if (patience.next_ns() != 0) patience.gave_up();
  int until = 0;
  while (patience.next_ns() == 0) ++until;
  EXPECT_LE(until, 1024);
  patience.came(200);
  for (int i = 0; i < 4; ++i) {
    EXPECT_GT(patience.next_ns(), 0);
    patience.gave_up();
  }
  until = 0;
  while (patience.next_ns() == 0) ++until;
  EXPECT_LE(until, 16);
}

}  // namespace
}  // namespace fermata::exec
