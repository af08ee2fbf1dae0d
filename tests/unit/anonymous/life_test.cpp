// The life of a barrier: creation, destruction, reuse of its memory; slow leavers, shrinking counts; and
// division.
#include <set>

#include "anonymous/divide.hpp"
#include "anonymous/machine.hpp"
#include "workers.hpp"

namespace fermata::anonymous {
namespace {

constexpr int kScale = FERMATA_TEST_SCALE;

TEST(Divisor, IsExact) {
  std::uint64_t seed = 1;
  for (int i = 0; i < 2000; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t d = i < 100 ? static_cast<std::uint64_t>(i) + 1 : (seed >> 33) % (1U << 30) + 1;
    const Divisor divisor(d);
    for (const std::uint64_t n : {std::uint64_t{0}, d - 1, d, d + 1, seed, ~std::uint64_t{0},
                                  ~std::uint64_t{0} / d * d, ~std::uint64_t{0} / d * d - 1, seed >> 20})
      ASSERT_EQ(divisor.quotient(n), n / d) << n << " / " << d;
  }
}

TEST(Life, ManyAtOnceHaveMemoryOfTheirOwn) {
  std::vector<Owned> all;
  std::set<Barrier*> places;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    all.push_back(make(i % 7 + 1, {.completion = i % 3 == 0, .leaves = i % 5 == 0 ? 4U : 0U}));
    places.insert(all.back().get());
  }
  EXPECT_EQ(places.size(), all.size());
}

TEST(Life, MemoryIsUsedAgain) {
  std::set<Barrier*> places;
  for (int i = 0; i < 5000; ++i) places.insert(make(3).get());
  EXPECT_LT(places.size(), 10U);
}

// The first thread that returns destroys the barrier and makes the next one, mostly in the same memory, while
// others are leaving.
void check_destroy_while_leaving(int threads, int rounds, const std::vector<Shape>& shapes) {
  std::vector<std::atomic<Barrier*>> barriers(static_cast<std::size_t>(rounds) + 1);
  const auto shape_of = [&](int round) { return shapes[static_cast<std::size_t>(round) % shapes.size()]; };
  barriers[0] = make(static_cast<std::uint32_t>(threads), shape_of(0)).release();
  std::vector<std::atomic<int>> returned(static_cast<std::size_t>(rounds));
  run_threads(threads, [&](int t) {
    t_domain = static_cast<std::uint32_t>(t);
    for (std::size_t r = 0; r < static_cast<std::size_t>(rounds); ++r) {
      Barrier* b = nullptr;
      while ((b = barriers[r].load()) == nullptr) std::this_thread::yield();
      meet(*b);
      if (returned[r].fetch_add(1) != 0) continue;
      b->destroy();
      barriers[r + 1].store(
          make(static_cast<std::uint32_t>(threads), shape_of(static_cast<int>(r) + 1)).release());
    }
  });
  barriers[static_cast<std::size_t>(rounds)].load()->destroy();
}

TEST(Life, DestroyedByTheFirstWhoReturns) {
  const Shape tree{.leaves = 3, .entry = forced_domain};
  const Shape completion_tree{.completion = true, .leaves = 4, .entry = forced_domain};
  for (const int n : {2, 3, 8}) {
    check_destroy_while_leaving(n, 2000 / kScale, {{}});
    check_destroy_while_leaving(n, 1000 / kScale, {{.completion = true}});
    check_destroy_while_leaving(n, 1000 / kScale, {tree});
    check_destroy_while_leaving(n, 1000 / kScale, {tree, {}, completion_tree, {.completion = true}});
  }
}

TEST(Life, ThreadsMakeAndDestroyAtOnce) {
  run_threads(4, [](int) {
    for (std::uint32_t i = 0; i < 5000 / kScale; ++i) {
      const Owned barrier = make(1, {.completion = i % 2 == 1, .leaves = i % 3 == 0 ? 2U : 0U});
      for (int e = 0; e < 3; ++e) EXPECT_TRUE(meet(*barrier));
    }
  });
}

TEST(Life, AnAbandonedPhaseDoesNotReachTheNextBarrier) {
  for (const Shape& shape :
       {Shape{}, Shape{.completion = true}, Shape{.leaves = 3, .entry = forced_domain}}) {
    make(5, shape)->arrive(3);
    const Owned next = make(2, shape);
    EXPECT_FALSE(next->arrive(1).last);
    EXPECT_TRUE(meet(*next));
  }
}

// A slow waiter may read its phase's word after the memory became another barrier's. Its phase must stay
// over, whatever the new barrier counts to. A word that fell to a multiple below it would hold the waiter
// forever.
TEST(Life, WhatWasOverStaysSoInTheNextBarrier) {
  for (std::uint32_t before = 1; before <= 9; ++before) {
    for (std::uint32_t after = 1; after <= 9; ++after) {
      Owned old = make(before);
      const Phase<RealAtomics>* const place = &old->domain(0).phase;
      Arrival last;
      for (int phase = 0; phase < 5; ++phase) last = old->arrive(before);
      ASSERT_TRUE(is_over(*place, last.token));
      old.reset();
      const Owned next = make(after);
      ASSERT_EQ(&next->domain(0).phase, place) << "the test needs the same memory";
      EXPECT_TRUE(is_over(*place, last.token)) << before << " then " << after;
      const Arrival first = next->arrive(1);
      EXPECT_EQ(first.last, after == 1) << before;
      EXPECT_EQ(is_over(*place, first.token), after == 1) << before << " then " << after;
      EXPECT_TRUE(after == 1 || next->arrive(after - 1).last) << before << " then " << after;
    }
  }
}

TEST(Life, CountsShrink) {
  for (const std::uint32_t leaves : {1U, 3U, 9U}) {
    const Owned barrier = make(12, {.completion = true, .leaves = leaves, .entry = forced_domain});
    for (std::uint32_t left = 12; left > 0; --left) {
      Arrival last;
      for (std::uint32_t i = 1; i < left; ++i) {
        last = barrier->arrive(1);
        ASSERT_FALSE(last.last);
      }
      last = barrier->drop();
      ASSERT_TRUE(last.last);
      EXPECT_FALSE(is_over(barrier->domain(0).phase, last.token));
      barrier->release(last.token);
      barrier->wait(last.token);
    }
  }
}

TEST(Life, CountsShrinkOnOneWord) {
  for (std::uint32_t count = 1; count <= 9; ++count) {
    const Owned barrier = make(count);
    for (std::uint32_t left = count; left > 0; --left) {
      for (int phase = 0; phase < 3; ++phase) {
        Arrival arrival;
        for (std::uint32_t i = 1; i < left; ++i) {
          arrival = barrier->arrive(1);
          ASSERT_FALSE(is_over(barrier->domain(0).phase, arrival.token)) << count << " " << left;
        }
        arrival = phase < 2 ? barrier->arrive(1) : barrier->drop();
        EXPECT_TRUE(arrival.last);
        barrier->wait(arrival.token);
      }
    }
  }
}

// Threads leave one after the other while the others continue; the last one is alone.
void check_dropping_threads(int threads, const Shape& shape) {
  const Owned barrier = make(static_cast<std::uint32_t>(threads), shape);
  std::vector<std::uint64_t> written(static_cast<std::size_t>(threads) * 16);
  std::atomic<int> wrong{0};
  run_threads(threads, [&](int t) {
    t_domain = static_cast<std::uint32_t>(t);
    const int episodes = 20 * (t + 1);
    for (int e = 1; e <= episodes; ++e) {
      written[static_cast<std::size_t>(t) * 16 + e % 2] = static_cast<std::uint64_t>(e);
      if (e == episodes) {
        const Arrival arrival = barrier->drop();
        if (arrival.last && barrier->has_completion()) barrier->release(arrival.token);
        return;
      }
      meet(*barrier);
      for (int other = 0; other < threads; ++other) {
        if (e <= 20 * (other + 1) &&
            written[static_cast<std::size_t>(other) * 16 + e % 2] != static_cast<std::uint64_t>(e))
          wrong.fetch_add(1);
      }
    }
  });
  EXPECT_EQ(wrong.load(), 0) << threads;
}

TEST(Life, ThreadsDropOneAfterTheOther) {
  for (int round = 0; round < 20 / kScale + 1; ++round) {
    for (const int threads : {1, 2, 3, 5, 9, 16}) {
      check_dropping_threads(threads, {});
      check_dropping_threads(threads, {.completion = true});
      check_dropping_threads(threads, {.completion = threads % 2 == 0, .leaves = 3, .entry = forced_domain});
    }
  }
}

TEST(Life, AReleaseComesAfterTheStepBeforeIt) {
  const Owned barrier = make(6, {.completion = true, .leaves = 2, .entry = forced_domain});
  int steps = 0;  // plain: the completer writes it, all read it after the release
  run_threads(6, [&](int t) {
    t_domain = static_cast<std::uint32_t>(t);
    for (int e = 1; e <= 500 / kScale; ++e) {
      const Arrival arrival = barrier->arrive(1);
      if (arrival.last) {
        ++steps;
        barrier->release(arrival.token);
      }
      barrier->wait(arrival.token);
      EXPECT_EQ(steps, e);
    }
  });
}

TEST(AnonymousStanding, CountsWhoIsMissing) {
  for (const std::uint32_t leaves : {0u, 3u}) {
    for (const bool completion : {false, true}) {
      Shape shape;
      shape.completion = completion;
      shape.leaves = leaves;
      Barrier* barrier = nullptr;
      ASSERT_EQ(Barrier::create(7, shape, &barrier), Status::kOk);
      Arrival arrival;
      for (std::uint32_t arrived = 1; arrived < 7; ++arrived) {
        arrival = barrier->arrive(1);
        const Standing standing = barrier->standing(arrival.token);
        EXPECT_EQ(standing.name, barrier);
        EXPECT_EQ(standing.count, 7u);
        EXPECT_EQ(standing.missing, 7 - arrived) << leaves << " leaves";
      }
      const Arrival last = barrier->arrive(1);
      EXPECT_TRUE(last.last);
      if (completion) barrier->release(last.token);
      EXPECT_EQ(barrier->standing(last.token).missing, 0u);
      barrier->destroy();
    }
  }
}

// While each member has a CPU, waiters spin longer before they do anything else.
TEST(Life, MoreMembersThanCpusSpinLess) {
  ASSERT_EQ(wait_kind(), WaitKind::kAuto) << "FERMATA_WAIT is not to be set";
  EXPECT_EQ(choose_spins(2, {2, 2}), choose_spins(1, {2, 2}));
  EXPECT_EQ(choose_spins(2, {2, 1}), choose_spins(1, {2, 2})) << "a quota takes no CPU away";
  EXPECT_LT(choose_spins(3, {2, 2}), choose_spins(2, {2, 2}));
}

}  // namespace
}  // namespace fermata::anonymous
