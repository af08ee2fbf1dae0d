// Relacy without its macros: it renames new, assert, errno and std's memory orders for code that is written
// for it. Ours is not, so the standard headers come first and the macros go.
//
// What its findings are worth. A read sees any value that the orders allow, but lags at most one write of the
// object behind in a full or bounded search, two in a random one. It orders seq_cst fences among each other
// more strongly than C++ does (each acquires what all earlier ones released), so a fence could hide a race on
// plain data: that data is in order is shown by the scenarios that never park, which have no fences; those
// that park show that wake-ups are not lost.
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

// What the N threads of a scenario do: thread() each, before() one of them in front of all, after() one of
// them behind all.
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

// The checker is compiled once more for each type that it simulates. So these are one for each number of
// threads.
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
    alignas(S) static std::byte room[sizeof(S)];  // every execution's
    return new (room) S();
  };
  return rl::simulate<Simulated<S::kThreads>>(params);
}

}  // namespace fermata::model
#endif
