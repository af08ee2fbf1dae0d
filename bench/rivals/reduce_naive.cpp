// The usual reduction on top of a barrier: contributions go into a shared array, barrier, the master folds
// them, barrier. Source: reduction-with-barrier, Algorithm 1. The barrier is one shared counter, the best of
// the floors at two members, which yields after long polling. A faster reduction gains by combining the two.
#include <sched.h>

#include <atomic>

#include "bench/rivals/rivals.hpp"

namespace fermata::bench {
namespace {

class ReduceNaive final : public Subject {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    members_ = c.members;
    count_ = c.doubles();
    counter_ = arena.make<std::atomic<std::uint64_t>>(0);
    contributions_ = arena.make_array<Line>(static_cast<std::size_t>(members_));
    result_ = arena.make<Line>();
    waits_.resize(static_cast<std::size_t>(members_));
    return {};
  }
  void work(int rank, Turn& turn) override {
    std::uint64_t goal = waits_[static_cast<std::size_t>(rank)];
    turn.run(rank, [&](const double* in, double* out) {
      for (int i = 0; i < count_; ++i) contributions_[rank].value[i] = in[i];
      wait(goal);
      if (rank == 0) {
        for (int i = 0; i < count_; ++i) {
          double sum = 0;
          for (int r = 0; r < members_; ++r) sum += contributions_[r].value[i];
          result_->value[i] = sum;
        }
      }
      wait(goal);
      for (int i = 0; i < count_; ++i) out[i] = result_->value[i];
    });
    waits_[static_cast<std::size_t>(rank)] = goal;
  }

 private:
  // Plain data, ordered by the barrier. The master cannot overwrite the result before all have read it, since
  // it first waits for the next arrival of each member.
  struct alignas(kMaxLine) Line {
    double value[8] = {};
  };
  void wait(std::uint64_t& goal) {
    goal += static_cast<std::uint64_t>(members_);
    // order: acq_rel: releases this member's data, and the last arriver acquires all; pairs with the acquire
    // below.
    if (counter_->fetch_add(1, std::memory_order_acq_rel) + 1 >= goal) return;
    // order: acquire: all contributions are visible; pairs with the fetch_add of every member.
    for (int polls = 0; counter_->load(std::memory_order_acquire) < goal; ++polls) {
      if (polls < 1000) {
        cpu_pause();
      } else {
        sched_yield();
      }
    }
  }
  int members_ = 0;
  int count_ = 0;
  std::atomic<std::uint64_t>* counter_ = nullptr;
  Line* contributions_ = nullptr;
  Line* result_ = nullptr;
  std::vector<std::uint64_t> waits_;
};

}  // namespace

std::unique_ptr<Subject> make_reduce_naive() { return std::make_unique<ReduceNaive>(); }

}  // namespace fermata::bench
