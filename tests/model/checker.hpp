// Relacy without its macros, which rename new, assert, errno and std's memory orders in the code under test.
// Fermata needs no such renaming, so the standard headers come first and the macros are undefined.
//
// What the results prove. A read sees every value that the orders allow, but lags behind by at most one write
// of the object in a full or bounded search, and by at most two in a random search. The checker orders
// seq_cst fences more strongly than C++ does: each acquires everything that earlier ones released. So a fence
// could hide a race on plain data. Scenarios of signals and barriers that never park have no fences and show
// that plain data are ordered; scenarios that park show that no wake-up is lost.
#ifndef FERMATA_TESTS_MODEL_CHECKER_HPP
#define FERMATA_TESTS_MODEL_CHECKER_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <relacy/relacy.hpp>

#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

namespace fermata::model {

// The N threads of a scenario: each runs thread(); one runs before() first, and one runs after() last.
template <rl::thread_id_t N>
struct Suite {
  static constexpr rl::thread_id_t kThreads = N;

  Suite() = default;
  Suite(const Suite&) = delete;
  Suite& operator=(const Suite&) = delete;
  virtual ~Suite() = default;
  virtual void before() {}
  virtual void thread(unsigned member) = 0;
  virtual void after() {}
};

template <rl::thread_id_t N>
inline Suite<N>* (*make_suite)() = nullptr;

// The checker is compiled again for each type that it simulates. One type for each number of threads keeps
// that short.
template <rl::thread_id_t N>
struct Simulated : rl::test_suite<Simulated<N>, N> {
  Suite<N>* suite = make_suite<N>();

  ~Simulated() { suite->~Suite(); }
  void before() { suite->before(); }
  void thread(unsigned member) { suite->thread(member); }
  void after() { suite->after(); }
};

template <class S>
bool run(rl::test_params& params) {
  make_suite<S::kThreads> = []() -> Suite<S::kThreads>* {
    alignas(S) static std::byte room[sizeof(S)];  // reused by every execution
    return new (room) S();
  };
  return rl::simulate<Simulated<S::kThreads>>(params);
}

}  // namespace fermata::model
#endif
