// A small OpenMP run-time library for tests of the preload's own code under sanitizers. The compilers'
// run-time libraries are not instrumented, so ThreadSanitizer sees neither their locks nor their ordering.
// The stand-in makes new threads in each region, and its barriers are std::barrier. gomp.cpp gives it
// some of libgomp's entry points, kmp.cpp some of libomp's.
#ifndef FERMATA_TESTS_PRELOAD_OPENMP_STANDIN_HPP
#define FERMATA_TESTS_PRELOAD_OPENMP_STANDIN_HPP

#define STANDIN_EXPORT extern "C" __attribute__((visibility("default")))

// Functions that the program calls besides the entry points of libgomp or libomp.
STANDIN_EXPORT int standin_rank();
STANDIN_EXPORT int standin_size();
STANDIN_EXPORT long standin_barriers();  // how often threads came to the stand-in's own barriers
// Runs a region through an entry point that the preload does not know.
STANDIN_EXPORT void standin_parallel(void (*body)(void*), void* data, unsigned threads);

#ifdef STANDIN_RUN_TIME
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

namespace standin {

struct Team {
  explicit Team(int threads) : size(threads), meeting(threads) {}
  int size;
  std::barrier<> meeting;
};

struct Where {
  Team* team = nullptr;
  int rank = 0;
  int level = 0;
};
inline thread_local Where where;
inline std::atomic<long> barriers{0};
inline thread_local int next_threads = 1;  // of this thread's next region

inline int take_threads() {
  const int threads = next_threads;
  next_threads = 1;
  return threads;
}

inline void meet() {
  barriers.fetch_add(1, std::memory_order_relaxed);  // order: a statistic
  if (where.team != nullptr) where.team->meeting.arrive_and_wait();
}

// The calling thread is rank 0. Each thread runs work(team).
template <class Work>
void run(Team& team, Work&& work) {
  const Where outer = where;
  const auto part = [&](int rank) {
    where = {&team, rank, outer.level + 1};
    work(team);
  };
  std::vector<std::thread> others;
  for (int rank = 1; rank < team.size; ++rank) others.emplace_back(part, rank);
  part(0);
  for (std::thread& other : others) other.join();
  where = outer;
}

}  // namespace standin

int standin_rank() { return standin::where.rank; }
int standin_size() { return standin::where.team != nullptr ? standin::where.team->size : 1; }
long standin_barriers() { return standin::barriers.load(std::memory_order_relaxed); }  // order: a statistic

void standin_parallel(void (*body)(void*), void* data, unsigned threads) {
  standin::Team team(static_cast<int>(threads));
  standin::run(team, [&](standin::Team&) { body(data); });
}

STANDIN_EXPORT int omp_get_level() { return standin::where.level; }
STANDIN_EXPORT int omp_get_thread_num() { return standin_rank(); }
STANDIN_EXPORT int omp_get_num_threads() { return standin_size(); }
STANDIN_EXPORT int omp_get_cancellation() { return 0; }
#endif
#endif
