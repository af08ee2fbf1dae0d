// The C++ headers' requests: moved, continued, awaited, persistent. An error in one is thrown where it is
// waited for.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "workers.hpp"

namespace {

using fermata::in_place;
using fermata::Member;
using fermata::Op;
using fermata::Request;
using fermata::Task;

constexpr std::size_t kLong = 40'000;
constexpr int kRounds = 20 / FERMATA_TEST_SCALE + 1;

class Requests : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, Requests, testing::Values(1, 2, 3));

static_assert(std::is_nothrow_move_constructible_v<Request> && !std::is_copy_constructible_v<Request>);

// The sum of the ranks.
double sum_of(const Member& m) { return m.size() * (m.size() - 1) / 2.0; }

TEST_P(Requests, GoOnWhereverTheyAre) {
  with_team(GetParam(), [](Member& m) {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> a(kLong, m.rank()), b(3, m.rank());
      std::vector<Request> requests;
      requests.push_back(m.begin(fermata::allreduce(in_place, a, Op::kSum)));
      requests.emplace_back();
      requests.push_back(m.begin(fermata::allreduce(in_place, b, Op::kSum)));
      m.barrier();
      if (round % 2 == 0) {
        fermata::wait_all(requests);
      } else {
        for (int left = 2; left > 0; --left) {
          std::optional<std::size_t> any;
          if (round % 4 == 1) any = fermata::wait_any(requests);
          else
            while (!any) any = fermata::test_any(requests);
          EXPECT_TRUE(*any == 0 || *any == 2);
          requests[*any] = Request();
        }
      }
      EXPECT_EQ(a, std::vector<double>(kLong, sum_of(m)));
      EXPECT_EQ(b, std::vector<double>(3, sum_of(m)));
    }
  });
}

TEST_P(Requests, AreWaitedForWhenTheyGo) {
  with_team(GetParam(), [](Member& m) {
    std::vector<double> a(kLong, m.rank());
    std::vector<double> b = a;
    {
      const Request gone = m.begin(fermata::allreduce(in_place, a, Op::kSum));
      Request replaced = m.begin(fermata::allreduce(in_place, b, Op::kSum));
      replaced = Request();
      EXPECT_EQ(b, std::vector<double>(kLong, sum_of(m)));
    }
    EXPECT_EQ(a, std::vector<double>(kLong, sum_of(m)));
  });
}

TEST_P(Requests, ContinueAlongABuffer) {
  with_team(GetParam(), [](Member& m) {
    constexpr std::size_t kParts = 9, kPart = 3000;
    std::vector<double> data(kParts * kPart, m.rank());
    std::size_t part = 0;
    Request sum = m.prepare(fermata::allreduce(in_place, std::span(data).first(kPart), Op::kSum));
    int others = 0;
    sum.then([&](int status) {
      EXPECT_EQ(status, FERMATA_OK);
      if (++part < kParts) sum.reset(in_place, std::span(data).subspan(part * kPart, kPart)).start();
    });
    sum.then([&](int) { ++others; });
    sum.start();
    while (m.progress(std::chrono::microseconds(20))) {
    }
    EXPECT_EQ(part, kParts);
    EXPECT_EQ(others, static_cast<int>(kParts));
    EXPECT_EQ(data, std::vector<double>(data.size(), sum_of(m)));
    std::vector<double> small(2);
    EXPECT_THROW(sum.reset(in_place, small), std::invalid_argument);
    EXPECT_THROW(sum.reset(in_place, std::span(reinterpret_cast<float*>(data.data()), kPart)),
                 std::invalid_argument);
  });
}

// A continuation cannot wait, so the destructor returns, and the operation ends later.
TEST_P(Requests, MayGoInAContinuation) {
  with_team(GetParam(), [](Member& m) {
    std::vector<double> a(kLong, 1), b(kLong, m.rank());
    int ends = 0, own_ends = 0;
    Request first = m.prepare(fermata::allreduce(in_place, a, Op::kSum));
    Request again = m.prepare(fermata::allreduce(in_place, a, Op::kSum));
    first.then([&](int) {
      Request gone = m.begin(fermata::allreduce(in_place, b, Op::kSum));
      gone.then([&](int status) { ends += status == FERMATA_OK ? 1 : 100; });
    });
    first.start().wait();
    while (m.progress()) {
    }
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(b, std::vector<double>(kLong, sum_of(m)));
    again.then([&](int) {
      if (++own_ends == 1) again.start();
      again = Request();
    });
    again.start();
    while (m.progress()) {
    }
    EXPECT_EQ(own_ends, 2);
    EXPECT_EQ(a[0], m.size() * m.size() * m.size());
  });
}

// A forked child cannot wait for the parent's requests.
TEST(Request, OfTheParentMayGoInAForkedChild) {
  fermata::Team team(2);
  std::vector<Member> members;
  for (int rank = 0; rank < 2; ++rank) members.push_back(team.join(rank));
  std::vector<double> a(kLong, 1), b(kLong, 1);
  Request active = members[0].begin(fermata::allreduce(in_place, a, Op::kSum));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    active = Request();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  members[1].begin(fermata::allreduce(in_place, b, Op::kSum)).wait();
  active.wait();
  EXPECT_EQ(a, b);
}

