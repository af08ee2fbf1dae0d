// A call in which the members' lengths differ, and which a timeout interrupts.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "../../soon.hpp"
#include "lengths.hpp"

namespace fermata::test {
namespace {

// A call that was made again with the others' length times out, and is resumed. In a plan that is a tree, a
// member learns the length from a parent that itself waits for the root.
TEST(Lengths, OfOthersAreKeptWhenACallIsResumed) {
  constexpr int kMany = 8;
  struct Lengths {
    int theirs, own;
    bool splits;
  };
  for (const auto [theirs, own, splits] : {Lengths{10, 3, false},
                                           {10, 1000, false},
                                           {300, 3, false},
                                           {300, 1000, false},
                                           {10, 3, true},
                                           {300, 3, true},
                                           {3, 10, true}}) {
    for (int odd = 1; odd < kMany; ++odd) {
      std::atomic<bool> timed_out{false};
      with_members(kMany, [&](fermata_member* m, int rank) {
        ASSERT_EQ(fermata_member_set_bounded(m, 1), FERMATA_OK);
        ASSERT_EQ(fermata_barrier(m), FERMATA_OK);
        if (rank == 0) is_soon([&] { return timed_out.load(); });
        const int count = rank == odd ? own : theirs;
        Numbers data(static_cast<std::size_t>(count) + 1, rank == 0 ? 5 : kGuard);
        if (rank == odd) fermata_member_set_timeout(m, 0.02);
        const auto bytes = static_cast<std::size_t>(count) * sizeof data[0];
        const fermata_operation o = operation(FERMATA_BROADCAST, nullptr, data.data(),
                                              static_cast<std::size_t>(count), FERMATA_INT32, 0);
        const bool split = splits && rank == odd;
        int status = split ? fermata_arrive_with(m, &o) : fermata_broadcast(m, data.data(), bytes, 0);
        if (split && status == FERMATA_OK) status = fermata_depart(m);
        if (rank == odd) {
          EXPECT_EQ(status, FERMATA_ERR_TIMEOUT) << fermata_error_detail();
          timed_out = true;
          fermata_member_set_timeout(m, 20);
          status = fermata_resume(m);
        }
        ASSERT_EQ(status, count < theirs ? FERMATA_ERR_TRUNCATED : FERMATA_OK)
            << "rank " << rank << ", " << own << " for " << theirs << ": " << fermata_error_detail();
        for (int k = 0; k <= count; ++k)
          ASSERT_EQ(data[static_cast<std::size_t>(k)], rank == 0 || k < std::min(count, theirs) ? 5 : kGuard)
              << "rank " << rank << ", " << own << " for " << theirs << ", " << k;
        ASSERT_EQ(fermata_barrier(m), FERMATA_OK);
      });
    }
  }
}

}  // namespace
}  // namespace fermata::test
