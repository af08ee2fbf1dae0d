// The link delays that are kept, of lines that carry their send time.
#include "exec/link_delays.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace fermata::exec {
namespace {

constexpr std::int64_t kMicro = 1000, kMilli = 1'000'000, kStart = 1'000'000'000'000;

struct Free {
  void operator()(LinkDelays* arrivals) const { free(arrivals); }
};

struct LinkDelaysOf : testing::Test {
  std::unique_ptr<LinkDelays, Free> arrivals{LinkDelays::make(3)};
  std::int64_t now = kStart;
  LinkDelaysOf() { arrivals->look(now); }
  // Looks `unseen_ns` after the last look, and finds a line that is `late_ns` old.
  void land(std::uint32_t host, std::int64_t unseen_ns, std::int64_t late_ns, bool probe = false) {
    arrivals->look(now += unseen_ns);
    arrivals->note(host, late_ns, probe);
  }
  std::int64_t least(std::uint32_t host) const { return arrivals->least_late_ns(host, now); }
};

TEST_F(LinkDelaysOf, TheLeastOfTheLastEightCounts) {
  EXPECT_EQ(least(1), LinkDelays::kUnknown);
  land(1, kMicro, 100 * kMicro);
  EXPECT_EQ(least(1), 100 * kMicro);
  EXPECT_EQ(least(2), LinkDelays::kUnknown);
  for (int i = 0; i < 7; ++i) land(1, kMicro, 900 * kMicro - i);
  EXPECT_EQ(least(1), 100 * kMicro) << "a link with some late lines is not slow";
  land(1, kMicro, 900 * kMicro);
  EXPECT_EQ(least(1), 900 * kMicro - 6) << "a link with only late lines is slow";
}

TEST_F(LinkDelaysOf, ClocksMayDiffer) {
  land(0, kMicro, -5'000'000 * kMilli);
  land(0, kMicro, -5'000'000 * kMilli + 7);
  EXPECT_EQ(least(0), -5'000'000 * kMilli);
}

TEST_F(LinkDelaysOf, WhoDidNotLookMakesNoLinkSlow) {
  land(1, 3 * kMilli, 3 * kMilli);
  EXPECT_EQ(least(1), LinkDelays::kUnknown);
  land(1, kMilli, 4 * kMilli);
  EXPECT_EQ(least(1), 4 * kMilli) << "a waiter looks once in a millisecond";
}

TEST_F(LinkDelaysOf, OldOnesDontCountSinceClocksDrift) {
  land(1, kMicro, 100 * kMicro);
  now += 1500 * kMilli;
  EXPECT_EQ(least(1), LinkDelays::kUnknown);
  arrivals->look(now);
  land(1, kMicro, 300 * kMicro);
  EXPECT_EQ(least(1), 300 * kMicro);
}

TEST_F(LinkDelaysOf, ProbesAreCountedWheneverTheyAreSeen) {
  land(2, 5 * kMilli, kMilli, true);
  land(2, kMicro, kMilli, false);
  land(2, kMicro, kMilli, true);
  land(3, kMicro, kMilli, true);  // an unknown host
  EXPECT_EQ(arrivals->probes(2), 2u);
  EXPECT_EQ(arrivals->probes(1), 0u);
}

}  // namespace
}  // namespace fermata::exec