TEST_P(Requests, ThrowWhatContinuationsThrew) {
  with_team(GetParam(), [](Member& m) {
    std::vector<double> a(kLong, 1);
    Request r = m.prepare(fermata::allreduce(in_place, a, Op::kSum));
    r.then([](int) { throw std::domain_error("mine"); });
    r.start();
    EXPECT_THROW(r.wait(), std::domain_error);
    EXPECT_NO_THROW(r.wait());
    Request begun = m.begin(fermata::allreduce(in_place, a, Op::kSum));
    begun.wait();
    int at_once = 0;
    begun.then([&](int status) { at_once = status + 1; });
    EXPECT_EQ(at_once, 1);
    const double once = a[0];
    begun.start();  // the same operation again
    begun.wait();
    EXPECT_EQ(a[0], once * m.size());
  });
}

// A coroutine as a program may write it. Several run at the same time, so their operations are persistent.
struct Work {
  Work(Member& its_member, std::size_t count, double value)
      : m(its_member),
        v(count, value),
        sum(m.prepare(fermata::allreduce(in_place, v, Op::kSum))),
        norm(m.prepare(fermata::allreduce(in_place, std::span(&squares, 1), Op::kSum))) {}
  Task<double> squares_of_all() {
    squares = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    co_await norm.start();
    co_return squares;
  }
  Task<> run() {
    for (int i = 0; i < 3; ++i) co_await sum.start();
    m.barrier();  // a coroutine may wait
    result = co_await squares_of_all();
  }
  Member& m;
  std::vector<double> v;
  double squares = 0, result = 0;
  Request sum, norm;
};

TEST_P(Requests, AreAwaitedByCoroutines) {
  with_team(GetParam(), [](Member& m) {
    for (int round = 0; round < kRounds; ++round) {
      Work a(m, kLong, 1), b(m, 5, 2);
      std::vector<Task<>> tasks;
      tasks.push_back(a.run());
      tasks.push_back(b.run());
      fermata::run(m, tasks);
      const double cube = m.size() * m.size() * m.size();
      EXPECT_EQ(a.v, std::vector<double>(kLong, cube));
      EXPECT_EQ(b.v, std::vector<double>(5, 2 * cube));
      EXPECT_EQ(a.result, kLong * cube * cube * m.size());
      EXPECT_EQ(b.result, 5 * 4 * cube * cube * m.size());
      EXPECT_EQ(fermata::run(m, b.squares_of_all()), b.result);
    }
  });
}

TEST_P(Requests, AreChained) {
  with_team(GetParam(), [](Member& m) {
    std::vector<double> in(kLong, 1), sums(kLong), back(kLong);
    std::vector<Request> links;
    links.push_back(m.prepare(fermata::allreduce(in, sums, Op::kSum)));
    int first = 0, whole = 0;
    links.front().then([&](int) { ++first; });
    links.push_back(m.prepare(fermata::allreduce(sums, back, Op::kSum)));
    Request chain = Request::chain(std::move(links));
    chain.then([&](int) { ++whole; });
    for (int round = 1; round <= kRounds; ++round) {
      in.assign(kLong, round);
      back.assign(kLong, 0);
      const auto task = [&]() -> Task<> { co_await chain.start(); };
      fermata::run(m, task());
      EXPECT_EQ(back, std::vector<double>(kLong, round * m.size() * m.size()));
      EXPECT_EQ(first, round);
      EXPECT_EQ(whole, round);
    }
    std::vector<double> other(kLong, 3);
    chain.reset(other, back).start().wait();
    EXPECT_EQ(back[kLong - 1], 3.0 * m.size() * m.size());
    EXPECT_THROW(chain.reset(std::vector<double>(2), back), std::invalid_argument);
    EXPECT_THROW(Request::chain({}), fermata::Error);
  });
}

TEST_P(Requests, ErrorsReachTheCoroutine) {
  const int members = GetParam();
  if (members == 1) return;
  std::atomic<int> caught{0};
  with_team(members, [&](Member& m) {
    std::vector<double> a(kLong, 1);
    if (m.rank() == 0) return;  // the member leaves
    const auto task = [&](Member& me) -> Task<int> {
      try {
        co_await me.begin(fermata::allreduce(in_place, a, Op::kSum));
      } catch (const fermata::Error& e) {
        co_return e.status();
      }
      co_return 0;
    };
    const int status = fermata::run(m, task(m));
    EXPECT_TRUE(status == FERMATA_ERR_MEMBER_LOST || status == FERMATA_ERR_BROKEN) << status;
    ++caught;
  });
  EXPECT_EQ(caught.load(), members - 1);
}

TEST_P(Requests, CoroutinesDestroyedWhileTheyWaitAreNotResumed) {
  with_team(GetParam(), [](Member& m) {
    std::vector<double> a(kLong, 1);
    Request r = m.prepare(fermata::allreduce(in_place, a, Op::kSum));
    int resumed = 0;
    const auto wait = [&]() -> Task<> {
      co_await r.start();
      ++resumed;
    };
    {
      Task<> gone = wait();
      gone.start();
    }
    const int before = resumed;  // 1 if it was over at once
    r.wait();
    while (m.progress()) {
    }
    EXPECT_EQ(resumed, before);
  });
}

}  // namespace
