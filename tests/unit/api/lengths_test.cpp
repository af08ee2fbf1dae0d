// Differing lengths in broadcasts, reduces and gathers. The member that gets the data takes as much as it has
// room for; the other members do not notice; and requests begun before and after are unaffected.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lengths.hpp"

namespace fermata::test {
namespace {

constexpr int kLengths[][2] = {{10, 3},  {3, 10},    {1, 2},     {2, 1},       {1, 14},       {3, 100},
                               {100, 3}, {300, 200}, {200, 300}, {30000, 100}, {20000, 70000}};

// The root sends `sent` numbers; the member of rank `other` has room for `room`.
void broadcasts(fermata_member* m, int rank, Form form) {
  for (const auto& [sent, room] : kLengths)
    for (int root = 0; root < kThree; ++root)
      for (int other = 0; other < kThree; ++other) {
        const int count = other == rank && other != root ? room : sent;
        Numbers data(static_cast<std::size_t>(count) + 1, kGuard);
        for (int i = 0; i < count && rank == root; ++i) data[static_cast<std::size_t>(i)] = root + i;
        const fermata_operation o = operation(FERMATA_BROADCAST, nullptr, data.data(),
                                              static_cast<size_t>(count), FERMATA_INT32, root);
        ASSERT_EQ(done(m, o, form), count < sent ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
            << "rank " << rank << ", " << sent << " sent by " << root << ", room for " << room << " at "
            << other << ": " << fermata_error_detail();
        int wrong = 0;
        for (int i = 0; i <= count; ++i)
          wrong += data[static_cast<std::size_t>(i)] != (i < std::min(count, sent) ? root + i : kGuard);
        ASSERT_EQ(wrong, 0) << "rank " << rank << ", " << sent << " sent by " << root << ", room for " << room
                            << " at " << other;
        lives_on(m);
      }
}

// The root has room for `room` numbers, the others give `sent`.
void reduces(fermata_member* m, int rank, Form form, bool in_place) {
  for (const auto& [sent, room] : kLengths)
    for (int root = 0; root < kThree; ++root) {
      const int count = rank == root ? room : sent;
      Numbers in(static_cast<std::size_t>(count)), out(static_cast<std::size_t>(count) + 1, kGuard);
      for (int i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = 10 * rank + i;
      if (in_place) std::copy(in.begin(), in.end(), out.begin());
      const void* const given = in_place && rank == root ? FERMATA_IN_PLACE : in.data();
      const fermata_operation o = operation(FERMATA_REDUCE, given, rank == root ? out.data() : nullptr,
                                            static_cast<size_t>(count), FERMATA_INT32, root);
      ASSERT_EQ(done(m, o, form), rank == root && sent > room ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
          << "rank " << rank << ", " << sent << " sent, room for " << room << " at " << root << ": "
          << fermata_error_detail();
      int wrong = 0;
      for (int i = 0; i <= count && rank == root; ++i)
        wrong += out[static_cast<std::size_t>(i)] != (i < std::min(count, sent) ? kThree * i + 30
                                                      : in_place && i < count   ? 10 * rank + i
                                                                                : kGuard);
      ASSERT_EQ(wrong, 0) << sent << " sent, room for " << room << " at " << root;
      lives_on(m);
    }
}

// The root has room for `room` numbers of each member; the others give `sent`.
void gathers(fermata_member* m, int rank, Form form, bool in_place) {
  for (const auto& [sent, room] : kLengths)
    for (int root = 0; root < kThree; ++root) {
      const int count = rank == root ? room : sent;
      const auto block = static_cast<std::size_t>(count);
      Numbers in(block), out(block * kThree + 1, kGuard);
      for (int i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = 100'000 * rank + i;
      if (in_place) std::copy(in.begin(), in.end(), out.begin() + static_cast<std::ptrdiff_t>(block) * rank);
      const void* const given = in_place && rank == root ? FERMATA_IN_PLACE : in.data();
      const fermata_operation o = operation(FERMATA_GATHER, given, out.data(), block, FERMATA_INT32, root);
      ASSERT_EQ(done(m, o, form), rank == root && sent > room ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
          << "rank " << rank << ", " << sent << " sent, room for " << room << " at " << root << ": "
          << fermata_error_detail();
      for (int r = 0; r < kThree && rank == root; ++r)
        for (int i = 0; i < std::min(sent, room); ++i)
          ASSERT_EQ(out[block * static_cast<std::size_t>(r) + static_cast<std::size_t>(i)], 100'000 * r + i)
              << "of rank " << r;
      EXPECT_EQ(out.back(), kGuard);
      lives_on(m);
    }
}

TEST(Lengths, OfBegunCallsOnLinesMayDiffer) {
  with_members(kThree, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    broadcasts(m, rank, kSmallOnLines);
    for (const bool in_place : {false, true}) reduces(m, rank, kSmallOnLines, in_place);
  });
}

TEST(Lengths, OfBegunBlocksMayDiffer) {
  with_members(kThree, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    broadcasts(m, rank, kBlocks);
    for (const bool in_place : {false, true}) reduces(m, rank, kBlocks, in_place);
  });
}

void blocking_calls_may_differ(Form form) {
  with_members(kThree, [form](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    broadcasts(m, rank, form);
    for (const bool in_place : {false, true}) {
      reduces(m, rank, form, in_place);
      gathers(m, rank, form, in_place);
    }
  });
}

TEST(Lengths, OfBlockingCallsMayDiffer) { blocking_calls_may_differ(kBlocking); }

// Small calls are made on blocks, too.
TEST(Lengths, OfExecutedCallsMayDiffer) { blocking_calls_may_differ(kExecuted); }

// One giver makes a different call, the other one does not come: the mismatch is reported without it.
TEST(Lengths, AreNotAwaitedWhereCallsDiffer) {
  for (const int sent : {10, 30000})
    for (const auto collective : {FERMATA_REDUCE, FERMATA_GATHER}) {
      std::atomic<bool> told{false};
      with_members(kThree, [&](fermata_member* m, int rank) {
        ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
        lives_on(m);
        if (rank != 1) {
          const Numbers in(static_cast<std::size_t>(rank == 0 ? 3 : sent), 1);
          Numbers out(in.size() * kThree, kGuard);
          fermata_operation o = operation(collective, in.data(), out.data(), in.size(), FERMATA_INT32, 0);
          if (rank == 2 && collective == FERMATA_REDUCE) o.op = FERMATA_MAX;
          if (rank == 2 && collective == FERMATA_GATHER) o.type = FERMATA_FLOAT;
          const int status = done(m, o, kBlocking);
          if (rank == 0) {
            EXPECT_EQ(status, FERMATA_ERR_MISMATCH)
                << "collective " << collective << ", " << sent << " sent: " << fermata_error_detail();
            told = true;
          }
        }
        while (!told.load()) std::this_thread::yield();
      });
    }
}

// Other calls, some with differing lengths, are outstanding before and after each one.
TEST(Lengths, DifferAmongSeveralThatAreOutstanding) {
  with_members(kThree, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    constexpr int kSent = 500, kOutstanding = 40;
    for (int round = 0; round < 20; ++round) {
      std::vector<Numbers> data(kOutstanding);
      std::vector<fermata_request*> requests(kOutstanding);
      for (int i = 0; i < kOutstanding; ++i) {
        const int root = i % 2;
        const int count = rank != root && i % 5 == 2 ? 400 + 50 * (i % 4) : kSent;
        Numbers& d = data[static_cast<std::size_t>(i)];
        d.assign(static_cast<std::size_t>(count) + 1, kGuard);
        for (int k = 0; k < count && rank == root; ++k) d[static_cast<std::size_t>(k)] = i + k;
        const fermata_operation o =
            operation(FERMATA_BROADCAST, nullptr, d.data(), static_cast<size_t>(count), FERMATA_INT32, root);
        ASSERT_EQ(fermata_begin(m, &o, &requests[static_cast<std::size_t>(i)]), FERMATA_OK)
            << fermata_error_detail();
      }
      for (int i = 0; i < kOutstanding; ++i) {
        const Numbers& d = data[static_cast<std::size_t>(i)];
        const int count = static_cast<int>(d.size()) - 1;
        ASSERT_EQ(fermata_request_wait(requests[static_cast<std::size_t>(i)]),
                  count < kSent ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
            << "request " << i << ": " << fermata_error_detail();
        fermata_request_free(requests[static_cast<std::size_t>(i)]);
        int wrong = 0;
        for (int k = 0; k <= count; ++k)
          wrong += d[static_cast<std::size_t>(k)] != (k < std::min(count, kSent) ? i + k : kGuard);
        ASSERT_EQ(wrong, 0) << "request " << i;
      }
      lives_on(m);
    }
  });
}

// The root sends its broadcast on a line, but the others expect it in blocks. The next calls use the same
// line and must not take that broadcast's data.
TEST(Lengths, OfALineThatOthersAwaitInBlocks) {
  with_members(kThree, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    for (const std::size_t sent : {2u, 10u})
      for (const std::size_t next : {2u, 9u}) {
        Numbers data(rank == 0 ? sent : 100, kGuard);
        for (std::size_t i = 0; i < sent && rank == 0; ++i) data[i] = static_cast<std::int32_t>(i);
        fermata_request* request = nullptr;
        if (rank == 0) {
          ASSERT_EQ(fermata_broadcast(m, data.data(), sent * sizeof data[0], 0), FERMATA_OK)
              << fermata_error_detail();
        } else {
          const fermata_operation o =
              operation(FERMATA_BROADCAST, nullptr, data.data(), data.size(), FERMATA_INT32, 0);
          ASSERT_EQ(fermata_begin(m, &o, &request), FERMATA_OK) << fermata_error_detail();
        }
        for (int i = 0; i < 5; ++i) {
          Numbers small(next, rank == 0 ? i : kGuard);
          ASSERT_EQ(fermata_broadcast(m, small.data(), next * sizeof small[0], 0), FERMATA_OK)
              << fermata_error_detail();
          ASSERT_EQ(small, Numbers(next, i));
        }
        if (rank != 0) {
          ASSERT_EQ(fermata_request_wait(request), FERMATA_OK) << fermata_error_detail();
        }
        fermata_request_free(request);
        for (std::size_t i = 0; i < data.size(); ++i)
          ASSERT_EQ(data[i], i < sent ? static_cast<std::int32_t>(i) : kGuard);
        lives_on(m);
      }
  });
}

// If all members give and get, no member can adapt to differing lengths. A member that only tests, and does
// not wait, learns of it as well, whether the others use the same line or not.
TEST(Lengths, ThatDifferAtAllShowToWhoeverOnlyTests) {
  for (const int bounded : {0, 1})
    for (const auto& [one, others] : {std::pair{10, 3}, std::pair{1, 10}})
      with_members(kThree, [&](fermata_member* m, int rank) {
        ASSERT_EQ(fermata_member_set_bounded(m, bounded), FERMATA_OK);
        const int count = rank == 1 ? one : others;
        Numbers in(static_cast<std::size_t>(count), 1), out(in);
        const fermata_operation o =
            operation(FERMATA_ALLREDUCE, in.data(), out.data(), in.size(), FERMATA_INT32, 0);
        ASSERT_EQ(fermata_arrive_with(m, &o), FERMATA_OK);
        while (fermata_test(m) == FERMATA_PENDING) std::this_thread::yield();
        EXPECT_EQ(fermata_depart(m), FERMATA_ERR_MISMATCH)
            << "rank " << rank << ", " << one << " and " << others;
      });
}

// Members that are not bounded don't adapt: if a member gets another length than it expects, all members get
// an error.
TEST(Lengths, OfMembersThatAreNotBoundedMustAgree) {
  for (const auto& [sent, room] : {std::pair{10, 3}, std::pair{3, 10}, std::pair{1, 10}, std::pair{10, 1}})
    for (const bool tests : {false, true})
      with_members(kThree, [&](fermata_member* m, int rank) {
        Numbers data(static_cast<std::size_t>(rank == 1 ? room : sent), kGuard);
        const fermata_operation o =
            operation(FERMATA_BROADCAST, nullptr, data.data(), data.size(), FERMATA_INT32, 0);
        int status = fermata_arrive_with(m, &o);
        ASSERT_EQ(status, FERMATA_OK);
        while (tests && fermata_test(m) == FERMATA_PENDING) std::this_thread::yield();
        status = fermata_depart(m);
        if (rank == 1) {
          EXPECT_EQ(status, FERMATA_ERR_MISMATCH) << sent << " sent, room for " << room;
          EXPECT_EQ(data, Numbers(data.size(), kGuard));
        }
        if (status == FERMATA_OK) status = fermata_barrier(m);
        EXPECT_EQ(status, FERMATA_ERR_MISMATCH)
            << "rank " << rank << ": " << sent << " sent, room for " << room;
      });
}

// One of the givers of a reduce has another length: no length fits all, in whatever order they come.
TEST(Lengths, OfThoseWhoGiveMustAgree) {
  for (const bool bounded : {false, true})
    for (const bool tests : {false, true})
      for (int other = 1; other < kThree; ++other)
        with_members(kThree, [&](fermata_member* m, int rank) {
          ASSERT_EQ(fermata_member_set_bounded(m, bounded), FERMATA_OK);
          const Numbers in(rank == other ? 10 : 3, rank);
          Numbers out(in.size(), kGuard);
          const fermata_operation o =
              operation(FERMATA_REDUCE, in.data(), out.data(), in.size(), FERMATA_INT32, 0);
          ASSERT_EQ(fermata_arrive_with(m, &o), FERMATA_OK);
          while (tests && fermata_test(m) == FERMATA_PENDING) std::this_thread::yield();
          int status = fermata_depart(m);
          if (rank == 0) {
            EXPECT_EQ(status, FERMATA_ERR_MISMATCH) << "rank " << other << " differs, bounded " << bounded;
            EXPECT_EQ(out, Numbers(out.size(), kGuard));
          }
          if (status == FERMATA_OK) status = fermata_barrier(m);
          EXPECT_EQ(status, FERMATA_ERR_MISMATCH)
              << "rank " << rank << ": rank " << other << " differs, bounded " << bounded;
        });
}

// Two of three members pass counts that agree for the others' own blocks: all members get an error, also the
// one for which everything fits.
TEST(Lengths, OfOneMembersCountsShowToAll) {
  for (const int bounded : {0, 1})
    for (const std::size_t scale : {1u, 3u, 5000u})
      for (const bool folds : {false, true})
        with_members(kThree, [&](fermata_member* m, int rank) {
          ASSERT_EQ(fermata_member_set_bounded(m, bounded), FERMATA_OK);
          std::size_t counts[kThree] = {scale, 2 * scale, 3 * scale};
          if (rank == 2) std::swap(counts[0], counts[1]);
          const Numbers in(6 * scale, 1);
          Numbers out(6 * scale, kGuard);
          const int status =
              folds ? fermata_reduce_scatterv(m, in.data(), counts, nullptr, out.data(), FERMATA_INT32,
                                              FERMATA_SUM)
                    : fermata_allgatherv(m, in.data(), out.data(), counts, nullptr, FERMATA_INT32);
          EXPECT_EQ(status, FERMATA_ERR_MISMATCH)
              << "rank " << rank << ", bounded " << bounded << ", scale " << scale << ", folds " << folds;
        });
}

}  // namespace
}  // namespace fermata::test
