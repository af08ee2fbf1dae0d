#include "bench/crew.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace fermata::bench {
namespace {

// Shared futexes, since members may be processes.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t while_equal) {
  syscall(SYS_futex, &word, FUTEX_WAIT, while_equal, nullptr, nullptr, 0);
}
void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
}

}  // namespace

Crew::Crew(const Case& c, Subject& subject, Turn& turn, Arena& arena)
    : case_(c),
      subject_(subject),
      turn_(turn),
      gate_(arena.make<Gate>()),
      entrances_(arena.make_array<Entrance>(static_cast<std::size_t>(c.members))) {}

Crew::~Crew() {
  // order: release; pairs with the acquire load in member, which then returns.
  gate_->quit.store(1, std::memory_order_release);
  gate_->generation.fetch_add(1, std::memory_order_release);
  futex_wake_all(gate_->generation);
  for (std::thread& thread : threads_) thread.join();
  for (const int child : children_) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

void Crew::finish() {
  // order: acq_rel: releases this member's results, and the last one passes all members' on to the host's
  // acquire.
  const auto done = gate_->finished.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (done == static_cast<std::uint32_t>(case_.members)) futex_wake_all(gate_->finished);
}

void Crew::await_all() {
  const auto all = static_cast<std::uint32_t>(case_.members);
  for (;;) {
    // order: acquire; pairs with the members' fetch_add in finish.
    const std::uint32_t done = gate_->finished.load(std::memory_order_acquire);
    if (done == all) return;
    futex_wait(gate_->finished, done);
  }
}

void Crew::member(int rank) {
  if (!case_.cpus.empty()) pin_self(case_.cpus[static_cast<std::size_t>(rank)]);
  std::snprintf(entrances_[rank].error, sizeof(Entrance), "%s", subject_.enter(rank).c_str());
  finish();
  for (std::uint32_t seen = 0;;) {
    // order: acquire; pairs with the release in run: the order of the turn is visible.
    while (gate_->generation.load(std::memory_order_acquire) == seen) futex_wait(gate_->generation, seen);
    if (gate_->quit.load(std::memory_order_acquire) != 0) return;
    ++seen;
    subject_.work(rank, turn_);
    finish();
  }
}

std::string Crew::start() {
  if (subject_.launches()) return {};
  for (int rank = 0; rank < case_.members; ++rank) {
    if (case_.engine == Engine::kThreads) {
      threads_.emplace_back([this, rank] { member(rank); });
      continue;
    }
    const pid_t host = getpid();
    const pid_t child = fork();
    if (child < 0) return "fork failed";
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != host) _exit(1);  // it died before the signal was set
      member(rank);
      _exit(0);
    }
    children_.push_back(child);
  }
  await_all();
  for (int rank = 0; rank < case_.members; ++rank) {
    if (entrances_[rank].error[0] != 0) return entrances_[rank].error;
  }
  return {};
}

void Crew::run() {
  for (int rank = 0; rank < case_.members; ++rank) turn_.lines[rank] = MemberLine{};
  if (subject_.launches()) return subject_.launch(turn_);
  // order: relaxed: nobody reads it before the generation moves.
  gate_->finished.store(0, std::memory_order_relaxed);
  // order: release; pairs with the acquire in member: the turn's order and cleared lines come with it.
  gate_->generation.fetch_add(1, std::memory_order_release);
  futex_wake_all(gate_->generation);
  await_all();
}

}  // namespace fermata::bench
