// Differing lengths when some member is late or has left: every call has the right result, and no member
// waits forever.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "../../soon.hpp"
#include "lengths.hpp"

namespace fermata::test {
namespace {

// A member that comes so late that the others' calls are forgotten learns the lengths from their data, on a
// line or in blocks.
TEST(Lengths, OfCallsLongAgoAreSettledByWhatHasCome) {
  constexpr int kLengthsOf[][2] = {{10, 100}, {100, 3}, {10, 3}, {300, 200}};  // {theirs, own}
  constexpr int kCalls = 20;
  for (const auto& [theirs, own] : kLengthsOf)
    with_members(kThree, [&](fermata_member* m, int rank) {
      ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
      fermata_member_set_timeout(m, 20);
      lives_on(m);
      const bool late = rank == 2;
      if (late) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      for (int i = 0; i < kCalls; ++i) {
        const int count = late && i == 0 ? own : theirs;
        Numbers data(static_cast<std::size_t>(count), rank == 0 ? i : kGuard);
        const int status = fermata_broadcast(m, data.data(), data.size() * sizeof data[0], 0);
        ASSERT_EQ(status, count < theirs ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
            << "rank " << rank << ", call " << i << ", " << own << " for " << theirs << ": "
            << fermata_error_detail();
        for (int k = 0; k < count; ++k) ASSERT_EQ(data[static_cast<std::size_t>(k)], k < theirs ? i : kGuard);
      }
      lives_on(m);
    });
}

// A begun call expects blocks, but its data came on a line, and a later call's piece lies in its place.
TEST(Lengths, OfABegunCallBehindWhichMoreHasCome) {
  for (const bool folds : {false, true})
    with_members(kThree, [&](fermata_member* m, int rank) {
      ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
      fermata_member_set_timeout(m, 20);
      lives_on(m);
      const bool late = rank == (folds ? 0 : 2);
      if (late) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      Numbers first(late ? 100 : 10, rank == 0 || folds ? 1 : kGuard), second(100, first[0]),
          sums[] = {first, second};
      fermata_request* requests[2] = {};
      for (int i = 0; i < 2; ++i) {
        Numbers& data = i == 0 ? first : second;
        const fermata_operation o =
            folds ? operation(FERMATA_REDUCE, data.data(), sums[i].data(), data.size(), FERMATA_INT32, 0)
                  : operation(FERMATA_BROADCAST, nullptr, data.data(), data.size(), FERMATA_INT32, 0);
        ASSERT_EQ(fermata_begin(m, &o, &requests[i]), FERMATA_OK) << fermata_error_detail();
      }
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(fermata_request_wait(requests[i]), FERMATA_OK)
            << "rank " << rank << ", " << i << ": " << fermata_error_detail();
        const Numbers& got = folds ? sums[i] : i == 0 ? first : second;
        if (late || !folds) {
          EXPECT_EQ(got[0], folds ? kThree : 1) << i;
        }
        fermata_request_free(requests[i]);
      }
      lives_on(m);
    });
}

// Members that have done their part leave at once; their data lie where the other member does not expect
// them.
TEST(Lengths, OfThoseThatHaveLeft) {
  constexpr int kLengthsOf[][2] = {{14, 15}, {15, 14}, {10, 3}, {3, 300}};  // the others', the odd member's
  for (const auto& [theirs, own] : kLengthsOf)
    for (const bool folds : {false, true})
      for (const int wait_ms : {0, 150})
        with_members(kThree, [&](fermata_member* m, int rank) {
          ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
          fermata_member_set_timeout(m, 20);
          lives_on(m);
          const bool odd = rank == (folds ? 0 : 2);
          // rank 2 gives or gets
          if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
          Numbers data(static_cast<std::size_t>(odd ? own : theirs), rank == 0 || folds ? 1 : kGuard),
              out(data);
          const int status =
              folds ? fermata_reduce(m, data.data(), out.data(), data.size(), FERMATA_INT32, FERMATA_SUM, 0)
                    : fermata_broadcast(m, data.data(), data.size() * sizeof data[0], 0);
          EXPECT_EQ(status, odd && own < theirs ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
              << "rank " << rank << ", " << own << " for " << theirs << ", folds " << folds << ", " << wait_ms
              << " ms: " << fermata_error_detail();
        });
}

// Two requests begun at once: the others send on two lines, and leave.
TEST(Lengths, OfSeveralOfThoseThatHaveLeft) {
  with_members(kThree, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    fermata_member_set_timeout(m, 20);
    lives_on(m);
    constexpr std::size_t kGiven[] = {10, 1};
    Numbers in(100, 1), out[] = {Numbers(100, kGuard), Numbers(100, kGuard)};
    fermata_request* requests[2] = {};
    for (int i = 0; i < 2 && rank == 0; ++i) {
      const fermata_operation o =
          operation(FERMATA_REDUCE, in.data(), out[i].data(), in.size(), FERMATA_INT32, 0);
      ASSERT_EQ(fermata_begin(m, &o, &requests[i]), FERMATA_OK) << fermata_error_detail();
    }
    for (int i = 0; i < 2; ++i) {
      const int status =
          rank == 0 ? fermata_request_wait(requests[i])
                    : fermata_reduce(m, in.data(), nullptr, kGiven[i], FERMATA_INT32, FERMATA_SUM, 0);
      EXPECT_EQ(status, FERMATA_OK) << "rank " << rank << ", " << i << ": " << fermata_error_detail();
      if (rank == 0) {
        EXPECT_EQ(out[i][0], kThree) << i;
      }
      fermata_request_free(requests[i]);
    }
  });
}

// A giver leaves before it gives. The root reports it lost, although a later call's piece has come and
// others' lengths differ.
TEST(Lengths, OfOneThatLeftBefore) {
  with_members(kThree, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    fermata_member_set_timeout(m, 20);
    lives_on(m);
    if (rank == 2) return;
    Numbers in(100, 1), out(100, kGuard);
    if (rank == 1) {
      fermata_reduce(m, in.data(), nullptr, 10, FERMATA_INT32, FERMATA_SUM, 0);
      fermata_broadcast(m, in.data(), in.size() * sizeof in[0], 1);
      return;
    }
    fermata_request* request = nullptr;
    const fermata_operation o = operation(FERMATA_REDUCE, in.data(), out.data(), in.size(), FERMATA_INT32, 0);
    ASSERT_EQ(fermata_begin(m, &o, &request), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(fermata_request_wait(request), FERMATA_ERR_MEMBER_LOST) << fermata_error_detail();
    EXPECT_NE(std::string(fermata_error_detail()).find("rank 2"), std::string::npos)
        << fermata_error_detail();
    fermata_request_free(request);
  });
}

// The members' placement is reviewed after a call that one member made on blocks and the others on a line.
TEST(Lengths, ThatDifferLeaveTheReviewToAll) {
  with_members(kThree, [&](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    fermata_member_set_timeout(m, 20);
    Numbers data(rank == 2 ? 100 : 10, rank);
    ASSERT_EQ(fermata_broadcast(m, data.data(), data.size() * sizeof data[0], 0), FERMATA_OK)
        << fermata_error_detail();
    for (int i = 0; i < 5000; ++i) {
      std::int32_t own = i, most = -1;
      ASSERT_EQ(
          i % 2 == 0 ? fermata_barrier(m) : fermata_allreduce(m, &own, &most, 1, FERMATA_INT32, FERMATA_MAX),
          FERMATA_OK)
          << i << ": " << fermata_error_detail();
      if (i % 2 != 0) {
        ASSERT_EQ(most, i);
      }
    }
  });
}

// A member that resumes a call after which nobody reviews makes no review either.
TEST(Lengths, ThatMayDifferLeaveNoReviewToWhoeverResumes) {
  std::atomic<bool> gave_up{false};
  with_members(kThree, [&](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    fermata_member_set_timeout(m, 20);
    constexpr int kCalls = 4300, kLate = 4200;  // after the first review
    bool timed_out = false;
    for (int i = 0; i < kCalls; ++i) {
      Numbers data(i % 2 == 0 ? 250 : 10, rank == 0 ? i : kGuard);
      if (i == kLate && rank == 0) {
        EXPECT_TRUE(is_soon([&] { return gave_up.load(); }));
      }
      if (i == kLate && rank == 1) fermata_member_set_timeout(m, 0.01);
      int status = fermata_broadcast(m, data.data(), data.size() * sizeof data[0], 0);
      timed_out = timed_out || status == FERMATA_ERR_TIMEOUT;
      if (timed_out) gave_up = true;
      fermata_member_set_timeout(m, 20);
      if (status == FERMATA_ERR_TIMEOUT) status = fermata_resume(m);
      ASSERT_EQ(status, FERMATA_OK) << "rank " << rank << ", " << i << ": " << fermata_error_detail();
      ASSERT_EQ(data[9], i);
    }
    EXPECT_EQ(timed_out, rank == 1);
    lives_on(m);
  });
}

// A member that comes so late that the others' calls are forgotten does not wait for an answer that nobody
// sends.
TEST(Lengths, OfCallsLongAgoAreNotAwaited) {
  constexpr int kCalls = 40;
  for (const bool folds : {false, true})
    with_members(kThree, [&](fermata_member* m, int rank) {
      ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
      lives_on(m);
      const bool late = rank == (folds ? 0 : 2);
      if (late) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      int status = FERMATA_OK;
      for (int i = 0; i < kCalls && status == FERMATA_OK; ++i) {
        Numbers data(late ? 3 : 10, rank), out(data.size());
        status = folds
                     ? fermata_reduce(m, data.data(), out.data(), data.size(), FERMATA_INT32, FERMATA_SUM, 0)
                     : fermata_broadcast(m, data.data(), data.size() * sizeof data[0], 0);
        if (late && i == 0) {
          EXPECT_EQ(status, FERMATA_ERR_TRUNCATED) << fermata_error_detail();
        }
        if (status == FERMATA_ERR_TRUNCATED) status = FERMATA_OK;
      }
      EXPECT_EQ(status, FERMATA_OK) << "rank " << rank << ": " << fermata_error_detail();
    });
}

// One giver comes long after the others' first signals: that is no difference. The same with an outstanding
// reduce of another length before it.
TEST(Lengths, AreSettledWhenTheLastHasCome) {
  constexpr int kLengthsOf[][2] = {{10, 3}, {3, 10}, {300, 200}, {30000, 100}};
  int late = 0;
  const auto comes_late = [&](auto&& body) {
    late = 3 - std::max(late, 1);  // 2 and 1 in turn
    with_members(kThree, [&](fermata_member* m, int rank) {
      ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
      lives_on(m);
      if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      body(m, rank);
      lives_on(m);
    });
  };
  const auto reduce = [](int rank, const Numbers& in, Numbers& out) {
    return operation(FERMATA_REDUCE, in.data(), rank == 0 ? out.data() : nullptr, in.size(), FERMATA_INT32,
                     0);
  };
  for (const auto& [sent, room] : kLengthsOf) {
    const auto outcome = [sent = sent, room = room](int rank) {
      return rank == 0 && sent > room ? FERMATA_ERR_TRUNCATED : FERMATA_OK;
    };
    const auto numbers = [sent = sent, room = room](int rank) {
      return Numbers(static_cast<std::size_t>(rank == 0 ? room : sent), 1);
    };
    for (const Form form : {kSmallOnLines, kBlocks, kBlocking})
      comes_late([&](fermata_member* m, int rank) {
        const Numbers in = numbers(rank);
        Numbers out(in.size(), kGuard);
        ASSERT_EQ(done(m, reduce(rank, in, out), form), outcome(rank))
            << "form " << form << ": " << fermata_error_detail();
        for (std::size_t i = 0; rank == 0 && i < out.size(); ++i)
          ASSERT_EQ(out[i], i < static_cast<std::size_t>(sent) ? kThree : kGuard) << sent << " sent";
      });
    comes_late([&](fermata_member* m, int rank) {
      const Numbers in = numbers(rank);
      Numbers out(in.size() * kThree, kGuard);
      ASSERT_EQ(fermata_gather(m, in.data(), out.data(), in.size(), FERMATA_INT32, 0), outcome(rank))
          << fermata_error_detail();
    });
    comes_late([&](fermata_member* m, int rank) {
      const Numbers in = numbers(rank);
      Numbers first(in.size(), kGuard), second(in.size(), kGuard);
      fermata_request* request = nullptr;
      const fermata_operation o = reduce(rank, in, first);
      ASSERT_EQ(fermata_begin(m, &o, &request), FERMATA_OK) << fermata_error_detail();
      ASSERT_EQ(done(m, reduce(rank, in, second), kBlocking), outcome(rank)) << fermata_error_detail();
      ASSERT_EQ(fermata_request_wait(request), outcome(rank)) << fermata_error_detail();
      fermata_request_free(request);
    });
  }
}

// The last member does not come. A member that has seen another length waits for it as for any other, and no
// longer.
TEST(Lengths, AreNotAwaitedForEver) {
  for (const bool leaves : {false, true})
    for (const auto collective : {FERMATA_REDUCE, FERMATA_GATHER})
      for (const int sent : {10, 30000}) {
        std::atomic<bool> told{false};
        with_members(kThree, [&](fermata_member* m, int rank) {
          ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
          lives_on(m);
          if (rank == 2) {
            while (!leaves && !told.load()) std::this_thread::yield();
            return;
          }
          const Numbers in(static_cast<std::size_t>(rank == 0 ? 3 : sent), 1);
          Numbers out(in.size() * kThree, kGuard);
          const fermata_operation o =
              operation(collective, in.data(), out.data(), in.size(), FERMATA_INT32, 0);
          if (rank == 0 && !leaves) fermata_member_set_timeout(m, 0.3);
          const int status = done(m, o, kBlocking);
          if (rank == 0) {
            EXPECT_EQ(status, leaves ? FERMATA_ERR_MEMBER_LOST : FERMATA_ERR_TIMEOUT)
                << "collective " << collective << ", " << sent << " sent: " << fermata_error_detail();
            const char* const named = leaves ? "rank 2" : "";
            EXPECT_NE(std::string(fermata_error_detail()).find(named), std::string::npos)
                << fermata_error_detail();
            told = true;
          }
          while (!told.load()) std::this_thread::yield();  // a member that left could be reported, too
        });
      }
}

// The first call is begun on blocks, the second uses its line, and a late member finds the third one's piece
// first.
TEST(Lengths, OfABegunOneBehindWhichTwoHaveCome) {
  with_members(kThree, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    fermata_member_set_timeout(m, 20);
    for (int round = 0; round < 20; ++round) {
      lives_on(m);
      Numbers first(rank == 2 ? 100 : 10, rank == 0 ? 1 : kGuard), second(10, rank == 0 ? 2 : kGuard),
          third(100, rank == 0 ? 3 : kGuard);
      const auto begin = [&](Numbers& data, fermata_request** request) {
        const fermata_operation o =
            operation(FERMATA_BROADCAST, nullptr, data.data(), data.size(), FERMATA_INT32, 0);
        ASSERT_EQ(fermata_begin(m, &o, request), FERMATA_OK) << fermata_error_detail();
      };
      fermata_request *of_first = nullptr, *of_third = nullptr;
      if (rank == 2) {
        begin(first, &of_first);
        if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      } else {
        ASSERT_EQ(fermata_broadcast(m, first.data(), first.size() * sizeof first[0], 0), FERMATA_OK)
            << fermata_error_detail();
      }
      ASSERT_EQ(fermata_broadcast(m, second.data(), second.size() * sizeof second[0], 0), FERMATA_OK)
          << rank << ": " << fermata_error_detail();
      begin(third, &of_third);
      if (rank == 2) {
        ASSERT_EQ(fermata_request_wait(of_first), FERMATA_OK) << fermata_error_detail();
      }
      ASSERT_EQ(fermata_request_wait(of_third), FERMATA_OK) << rank << ": " << fermata_error_detail();
      EXPECT_EQ(first[9], 1);
      EXPECT_EQ(second[9], 2);
      EXPECT_EQ(third[99], 3);
      fermata_request_free(of_first);
      fermata_request_free(of_third);
    }
  });
}

// The root begins its first call on blocks, but the data come on a line; its second call finds that line, and
// must still end after the first one.
TEST(Lengths, OfACallBehindABegunOneOnItsLine) {
  with_members(kThree, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    fermata_member_set_timeout(m, 20);
    lives_on(m);
    Numbers begun(100, 1), first(100, kGuard), given(rank == 0 ? 3 : 10, 1), second(given.size(), kGuard);
    fermata_request* request = nullptr;
    if (rank == 0) {
      const fermata_operation o =
          operation(FERMATA_REDUCE, begun.data(), first.data(), begun.size(), FERMATA_INT32, 0);
      ASSERT_EQ(fermata_begin(m, &o, &request), FERMATA_OK) << fermata_error_detail();
    } else {
      if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      ASSERT_EQ(fermata_reduce(m, begun.data(), nullptr, 10, FERMATA_INT32, FERMATA_SUM, 0), FERMATA_OK)
          << fermata_error_detail();
      if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    }
    const int status =
        fermata_reduce(m, given.data(), second.data(), given.size(), FERMATA_INT32, FERMATA_SUM, 0);
    EXPECT_EQ(status, rank == 0 ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
        << "rank " << rank << ": " << fermata_error_detail();
    if (rank == 0) {
      EXPECT_EQ(fermata_request_wait(request), FERMATA_OK) << fermata_error_detail();
      EXPECT_EQ(first[9], kThree);
      EXPECT_EQ(first[10], kGuard);
      EXPECT_EQ(second, Numbers(3, kThree));
    }
    fermata_request_free(request);
    lives_on(m);
  });
}

}  // namespace
}  // namespace fermata::test
