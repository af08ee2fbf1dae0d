// Barriers of every shape: nobody leaves before all have arrived, exactly one arrival is the last, and data
// written before are seen after.
#include <random>

#include "workers.hpp"

namespace fermata::anonymous {
namespace {

constexpr int kScale = FERMATA_TEST_SCALE;

// `threads` members meet `episodes` times. The data are plain: ThreadSanitizer finds a race, this test a
// wrong value.
void check_meetings(int threads, int episodes, const Shape& shape, int most_delay = 0) {
  const Owned barrier = make(static_cast<std::uint32_t>(threads), shape);
  std::vector<std::uint64_t> written(static_cast<std::size_t>(threads) * 16);
  std::atomic<int> lasts{0};
  std::atomic<int> wrong{0};
  run_threads(threads, [&](int t) {
    std::minstd_rand random(static_cast<unsigned>(t) + 1);
    t_domain = static_cast<std::uint32_t>(t);
    for (int e = 1; e <= episodes; ++e) {
      if (most_delay > 0)
        for (auto n = random() % static_cast<unsigned>(most_delay); n > 0; --n) RealAtomics::pause();
      written[static_cast<std::size_t>(t) * 16 + e % 2] = static_cast<std::uint64_t>(e);
      if (meet(*barrier)) lasts.fetch_add(1);
      for (int other = 0; other < threads; ++other)
        if (written[static_cast<std::size_t>(other) * 16 + e % 2] != static_cast<std::uint64_t>(e))
          wrong.fetch_add(1);
    }
  });
  EXPECT_EQ(wrong.load(), 0) << threads << " threads, " << shape.leaves << " leaves";
  EXPECT_EQ(lasts.load(), episodes) << threads << " threads, " << shape.leaves << " leaves";
}

TEST(Meet, EveryCountOnOneWord) {
  for (int n = 1; n <= 33; ++n) check_meetings(n, 300 / kScale + 3, {});
}

TEST(Meet, EveryCountWithAPhaseOfItsOwn) {
  for (int n = 1; n <= 33; ++n) check_meetings(n, 200 / kScale + 3, {.completion = true});
}

TEST(Meet, EveryCountInATree) {
  for (const std::uint32_t leaves : {2U, 3U, 7U, 8U, 9U, 64U}) {
    for (int n = 1; n <= 33; n += n < 20 ? 1 : 5)
      check_meetings(n, 60 / kScale + 3,
                     {.completion = n % 2 == 0, .leaves = leaves, .entry = forced_domain});
  }
}

// All arrive in one domain: arrivals beyond its leaf's share go to the neighbours' leaves, else the phase
// would never end.
TEST(Meet, EveryCountAtOneLeaf) {
  for (const std::uint32_t leaves : {2U, 3U, 9U}) {
    for (const int n : {2, 3, 8, 9, 20, 33})
      check_meetings(n, 60 / kScale + 3,
                     {.completion = n % 2 == 0, .leaves = leaves, .entry = [] { return 0U; }});
  }
}

TEST(Meet, WithRandomDelays) {
  for (const int n : {2, 5, 16}) {
    check_meetings(n, 1000 / kScale, {}, 100);
    check_meetings(n, 1000 / kScale, {.leaves = 3, .entry = forced_domain}, 100);
  }
}

TEST(Meet, ManyMoreThreadsThanCpus) {
  check_meetings(200, 20 / kScale + 2, {});
  check_meetings(200, 20 / kScale + 2, {.leaves = 12, .entry = forced_domain});
}

// More threads than the count: each phase takes any threads, and no arrival is lost. Arrivals are taken from
// a common stock, a multiple of the count: with a fixed number per thread, the last threads might not fill a
// phase.
void check_strangers(std::uint32_t count, int threads, std::uint32_t phases, const Shape& shape) {
  const Owned barrier = make(count, shape);
  std::atomic<std::int64_t> stock{std::int64_t{count} * phases};
  std::atomic<std::uint32_t> lasts{0};
  std::atomic<std::uint32_t> entered{0};
  std::atomic<int> wrong{0};
  run_threads(threads, [&](int t) {
    t_domain = static_cast<std::uint32_t>(t);
    while (stock.fetch_sub(1) > 0) {
      entered.fetch_add(1);
      if (!meet(*barrier)) continue;
      // so many phases at least: read before the arrivals
      const std::uint32_t filled = lasts.fetch_add(1) + 1;
      if (entered.load() < filled * count) wrong.fetch_add(1);
    }
  });
  EXPECT_EQ(lasts.load(), phases);
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Meet, MoreThreadsThanTheCount) {
  for (const Shape& shape :
       {Shape{}, Shape{.leaves = 2, .entry = forced_domain}, Shape{.leaves = 5, .entry = forced_domain}}) {
    check_strangers(2, 4, 1000 / kScale, shape);
    check_strangers(3, 6, 1000 / kScale, shape);
    check_strangers(3, 4, 1000 / kScale, shape);
    check_strangers(4, 12, 500 / kScale, shape);
    check_strangers(1, 3, 1000 / kScale, shape);
  }
}

TEST(Meet, SeveralArrivalsAtOnce) {
  const Owned barrier = make(5);
  const Arrival three = barrier->arrive(3);
  EXPECT_FALSE(three.last);
  const Arrival two = barrier->arrive(2);
  EXPECT_TRUE(two.last);
  EXPECT_EQ(three.token, two.token);
  barrier->wait(three.token);
  const Arrival many = barrier->arrive(12);  // two phases and two arrivals of a third one
  EXPECT_TRUE(many.last);
  EXPECT_FALSE(is_over(barrier->domain(0).phase, many.token));
  const Arrival rest = barrier->arrive(3);
  EXPECT_TRUE(rest.last);
  EXPECT_EQ(rest.token, many.token);
}

TEST(Meet, SeveralArrivalsAtOnceInATree) {
  const Owned barrier = make(20, {.leaves = 3, .entry = forced_domain});
  const Arrival most = barrier->arrive(19);
  EXPECT_FALSE(most.last);
  const Arrival filling = barrier->arrive(21);
  EXPECT_TRUE(filling.last);
  barrier->wait(most.token);
  barrier->wait(filling.token);
  EXPECT_GT(filling.token, most.token);
}

}  // namespace
}  // namespace fermata::anonymous
