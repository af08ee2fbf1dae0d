// Memory runs out at one member, in the middle of a step that all members take together. No member waits for
// it for ever: the call fails there, and the team breaks for the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "os/os.hpp"
#include "team/handles.hpp"
#include "team/team.hpp"

namespace {
// The calls of `new` in this thread before one that fails; negative: none fails.
thread_local int t_left = -1;
thread_local bool t_failed = false;
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (t_left >= 0 && t_left-- == 0) {
    t_failed = true;
    return nullptr;
  }
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace fermata {
namespace {

constexpr int kThree = 3;

struct Ends {
  std::array<int, kThree> status{};  // of the step
  std::array<int, kThree> after{};   // of the calls after it
  bool failed = false;               // the allocation that was to fail has been reached
};

// All members make calls until the step, then `step`. In that, allocation number `nth` of a rank fails.
template <class Step>
Ends run_with(int rank, int nth, std::uint64_t calls_before, const Step& step) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = kThree;
  fermata_team* team = nullptr;
  EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  std::int32_t cpus[1024];
  const std::int32_t n = os::affinity_list(cpus, 1024);
  Ends ends;
  std::array<std::thread, kThree> workers;
  for (int r = 0; r < kThree; ++r)
    workers[r] = std::thread([&, r] {
      EXPECT_EQ(fermata_pin(cpus[r % n]), FERMATA_OK);
      fermata_member* m = nullptr;
      ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK) << fermata_error_detail();
      // A wait that never ends fails the test. The limits of a review's own waits are longer.
      EXPECT_EQ(fermata_member_set_timeout(m, 20), FERMATA_OK);
      int status = FERMATA_OK;
      for (std::uint64_t i = 0; i < calls_before && status == FERMATA_OK; ++i) status = fermata_barrier(m);
      EXPECT_EQ(status, FERMATA_OK);
      if (r == rank) t_left = nth;
      status = step(m);
      t_left = -1;
      if (r == rank) ends.failed = t_failed;
      ends.status[r] = status;
      const std::uint64_t calls = m->member->calls();
      for (int i = 0; i < 10 && ends.after[r] == FERMATA_OK; ++i) ends.after[r] = fermata_barrier(m);
      if (status == FERMATA_ERR_MEMORY && ends.after[r] != FERMATA_OK) {
        EXPECT_EQ(m->member->calls(), calls) << "it signals the others, which would let them pass the step";
      }
      fermata_member_leave(m);
    });
  for (std::thread& worker : workers) worker.join();
  fermata_team_destroy(team);
  return ends;
}

// Lets the allocations of the step fail in turn: at rank 0, which plans the new team, and at another rank.
// The many allocations of the planning are skipped in growing steps.
template <class Step>
void fail_each(std::uint64_t calls_before, bool alike, const Step& step) {
  for (const int rank : {0, 1}) {
    int tried = 0, broken = 0;
    bool more = true;
    for (int nth = 0; more; nth += 1 + (rank == 0 ? nth / 4 : 0), ++tried) {
      const Ends ends = run_with(rank, nth, calls_before, step);
      more = ends.failed;
      const std::array<int, kThree> all_right{};
      for (const int status : ends.status)
        EXPECT_TRUE(status == FERMATA_OK || status == FERMATA_ERR_MEMORY || status == FERMATA_ERR_BROKEN ||
                    status == FERMATA_ERR_SYSTEM)
            << "rank " << rank << ", allocation " << nth << ": " << fermata_status_string(status);
      const auto right = std::count(ends.status.begin(), ends.status.end(), FERMATA_OK);
      EXPECT_TRUE(!alike || right == 0 || right == kThree) << "allocation " << nth << " of rank " << rank;
      if (ends.after != all_right) {
        for (const int status : ends.after) EXPECT_EQ(status, FERMATA_ERR_BROKEN);
        ++broken;
      }
      EXPECT_TRUE(more || (ends.status == all_right && ends.after == all_right));
    }
    EXPECT_GE(broken, 1) << "no allocation of rank " << rank << " mattered";
    EXPECT_LT(rank == 0 ? 2 * broken : 0, tried) << "without memory for plans, the team stays as it was";
    std::printf("rank %d: %d allocations tried, %d of them end the team\n", rank, tried - 1, broken);
  }
}

TEST(NoMemory, InAReviewLeavesNobodyWaiting) {
  fail_each(team::kFirstReview - 1, false, [](fermata_member* m) { return fermata_barrier(m); });
}

TEST(NoMemory, InASplitLeavesNobodyWaiting) {
  fail_each(1, true, [](fermata_member* m) {
    fermata_member* part = nullptr;
    const int status = fermata_team_split(m, 0, 0, &part);
    if (part != nullptr) fermata_member_leave(part);
    return status;
  });
}

}  // namespace
}  // namespace fermata
