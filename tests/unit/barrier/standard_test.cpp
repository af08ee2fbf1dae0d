// Each sentence of the standard's [thread.barrier] that a program can observe, tested on the standard
// library's barrier and on Fermata's. docs/conformance.md lists sentences and tests.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "fermata/barrier.hpp"

namespace {

struct Standard {
  template <class... F>
  using Barrier = std::barrier<F...>;
};
struct Ours {
  template <class... F>
  using Barrier = fermata::barrier<F...>;
};

template <class T>
struct BarrierTest : ::testing::Test {};
using Both = ::testing::Types<Standard, Ours>;
TYPED_TEST_SUITE(BarrierTest, Both);

template <class Work>
void run_threads(int threads, Work work) {
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(work, t);
  for (std::thread& t : workers) t.join();
}

// Long enough for a thread that does not block to go on.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

struct Count {
  int* runs;
  void operator()() noexcept { ++*runs; }
};

TYPED_TEST(BarrierTest, TypesAreAsRequired) {
  using Plain = typename TypeParam::template Barrier<>;
  using Counted = typename TypeParam::template Barrier<Count>;
  using Token = typename Plain::arrival_token;
  static_assert(!std::is_copy_constructible_v<Plain> && !std::is_copy_assignable_v<Plain>);
  static_assert(!std::is_move_constructible_v<Plain> && !std::is_move_assignable_v<Plain>);
  static_assert(!std::is_default_constructible_v<Plain>);
  static_assert(std::is_constructible_v<Plain, std::ptrdiff_t> &&
                !std::is_convertible_v<std::ptrdiff_t, Plain>);
  static_assert(std::is_constructible_v<Counted, std::ptrdiff_t, Count>);
  static_assert(std::is_move_constructible_v<Token> && std::is_move_assignable_v<Token> &&
                std::is_destructible_v<Token>);
  static_assert(!std::is_copy_constructible_v<Token> && !std::is_copy_assignable_v<Token>);
  static_assert(std::is_same_v<decltype(Plain::max()), std::ptrdiff_t> && noexcept(Plain::max()));
  static_assert(std::is_same_v<decltype(std::declval<Plain&>().arrive()), Token>);
  static_assert(std::is_same_v<decltype(std::declval<Plain&>().arrive(2)), Token>);
  static_assert(std::is_same_v<decltype(std::declval<const Plain&>().wait(std::declval<Token>())), void>);
  static_assert(std::is_same_v<decltype(std::declval<Plain&>().arrive_and_wait()), void>);
  static_assert(std::is_same_v<decltype(std::declval<Plain&>().arrive_and_drop()), void>);
  constexpr std::ptrdiff_t most = Plain::max();
  EXPECT_GE(most, 1 << 20);
}

TYPED_TEST(BarrierTest, TheFunctionIsDeduced) {
  int runs = 0;
  if constexpr (std::is_same_v<TypeParam, Ours>) {
    fermata::barrier deduced(1, Count{&runs});
    deduced.arrive_and_wait();
    fermata::barrier plain(1);
    plain.arrive_and_wait();
  } else {
    std::barrier deduced(1, Count{&runs});
    deduced.arrive_and_wait();
    std::barrier plain(1);
    plain.arrive_and_wait();
  }
  EXPECT_EQ(runs, 1);
}

TYPED_TEST(BarrierTest, OfNobodyCanBeDestroyed) {
  typename TypeParam::template Barrier<> barrier(0);
  int runs = 0;
  {
    typename TypeParam::template Barrier<Count> counted(0, Count{&runs});
  }
  EXPECT_EQ(runs, 0);
}

TYPED_TEST(BarrierTest, ThePhaseEndsWithTheLastOfTheExpected) {
  int runs = 0;
  typename TypeParam::template Barrier<Count> barrier(3, Count{&runs});
  for (int phase = 1; phase <= 4; ++phase) {
    auto first = barrier.arrive();
    EXPECT_EQ(runs, phase - 1);
    auto second = barrier.arrive();
    EXPECT_EQ(runs, phase - 1);
    barrier.arrive_and_wait();
    EXPECT_EQ(runs, phase);
    barrier.wait(std::move(first));
    barrier.wait(std::move(second));
  }
}

TYPED_TEST(BarrierTest, SeveralArrivalsAtOnceCountSo) {
  int runs = 0;
  typename TypeParam::template Barrier<Count> barrier(5, Count{&runs});
  auto three = barrier.arrive(3);
  EXPECT_EQ(runs, 0);
  auto two = barrier.arrive(2);
  EXPECT_EQ(runs, 1);
  barrier.wait(std::move(three));
  barrier.wait(std::move(two));
  auto all = barrier.arrive(5);
  EXPECT_EQ(runs, 2);
  barrier.wait(std::move(all));
}

TYPED_TEST(BarrierTest, SeveralArrivalsAtOnceWithoutAFunction) {
  typename TypeParam::template Barrier<> barrier(5);
  auto three = barrier.arrive(3);
  auto two = barrier.arrive(2);
  barrier.wait(std::move(three));
  barrier.wait(std::move(two));
  barrier.wait(barrier.arrive(5));
}

TYPED_TEST(BarrierTest, WaitBlocksUntilTheStepIsDone) {
  std::atomic<bool> step{false};
  std::atomic<bool> returned{false};
  const auto slow = [&]() noexcept {
    settle();
    EXPECT_FALSE(returned.load());
    step.store(true);
  };
  typename TypeParam::template Barrier<decltype(slow)> barrier(2, slow);
  std::thread waiter([&] {
    barrier.arrive_and_wait();
    EXPECT_TRUE(step.load());
    returned.store(true);
  });
  settle();
  EXPECT_FALSE(returned.load());
  barrier.arrive_and_wait();
  EXPECT_TRUE(step.load());
  waiter.join();
}

TYPED_TEST(BarrierTest, WaitWithoutAFunctionBlocksUntilAllHaveArrived) {
  std::atomic<bool> returned{false};
  typename TypeParam::template Barrier<> barrier(2);
  std::thread waiter([&] {
    barrier.wait(barrier.arrive());
    returned.store(true);
  });
  settle();
  EXPECT_FALSE(returned.load());
  auto token = barrier.arrive();
  waiter.join();
  barrier.wait(std::move(token));
}

TYPED_TEST(BarrierTest, WaitForThePrecedingPhaseReturnsAtOnce) {
  int runs = 0;
  typename TypeParam::template Barrier<Count> barrier(1, Count{&runs});
  auto before = barrier.arrive();
  barrier.wait(std::move(before));
  typename TypeParam::template Barrier<> plain(2);
  auto first = plain.arrive();
  plain.arrive_and_wait();
  auto next = plain.arrive();  // the next phase has begun
  plain.wait(std::move(first));
  plain.arrive_and_drop();
  plain.wait(std::move(next));
}

TYPED_TEST(BarrierTest, ArriveDoesNotBlockAndAnyThreadMayWaitWithTheToken) {
  typename TypeParam::template Barrier<> barrier(2);
  auto token = barrier.arrive();
  auto moved = std::move(token);
  std::thread other([&] { barrier.wait(std::move(moved)); });
  auto mine = barrier.arrive();
  mine = std::move(mine);
  other.join();
}

TYPED_TEST(BarrierTest, TheStepRunsOncePerPhaseOnAThreadThatArrived) {
  constexpr int kThreads = 5;
  constexpr int kPhases = 200;
  std::vector<std::thread::id> ran;
  std::vector<std::thread::id> workers(kThreads);
  const auto step = [&]() noexcept { ran.push_back(std::this_thread::get_id()); };
  typename TypeParam::template Barrier<decltype(step)> barrier(kThreads, step);
  run_threads(kThreads, [&](int t) {
    workers[static_cast<std::size_t>(t)] = std::this_thread::get_id();
    for (std::size_t phase = 1; phase <= kPhases; ++phase) {
      barrier.arrive_and_wait();
      EXPECT_GE(ran.size(), phase);  // plain data: the step runs before the returns
    }
  });
  ASSERT_EQ(ran.size(), static_cast<std::size_t>(kPhases));
  for (const auto& id : ran) EXPECT_NE(std::find(workers.begin(), workers.end(), id), workers.end());
}

TYPED_TEST(BarrierTest, ArrivalsComeBeforeTheStepAndTheStepBeforeTheReturns) {
  constexpr int kThreads = 4;
  std::vector<int> written(kThreads * 32);
  int sum = 0;
  const auto step = [&]() noexcept {
    sum = 0;
    for (int t = 0; t < kThreads; ++t) sum += written[static_cast<std::size_t>(t) * 32];
  };
  typename TypeParam::template Barrier<decltype(step)> barrier(kThreads, step);
  run_threads(kThreads, [&](int t) {
    for (int phase = 1; phase <= 500; ++phase) {
      written[static_cast<std::size_t>(t) * 32] = phase;
      barrier.arrive_and_wait();
      EXPECT_EQ(sum, kThreads * phase);
      barrier.arrive_and_wait();
    }
  });
}

TYPED_TEST(BarrierTest, ADropArrivesAndLowersLaterPhases) {
  int runs = 0;
  typename TypeParam::template Barrier<Count> barrier(3, Count{&runs});
  barrier.arrive_and_drop();
  EXPECT_EQ(runs, 0);
  auto a = barrier.arrive();
  auto b = barrier.arrive();
  EXPECT_EQ(runs, 1);
  barrier.wait(std::move(a));
  barrier.wait(std::move(b));
  auto c = barrier.arrive();
  barrier.arrive_and_drop();  // completes the phase: runs the step
  EXPECT_EQ(runs, 2);
  barrier.wait(std::move(c));
  barrier.arrive_and_wait();
  EXPECT_EQ(runs, 3);
  barrier.arrive_and_drop();
  EXPECT_EQ(runs, 4);
}

TYPED_TEST(BarrierTest, ADropWithoutAFunctionDoesSoToo) {
  typename TypeParam::template Barrier<> barrier(3);
  barrier.arrive_and_drop();
  auto a = barrier.arrive();
  barrier.wait(barrier.arrive());
  barrier.wait(std::move(a));
  auto b = barrier.arrive();
  barrier.arrive_and_drop();
  barrier.wait(std::move(b));
  barrier.arrive_and_wait();
  barrier.arrive_and_drop();
}

TYPED_TEST(BarrierTest, ThreadsMayDropWhileOthersGoOn) {
  constexpr int kThreads = 6;
  std::atomic<int> runs{0};
  const auto step = [&]() noexcept { runs.fetch_add(1); };
  typename TypeParam::template Barrier<decltype(step)> barrier(kThreads, step);
  typename TypeParam::template Barrier<> plain(kThreads);
  run_threads(kThreads, [&](int t) {
    for (int phase = 0; phase < 10 * (t + 1); ++phase) {
      barrier.arrive_and_wait();
      plain.arrive_and_wait();
    }
    barrier.arrive_and_drop();
    plain.arrive_and_drop();
  });
  EXPECT_EQ(runs.load(), 10 * kThreads + 1);
}

TYPED_TEST(BarrierTest, FunctionsMayBeMovedOnlyAndHaveState) {
  int seen = 0;
  struct Step {
    std::unique_ptr<int> own;
    int* out;
    int operator()() noexcept { return *out = ++*own; }
  };
  typename TypeParam::template Barrier<Step> barrier(1, Step{std::make_unique<int>(40), &seen});
  barrier.arrive_and_wait();
  barrier.arrive_and_wait();
  EXPECT_EQ(seen, 42);
}

int g_pointed = 0;
void pointed() noexcept { ++g_pointed; }

TYPED_TEST(BarrierTest, FunctionsMayBePointers) {
  g_pointed = 0;
  typename TypeParam::template Barrier<void (*)() noexcept> barrier(1, pointed);
  barrier.arrive_and_wait();
  EXPECT_EQ(g_pointed, 1);
}

TYPED_TEST(BarrierTest, WhatTheFunctionsMoveThrowsComesOut) {
  struct Moved {
    bool throws = false;
    explicit Moved(bool t) : throws(t) {}
    Moved(Moved&& other) : throws(other.throws) {
      if (throws) throw 7;
    }
    void operator()() noexcept {}
  };
  EXPECT_THROW((typename TypeParam::template Barrier<Moved>(2, Moved(true))), int);
}

// Fermata's barrier gives more than the standard; libstdc++'s waiters still read the barrier.
template <class Barrier>
void first_destroys(Barrier* (*make)()) {
  for (int round = 0; round < 500; ++round) {
    Barrier* const barrier = make();
    std::atomic<int> returned{0};
    run_threads(3, [&](int) {
      barrier->arrive_and_wait();
      if (returned.fetch_add(1) == 0) delete barrier;
    });
  }
}
TEST(Barrier, AThreadMayDestroyItOnceItsOwnWaitReturned) {
  first_destroys<fermata::barrier<>>([] { return new fermata::barrier<>(3); });
}
TEST(Barrier, AThreadMayDestroyOneWithAFunctionLikewise) {
  struct Nothing {
    void operator()() noexcept {}
  };
  first_destroys<fermata::barrier<Nothing>>([] { return new fermata::barrier<Nothing>(3); });
}

TEST(Barrier, ErrorsAreSystemErrors) {
  EXPECT_THROW(fermata::barrier<>(-1), std::system_error);
  EXPECT_THROW(fermata::barrier<>(fermata::barrier<>::max() + 1), std::system_error);
  fermata::barrier<> none(0);
  EXPECT_THROW(none.arrive_and_wait(), std::system_error);
  EXPECT_THROW(none.arrive_and_drop(), std::system_error);
  fermata::barrier<> one(1);
  EXPECT_THROW((void)one.arrive(0), std::system_error);
  EXPECT_THROW((void)one.arrive(-1), std::system_error);
}

TEST(Barrier, AnyCountUpToTheMost) {
  fermata::barrier<> most(fermata::barrier<>::max());
  auto token = most.arrive(fermata::barrier<>::max() - 1);
  most.wait(most.arrive());
  most.wait(std::move(token));
}

TEST(RankedBarrier, Meets) {
  constexpr std::uint32_t kMembers = 4;
  fermata::ranked_barrier barrier(kMembers);
  std::vector<int> written(kMembers * 32);
  run_threads(kMembers, [&](int rank) {
    for (int phase = 1; phase <= 200; ++phase) {
      written[static_cast<std::size_t>(rank) * 32 + static_cast<std::size_t>(phase % 2)] = phase;
      barrier.arrive_and_wait(static_cast<std::uint32_t>(rank));
      for (std::size_t other = 0; other < kMembers; ++other)
        EXPECT_EQ(written[other * 32 + static_cast<std::size_t>(phase % 2)], phase);
    }
  });
  EXPECT_THROW(barrier.arrive_and_wait(kMembers), std::system_error);
  EXPECT_THROW(fermata::ranked_barrier(0), std::system_error);
}

}  // namespace
