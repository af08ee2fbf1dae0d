// Lengths that differ in broadcasts and reduces that are begun: the member that gets the data takes what it has room for, all others know
// nothing of it, and what was begun before and after is as ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../../operation.hpp"
#include "../../with_members.hpp"

namespace {

constexpr int kMembers = 3;
constexpr int kGuard = -77;

using fermata::test::operation;
using Numbers = std::vector<std::int32_t>;

// As a program may begin it: on lines where it is small, or by way of blocks in any case.
enum Form { kSmallOnLines, kBlocks };

int done(fermata_member* m, const fermata_operation& o, Form form) {
  if (form == kSmallOnLines && o.count <= 14) {
    const int begun = fermata_arrive_with(m, &o);
    if (begun != FERMATA_OK) return begun;
    for (int i = 0; i < 3 && fermata_test(m) == FERMATA_PENDING; ++i) continue;
    return fermata_depart(m);
  }
  fermata_request* request = nullptr;
  int status = fermata_begin(m, &o, &request);
  if (status == FERMATA_OK) status = fermata_request_wait(request);
  fermata_request_free(request);
  return status;
}

void lives_on(fermata_member* m) {
  std::int32_t one = 1, sum = 0;
  ASSERT_EQ(fermata_allreduce(m, &one, &sum, 1, FERMATA_INT32, FERMATA_SUM), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(sum, kMembers);
  for (int root = 0; root < kMembers; ++root) {
    std::int32_t told = fermata_member_rank(m) == root ? root : -1;
    ASSERT_EQ(fermata_broadcast(m, &told, sizeof told, root), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(told, root);
  }
}

constexpr int kLengths[][2] = {{10, 3},  {3, 10},    {1, 2},     {2, 1},       {1, 14},       {3, 100},
                               {100, 3}, {300, 200}, {200, 300}, {30000, 100}, {20000, 70000}};

// The root has `sent` numbers, the one whose rank is `other` room for `room`.
void broadcasts(fermata_member* m, int rank, Form form) {
  for (const auto& [sent, room] : kLengths)
    for (int root = 0; root < kMembers; ++root)
      for (int other = 0; other < kMembers; ++other) {
        const int count = other == rank && other != root ? room : sent;
        Numbers data(static_cast<std::size_t>(count) + 1, kGuard);
        for (int i = 0; i < count && rank == root; ++i) data[static_cast<std::size_t>(i)] = root + i;
        const fermata_operation o = operation(FERMATA_DO_BROADCAST, nullptr, data.data(), static_cast<size_t>(count), FERMATA_INT32, root);
        ASSERT_EQ(done(m, o, form), count < sent ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
            << "rank " << rank << ", " << sent << " sent by " << root << ", room for " << room << " at " << other << ": "
            << fermata_error_detail();
        int wrong = 0;
        for (int i = 0; i <= count; ++i) wrong += data[static_cast<std::size_t>(i)] != (i < std::min(count, sent) ? root + i : kGuard);
        ASSERT_EQ(wrong, 0) << "rank " << rank << ", " << sent << " sent by " << root << ", room for " << room << " at " << other;
        lives_on(m);
      }
}

// The root has room for `room`, the others give `sent`.
void reduces(fermata_member* m, int rank, Form form) {
  for (const auto& [sent, room] : kLengths)
    for (int root = 0; root < kMembers; ++root) {
      const int count = rank == root ? room : sent;
      Numbers in(static_cast<std::size_t>(count)), out(static_cast<std::size_t>(count) + 1, kGuard);
      for (int i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = 10 * rank + i;
      const fermata_operation o =
          operation(FERMATA_DO_REDUCE, in.data(), rank == root ? out.data() : nullptr, static_cast<size_t>(count), FERMATA_INT32, root);
      ASSERT_EQ(done(m, o, form), rank == root && sent > room ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
          << "rank " << rank << ", " << sent << " sent, room for " << room << " at " << root << ": " << fermata_error_detail();
      int wrong = 0;
      for (int i = 0; i <= count && rank == root; ++i)
        wrong += out[static_cast<std::size_t>(i)] != (i < std::min(count, sent) ? kMembers * i + 30 : kGuard);
      ASSERT_EQ(wrong, 0) << sent << " sent, room for " << room << " at " << root;
      lives_on(m);
    }
}

TEST(Lengths, OfBegunCallsOnLinesMayDiffer) {
  fermata::test::with_members(kMembers, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    broadcasts(m, rank, kSmallOnLines);
    reduces(m, rank, kSmallOnLines);
  });
}

TEST(Lengths, OfBegunBlocksMayDiffer) {
  fermata::test::with_members(kMembers, [](fermata_member* m, int rank) {
    ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
    broadcasts(m, rank, kBlocks);
    reduces(m, rank, kBlocks);
  });
}

// Whatever stands before it and behind it, among it others whose lengths differ.
TEST(Lengths, DifferAmongSeveralThatAreOutstanding) {
  fermata::test::with_members(kMembers, [](fermata_member* m, int rank) {
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
        const fermata_operation o = operation(FERMATA_DO_BROADCAST, nullptr, d.data(), static_cast<size_t>(count), FERMATA_INT32, root);
        ASSERT_EQ(fermata_begin(m, &o, &requests[static_cast<std::size_t>(i)]), FERMATA_OK) << fermata_error_detail();
      }
      for (int i = 0; i < kOutstanding; ++i) {
        const Numbers& d = data[static_cast<std::size_t>(i)];
        const int count = static_cast<int>(d.size()) - 1;
        ASSERT_EQ(fermata_request_wait(requests[static_cast<std::size_t>(i)]), count < kSent ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
            << "request " << i << ": " << fermata_error_detail();
        fermata_request_free(requests[static_cast<std::size_t>(i)]);
        int wrong = 0;
        for (int k = 0; k <= count; ++k) wrong += d[static_cast<std::size_t>(k)] != (k < std::min(count, kSent) ? i + k : kGuard);
        ASSERT_EQ(wrong, 0) << "request " << i;
      }
      lives_on(m);
    }
  });
}

}  // namespace
