// Threads that meet at an anonymous barrier.
#ifndef FERMATA_TESTS_UNIT_ANONYMOUS_WORKERS_HPP
#define FERMATA_TESTS_UNIT_ANONYMOUS_WORKERS_HPP

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "anonymous/barrier.hpp"

namespace fermata::anonymous {

inline void run_threads(int threads, const std::function<void(int)>& work) {
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(work, t);
  for (std::thread& t : workers) t.join();
}

struct Destroy {
  void operator()(Barrier* b) const { b->destroy(); }
};
using Owned = std::unique_ptr<Barrier, Destroy>;

inline Owned make(std::uint32_t count, const Shape& shape = {}) {
  Barrier* b = nullptr;
  EXPECT_EQ(Barrier::create(count, shape, &b), Status::kOk);
  return Owned(b);
}

inline bool meet(Barrier& b) {
  const bool completes = b.has_completion();  // after the arrival, the memory may be another barrier's
  const Arrival arrival = b.arrive(1);
  if (arrival.last && completes) b.release(arrival.token);
  if (!arrival.last) b.wait(arrival.token);
  return arrival.last;
}

// The domain in which a thread enters: first t_domain, which a test can set for each thread, then the next
// one each time.
inline thread_local std::uint32_t t_domain = 0;
inline std::uint32_t forced_domain() { return t_domain++; }

}  // namespace fermata::anonymous
#endif
