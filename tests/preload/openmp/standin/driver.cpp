// The OpenMP preload's own code, linked into this program and run over the stand-in run-time. It covers
// regions of changing sizes, nested regions, several initial threads that share the pool of teams, and
// reductions. It also covers functions of regions with many arguments (libomp), and regions that the preload
// did not see start. Exit 0: every value was right, and each barrier was done by the expected side.
#include <atomic>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "preload/openmp/resident.hpp"
#include "standin.hpp"

extern "C" {
int fermata_openmp_allreduce(int libomp, void* data, std::size_t bytes,
                             void (*fold)(void*, const void*, void*), void* context);
#ifdef STANDIN_GOMP
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
void GOMP_loop_end();
void GOMP_sections_end();
#else
void __kmpc_barrier(void* location, int thread);
void __kmpc_push_num_threads(void* location, int thread, int threads);
void __kmpc_fork_call(void* location, int count, void (*task)(), ...);
#endif
}

namespace {

constexpr int kMostThreads = 4;
constexpr int kInitial = 3;
constexpr int kRounds = 200 / FERMATA_TEST_SCALE + 10;

#ifdef STANDIN_GOMP
constexpr int kLibomp = 0;
void parallel(void (*body)(void*), void* data, int threads) {
  GOMP_parallel(body, data, static_cast<unsigned>(threads), 0);
}
void meet(int kind) {
  kind % 3 == 0 ? GOMP_barrier() : kind % 3 == 1 ? GOMP_loop_end() : GOMP_sections_end();
}
#else
constexpr int kLibomp = 1;
void fork(void (*body)(void*), void* data, int threads);
void parallel(void (*body)(void*), void* data, int threads) { fork(body, data, threads); }
void meet(int) { __kmpc_barrier(nullptr, standin_rank()); }
#endif

std::atomic<int> wrong{0};

// Plain data, so that ThreadSanitizer finds a race.
struct Job {
  int cells[kMostThreads];
  int inner;                                // threads of a region within this one; 0: none
  enum { kRefused, kPlanned, kAny } asked;  // whether the preload does a reduction
};

void add(void* sum, const void* other, void*) {
  *static_cast<double*>(sum) += *static_cast<const double*>(other);
}

void work(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  const int rank = standin_rank();
  const int size = standin_size();
  for (int k = 1; k <= 6; ++k) {
    job.cells[rank] = k * (rank + 1);
    meet(k);
    int sum = 0;
    for (int other = 0; other < size; ++other) sum += job.cells[other];
    wrong += sum != k * size * (size + 1) / 2;
    meet(k + 1);
    if (job.inner > 0 && k == 3) {
      Job within{{}, 0, job.asked};
      parallel(work, &within, job.inner);
    }
  }
  double value = rank + 1;
  const int done = fermata_openmp_allreduce(kLibomp, &value, sizeof value, add, nullptr);
  if (job.asked != Job::kAny) wrong += done != job.asked;
  wrong += value != (done != 0 ? size * (size + 1) / 2 : rank + 1);
}

#ifndef STANDIN_GOMP
// Argument types of the function that clang makes for a region that uses so many outer variables.
constexpr int kNothing = 0;
template <std::size_t>
using Argument = const int*;
template <std::size_t... I>
void outlined(int*, int*, void (*body)(void*), void* data, Argument<I>... numbers) {
  int sum = 0;
  for (const int* number : {numbers..., &kNothing}) sum += *number;
  wrong += sum != static_cast<int>(sizeof...(I) * (sizeof...(I) + 1) / 2);
  body(data);
}
template <std::size_t... I>
void fork_with(void (*body)(void*), void* data, int threads, std::index_sequence<I...>) {
  static constexpr int kNumbers[] = {static_cast<int>(I) + 1 ..., 0};
  __kmpc_push_num_threads(nullptr, 0, threads);
  __kmpc_fork_call(nullptr, 2 + sizeof...(I), reinterpret_cast<void (*)()>(outlined<I...>), body, data,
                   &kNumbers[I]...);
}
void fork(void (*body)(void*), void* data, int threads) {
  static std::atomic<int> turn{0};
  switch (turn++ % 5) {
    case 0: return fork_with(body, data, threads, std::make_index_sequence<0>());
    case 1: return fork_with(body, data, threads, std::make_index_sequence<2>());
    case 2: return fork_with(body, data, threads, std::make_index_sequence<10>());
    case 3: return fork_with(body, data, threads, std::make_index_sequence<11>());
    default: return fork_with(body, data, threads, std::make_index_sequence<1022>());
  }
}
#endif

// Starts the initial threads, each with so many regions.
void start(int rounds, decltype(Job::asked) asked) {
  std::vector<std::thread> initials;
  for (int number = 0; number < kInitial; ++number) {
    initials.emplace_back([=] {
      for (int round = 0; round < rounds; ++round) {
        Job job{{}, round % 8 == 0 ? 2 : 0, asked};
        parallel(work, &job, 2 + (number + round) % (kMostThreads - 1));
      }
    });
  }
  for (std::thread& initial : initials) initial.join();
}

// How long threads without work stay awake, as libgomp reads its variables.
bool reads_variables() {
  using fermata::preload::awake_us_by;
  struct {
    const char *spins, *policy;
    std::uint32_t us;
    bool crowded = false;
  } const kCases[] = {{nullptr, nullptr, 6'000},
                      {nullptr, "passive", 0},
                      {nullptr, " Passive ", 0},
                      {nullptr, "active", 600'000'000},
                      {nullptr, "activated", 6'000},
                      {"8000", nullptr, 160},
                      {"8000", "active", 160},
                      {" 20 k ", "passive", 400},
                      {"1M", nullptr, 20'000},
                      {"30000000001", nullptr, 600'000'000},
                      {"1T", nullptr, 600'000'000},
                      {"99999999999999999999", nullptr, 600'000'000},
                      {"infinity", "passive", 600'000'000},
                      {"INFINITE", nullptr, 600'000'000},
                      {"-1", nullptr, 6'000},
                      {"8000x", "passive", 0},
                      {"k", nullptr, 6'000},
                      {"", nullptr, 6'000},
                      {"0", nullptr, 0},
                      {nullptr, nullptr, 2, true},
                      {nullptr, "active", 20, true},
                      {nullptr, "passive", 0, true},
                      {"infinity", nullptr, 2, true},
                      {"50", "active", 1, true}};
  bool right = true;
  for (const auto& c : kCases) {
    const std::uint32_t us = awake_us_by(c.spins, c.policy, c.crowded);
    if (us == c.us) continue;
    std::printf("GOMP_SPINCOUNT=%s OMP_WAIT_POLICY=%s: %u us, not %u\n",
                c.spins != nullptr ? c.spins : "(none)", c.policy != nullptr ? c.policy : "(none)", us, c.us);
    right = false;
  }
  return right;
}

}  // namespace

int main() {
  if (!reads_variables()) return 1;
  start(1, Job::kAny);  // all initial threads look for the run-time library at once: one finds it, and the
                        // first regions of the others may run without the preload
  const long before = standin_barriers();
  start(kRounds, Job::kPlanned);
  const long own = standin_barriers() - before;
  std::printf("planned: %d wrong, %ld times in the run-time's barrier\n", wrong.load(), own);
  if (wrong != 0 || own != 0) return 1;
  Job unseen{{}, 0, Job::kRefused};
  standin_parallel(work, &unseen, 3);
  const long theirs = standin_barriers() - before;
  std::printf("unseen: %d wrong, %ld times in the run-time's barrier\n", wrong.load(), theirs);
  return wrong == 0 && theirs == 3 * 12 ? 0 : 1;
}
