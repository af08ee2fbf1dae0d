// A member overwrites a word of its team's memory that another member reads for the first time. The other
// gets an error and does not crash.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "../failures/forked_members.hpp"
#include "child.hpp"
#include "exec/team.hpp"
#include "fermata/fermata.h"
#include "team/handles.hpp"
#include "team/plans.hpp"

namespace fermata::test::words_of_liars {
namespace {

constexpr double kPatience = 0.15;  // s, for each call
constexpr std::int64_t kHangNs = 60'000'000'000;
#ifdef __SANITIZE_THREAD__  // TSan writes its shadow of an allocation at once
constexpr bool kSeesMemory = false;
#else
constexpr bool kSeesMemory = true;
#endif

// At its first call with another root, a member copies the steps for that root. Each of these changed steps
// is valid by itself, but not in a team of one host, or not in a broadcast.
void send_away(Step& step) {
  if (step.code == Code::kSend) step.code = Code::kSendAway;
}
void fold_what_comes(Step& step) {
  if (step.fold == Fold::kCopy) step.fold = Fold::kCombineLeft;
}
void park_far_away(Step& step) {
  if (step.code != Code::kAwait && step.code != Code::kCreditAwait) return;
  step.rings = 0;
  step.door = 0xfffffff8;
}

int broadcast_by_changed_steps(void (*change)(Step&), std::uint32_t breach = 0) {
  fermata_team* const team = test::make_team(2, FERMATA_PROCESSES, FERMATA_WAIT_PARK);
  fermata_member* members[2] = {};
  for (int r = 0; r < 2; ++r)
    if (team == nullptr || fermata_team_join(team, r, &members[r]) != FERMATA_OK) return 1;
  const auto slot = exec::PlanSlot::kBroadcast56;
  const ProgramHeader& program = *team->team->programs().header(slot);
  auto* const steps = reinterpret_cast<Step*>(const_cast<std::byte*>(team->team->programs().blob(slot)) +
                                              program.steps_offset);
  for (std::uint32_t i = 0; i < program.steps; ++i) change(steps[i]);
  team->team->header().breach.store(breach, std::memory_order_relaxed);
  std::vector<std::thread> forked;
  for (fermata_member* member : members)
    forked.emplace_back([member] {
      char data[40] = {};
      fermata_member_set_timeout(member, kPatience);
      for (int i = 0; i < 3; ++i) fermata_broadcast(member, data, sizeof data, 1);
    });
  for (std::thread& t : forked) t.join();
  for (fermata_member* member : members) fermata_member_leave(member);
  fermata_team_destroy(team);
  return 0;
}

TEST(ALiarsSteps, AreNotRun) {
  for (const auto change : {send_away, fold_what_comes, park_far_away})
    EXPECT_EQ(in_child(kHangNs, [change] { return broadcast_by_changed_steps(change); }), 0);
}

// The first of two members, in a child. The test itself plays the other one.
struct Victim {
  explicit Victim(double patience) : team(test::make_team(2, FERMATA_PROCESSES)) {
    if (team == nullptr || fermata_team_join(team, 0, &member) != FERMATA_OK) _exit(1);
    fermata_member_set_timeout(member, patience);
  }
  fermata_team* team;
  fermata_member* member = nullptr;
};

// A team is broken whatever the value of the word that breaks it.
constexpr std::uint32_t kNoCause = 1u << 8;  // names a member, but no cause

TEST(ALiarsBreach, IsNoReasonToGoOn) {
  EXPECT_EQ(in_child(kHangNs, [] { return broadcast_by_changed_steps(send_away, kNoCause); }), 0);
  for (const std::uint32_t word : {kNoCause, 4u, 11u, 12u, 15u, ~0u}) {
    const auto work = [word] {
      const Victim victim(kPatience);
      victim.team->team->header().breach.store(word, std::memory_order_relaxed);
      return fermata_barrier(victim.member) == FERMATA_ERR_BROKEN ? 0 : 2;
    };
    EXPECT_EQ(in_child(kHangNs, work), 0) << word;
  }
}

// A receiver with too little room repeats the call once, with the length that the sender gives. Memory that
// it reads may hold any length. Here the liar announces a call that differs from its own call in more than
// the length. Without a bound the receiver would repeat the call for ever.
TEST(ALiarsLength, TakesNoMemory) {
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
  const auto work = [](bool gathers) {
    const Victim victim(2 * kPatience);
    fermata_member* const member = victim.member;
    fermata_member_set_bounded(member, 1);
    exec::Call call;
    call.collective = gathers ? Collective::kGather : Collective::kBroadcast;
    call.root = gathers ? 0 : 1;
    call.type = gathers ? FERMATA_INT32 : FERMATA_INT8;
    call.bytes = kBytes;
    exec::StatusLine& line = victim.team->team->status(1);
    say_call<RealAtomics>(line, 1, call.packed());
    std::int32_t data[200] = {}, all[400] = {};
    const int rc = gathers ? fermata_gather(member, data, all, 200, FERMATA_INT32, 0)
                           : fermata_broadcast(member, data, 8, 1);
    struct rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    if (rc == FERMATA_OK) return 2;
    return !kSeesMemory || static_cast<std::uint64_t>(used.ru_maxrss) * 1024 < kBytes / 2 ? 0 : 3;
  };
  for (const bool gathers : {false, true})
    EXPECT_EQ(in_child(kHangNs, [&] { return work(gathers); }), 0) << gathers;
}

// A member reads at its first long wait how many members have joined, and on which CPUs they may run.
TEST(ALiarsCounts, AreNotBelieved) {
  for (const std::uint32_t joined : {0U, ~0U}) {
    const auto work = [joined] {
      const Victim victim(0.01);
      exec::TeamHeader& header = victim.team->team->header();
      header.joined.store(joined, std::memory_order_relaxed);
      for (auto& word : header.cpus) word.store(0, std::memory_order_relaxed);
      return fermata_barrier(victim.member) == FERMATA_ERR_TIMEOUT ? 0 : 2;
    };
    EXPECT_EQ(in_child(kHangNs, work), 0) << joined;
  }
}

}  // namespace
}  // namespace fermata::test::words_of_liars
