#include "bench/workers.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

namespace fermata::bench {
namespace {

// Shared futexes, since members can be processes.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t while_equal,
                const timespec* at_most = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT, while_equal, at_most, nullptr, 0);
}
void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
}

void finish(const Case& c, Muster& muster) {
  // order: acq_rel: releases this member's results, and the last member passes all of them on; pairs with the
  // acquire load in await_all.
  const auto done = muster.finished.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (done == static_cast<std::uint32_t>(c.members)) futex_wake_all(muster.finished);
}

}  // namespace

void live_as_member(const Case& c, Subject& subject, Muster& muster, int rank) {
  std::snprintf(muster.entrances[rank].error, sizeof(Muster::Entrance), "%s", subject.enter(rank).c_str());
  finish(c, muster);
  for (std::uint32_t seen = 0;;) {
    // order: acquire: the order of the turn is visible; pairs with the release in run.
    while (muster.generation.load(std::memory_order_acquire) == seen) futex_wait(muster.generation, seen);
    if (muster.quit.load(std::memory_order_acquire) != 0) return;
    ++seen;
    subject.work(rank, *muster.turn);
    finish(c, muster);
  }
}

Workers::Workers(const Case& c, Subject& subject, Turn& turn, Arena& arena)
    : case_(c), subject_(subject), turn_(turn), arena_(arena), muster_(arena.make<Muster>()) {
  muster_->turn = &turn;
  muster_->entrances = arena.make_array<Muster::Entrance>(static_cast<std::size_t>(c.members));
}

Workers::~Workers() {
  // order: release: live_as_member returns; pairs with its acquire loads.
  muster_->quit.store(1, std::memory_order_release);
  muster_->generation.fetch_add(1, std::memory_order_release);
  futex_wake_all(muster_->generation);
  for (std::thread& thread : threads_) thread.join();
  for (const int child : children_) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

std::string Workers::await_all() {
  const auto all = static_cast<std::uint32_t>(case_.members);
  const timespec look_around{0, 100'000'000};
  for (;;) {
    // order: acquire: the members' results are visible; pairs with their fetch_add in finish.
    const std::uint32_t done = muster_->finished.load(std::memory_order_acquire);
    if (done == all) return {};
    futex_wait(muster_->finished, done, &look_around);
    std::string trouble = subject_.trouble();
    if (!trouble.empty()) return trouble;
  }
}

std::string Workers::start_members() {
  if (subject_.recruits()) return subject_.recruit(arena_.invitation(), *muster_);
  const auto member = [this](int rank) {
    if (!case_.cpus.empty()) pin_self(case_.cpus[static_cast<std::size_t>(rank)]);
    live_as_member(case_, subject_, *muster_, rank);
  };
  const int in_process = case_.engine == Engine::kMixed ? 2 : 1;
  for (int rank = 0; rank < case_.members; rank += in_process) {
    if (case_.engine == Engine::kThreads) {
      threads_.emplace_back(member, rank);
      continue;
    }
    const pid_t host = getpid();
    const pid_t child = fork();
    if (child < 0) return "fork failed";
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != host) _exit(1);  // the host died before the signal was set
      if (in_process == 2 && rank + 1 < case_.members) std::thread(member, rank + 1).detach();
      member(rank);
      _exit(0);
    }
    children_.push_back(child);
  }
  return {};
}

std::string Workers::start() {
  if (subject_.launches()) return {};
  std::string error = start_members();
  if (error.empty()) error = await_all();
  for (int rank = 0; rank < case_.members && error.empty(); ++rank) error = muster_->entrances[rank].error;
  return error;
}

std::string Workers::run() {
  for (int rank = 0; rank < case_.members; ++rank) turn_.lines[rank] = MemberLine{};
  if (subject_.launches()) {
    subject_.launch(turn_);
    return {};
  }
  // order: relaxed: no member reads it before the generation changes.
  muster_->finished.store(0, std::memory_order_relaxed);
  // order: release: the turn's order and cleared lines are visible; pairs with the acquire in live_as_member.
  muster_->generation.fetch_add(1, std::memory_order_release);
  futex_wake_all(muster_->generation);
  return await_all();
}

}  // namespace fermata::bench
