// A simple model of a kernel's scheduler, in which members of a team wait by the shipped policies
// (sync/wait.hpp) with simulated time. What it has: a queue for each CPU; yields that let all others of the
// CPU run, a foreign thread for a whole slice; sleepers that preempt foreign threads once they are woken; the
// costs below. What it has not: migration, caches, and a scheduler's memory of how long each thread ran.
#ifndef FERMATA_BENCH_WAITS_MACHINE_HPP
#define FERMATA_BENCH_WAITS_MACHINE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "sync/wait.hpp"

namespace fermata::bench::waits {

struct Costs {                     // ns
  std::int64_t look = 1'000;       // of a spin: 256 pauses, and the clock
  std::int64_t yield = 300;        // without another thread to run
  std::int64_t switch_to = 700;    // to another thread
  std::int64_t park = 1'000;       // until the thread sleeps
  std::int64_t wake = 1'200;       // of one sleeper, by the thread that wakes it
  std::int64_t idle = 20'000;      // until a CPU that had nothing to run runs a woken thread
  std::int64_t slice = 3'000'000;  // of a foreign thread
};

// What happens in one call, whatever the policy.
struct Call {
  std::vector<std::int64_t> work;  // ns that each member computes before it arrives
  std::uint32_t foreign = 0;       // the first so many CPUs have a foreign thread that always runs
};

// Calls of a barrier by members that lie on the CPUs in turn.
template <class Policy>
class Machine {
 public:
  using NextCall = std::function<const Call*(std::uint64_t call)>;  // null: it was the last one

  Machine(std::vector<Policy> policies, std::uint32_t cpus, const Costs& costs, NextCall next)
      : costs_(costs), next_(std::move(next)), members_(policies.size()), cpus_(cpus) {
    for (std::size_t m = 0; m < members_.size(); ++m) {
      members_[m].policy = policies[m];
      cpus_[m % cpus].ready.push_back(m);
    }
  }
  // Returns how long all calls took, in ns.
  std::int64_t run() {
    begin_call();
    while (call_ != nullptr) step();
    return over_ns_;
  }

 private:
  static constexpr std::size_t kForeign = SIZE_MAX;
  struct Member {
    Policy policy;
    WaitView view;
    std::uint64_t call = 0;  // the call that it is in
    std::int64_t begun_ns = 0, acted_ns = 0;
    bool waits = false, parked = false;
    bool charged = false;  // it has yielded: a foreign thread of its CPU runs before it
  };
  struct Cpu {
    std::int64_t now = 0, foreign_since = -1;  // foreign_since: the foreign thread runs from then until now
    std::deque<std::size_t> ready;
    std::size_t last = kForeign;
  };

  void begin_call() {
    ++number_;
    arrived_ = 0;
    call_ = next_(number_);
  }
  bool is_foreign(std::size_t cpu) const { return cpu < call_->foreign; }

  // The CPU that is furthest behind runs its next thread.
  void step() {
    std::size_t at = 0;
    for (std::size_t c = 1; c < cpus_.size(); ++c)
      if (time_of(c) < time_of(at)) at = c;
    Cpu& cpu = cpus_[at];
    cpu.foreign_since = -1;
    if (cpu.ready.empty()) {
      run_foreign(cpu);
      return;
    }
    const std::size_t m = cpu.ready.front();
    if (is_foreign(at) && members_[m].charged) {
      run_foreign(cpu);
      for (const std::size_t each : cpu.ready) members_[each].charged = false;
      return;
    }
    cpu.ready.pop_front();
    if (cpu.last != m) cpu.now += costs_.switch_to;
    cpu.last = m;
    if (members_[m].waits) wait_on(at, m);
    else work(at, m);
  }
  // A CPU that has nothing to run waits for a wake-up.
  std::int64_t time_of(std::size_t c) const {
    return cpus_[c].ready.empty() && !is_foreign(c) ? INT64_MAX : cpus_[c].now;
  }
  void run_foreign(Cpu& cpu) {
    cpu.foreign_since = cpu.now;
    cpu.now += costs_.slice;
    cpu.last = kForeign;
  }

  void work(std::size_t at, std::size_t m) {
    Cpu& cpu = cpus_[at];
    Member& member = members_[m];
    std::int64_t left = call_->work[m];
    for (; is_foreign(at) && left > costs_.slice; left -= costs_.slice) cpu.now += 2 * costs_.slice;
    cpu.now += left;
    member.call = number_;
    if (++arrived_ == members_.size()) {
      release(at, m);
      return;
    }
    member.waits = true;
    member.view = {};
    member.view.call = number_;
    member.begun_ns = cpu.now;
    act(at, m);
  }
  void release(std::size_t at, std::size_t last) {
    Cpu& cpu = cpus_[at];
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (!members_[m].parked) continue;
      members_[m].parked = false;
      cpu.now += costs_.wake;
      wake(cpus_[m % cpus_.size()], m, cpu.now);
    }
    over_ns_ = cpu.now;
    cpu.ready.push_front(last);
    begin_call();
  }
  void wake(Cpu& cpu, std::size_t m, std::int64_t now) {
    const bool idles = cpu.ready.empty();
    cpu.ready.push_back(m);
    if (cpu.foreign_since >= 0 && cpu.now > now) {  // it preempts the foreign thread
      cpu.now = std::max(cpu.foreign_since, now);
      cpu.foreign_since = -1;
    } else if (idles) {
      cpu.now = std::max(cpu.now, now + costs_.idle);
    }
  }

  // The member has the CPU again after an action, and looks.
  void wait_on(std::size_t at, std::size_t m) {
    Member& member = members_[m];
    const std::int64_t now = cpus_[at].now;
    member.view.first = false;
    member.view.now_ns = now;
    member.view.waited_ns = now - member.begun_ns;
    member.view.last_action_ns = now - member.acted_ns;
    if (number_ == member.call) {
      act(at, m);
      return;
    }
    member.policy.done(member.view);
    member.waits = false;
    work(at, m);
  }
  void act(std::size_t at, std::size_t m) {
    Cpu& cpu = cpus_[at];
    Member& member = members_[m];
    member.acted_ns = member.view.now_ns = cpu.now;
    member.view.last_action = member.policy.next(member.view);
    switch (member.view.last_action) {
      case WaitAction::kSpin:
        cpu.now += costs_.look;
        cpu.ready.push_front(m);
        break;
      case WaitAction::kMove:  // these members have no signs, so none moves
      case WaitAction::kYield:
        cpu.now += costs_.yield;
        cpu.ready.push_back(m);
        member.charged = true;
        break;
      case WaitAction::kPark:
        cpu.now += costs_.park;
        member.parked = true;
        member.charged = false;
        break;
    }
  }
  Costs costs_;
  NextCall next_;
  std::vector<Member> members_;
  std::vector<Cpu> cpus_;
  const Call* call_ = nullptr;
  std::uint64_t number_ = 0;
  std::size_t arrived_ = 0;
  std::int64_t over_ns_ = 0;
};

}  // namespace fermata::bench::waits
#endif
