// The common part of the programs in this folder: a team of threads that meets at a barrier, the arguments,
// and the report.
//
// They are textbook programs that do not use Fermata: `fermata run -- PROGRAM` replaces their barrier. One
// source builds in two ways: with OpenMP if the compiler's option turns it on, else with std::thread and
// pthread_barrier_t.
#ifndef FERMATA_EXAMPLES_PROGRAMS_TEAM_HPP
#define FERMATA_EXAMPLES_PROGRAMS_TEAM_HPP

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#else
#include <pthread.h>

#include <thread>
#endif

namespace programs {

using Index = std::int64_t;

// [begin, end)
struct Range {
  Index begin, end;
};

// One thread's view of the team.
class Member {
 public:
#ifdef _OPENMP
  Member() : rank_(omp_get_thread_num()), threads_(omp_get_num_threads()) {}
  void barrier() {
    ++barriers_;
#pragma omp barrier
  }
#else
  Member(pthread_barrier_t& barrier, int rank, int threads)
      : barrier_(barrier), rank_(rank), threads_(threads) {}
  void barrier() {
    ++barriers_;
    pthread_barrier_wait(&barrier_);
  }
#endif
  int rank() const { return rank_; }
  int threads() const { return threads_; }
  std::uint64_t barriers() const { return barriers_; }

  // This thread's block of 0..n-1. Blocks are as equal as possible, in the order of ranks.
  Range share(Index n) const { return {n * rank_ / threads_, n * (rank_ + 1) / threads_}; }

 private:
#ifndef _OPENMP
  pthread_barrier_t& barrier_;
#endif
  int rank_, threads_;
  std::uint64_t barriers_ = 0;
};

struct Timing {
  double seconds = 0;
  std::uint64_t barriers = 0;  // of each thread
};

// Runs body(member) in each of `threads` threads, timed between two barriers of its own.
template <class Body>
Timing run_team(int threads, const Body& body) {
  using Clock = std::chrono::steady_clock;
  Timing timing;
  const auto one = [&](Member member) {
    member.barrier();
    const auto begin = Clock::now();
    body(member);
    member.barrier();
    if (member.rank() == 0)
      timing = {std::chrono::duration<double>(Clock::now() - begin).count(), member.barriers()};
  };
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
  one(Member());
#else
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  std::vector<std::thread> others;
  for (int rank = 1; rank < threads; ++rank)
    others.emplace_back([&, rank] { one(Member(barrier, rank, threads)); });
  one(Member(barrier, 0, threads));
  for (std::thread& other : others) other.join();
  pthread_barrier_destroy(&barrier);
#endif
  return timing;
}

struct Arguments {
  Index size;
  int repetitions, threads;
};

// PROGRAM SIZE REPETITIONS THREADS. Ends the program if the arguments are not valid.
inline Arguments arguments_of(int argc, char** argv, const char* size, Index least, Index most) {
  long long value[3] = {};
  bool valid = argc == 4;
  for (int i = 0; valid && i < 3; ++i) {
    char* end = nullptr;
    value[i] = std::strtoll(argv[i + 1], &end, 10);
    valid = end != argv[i + 1] && *end == '\0';
  }
  if (!valid || value[0] < least || value[0] > most || value[1] < 1 || value[1] > 100000000 || value[2] < 1 ||
      value[2] > 256) {
    std::fprintf(stderr, "usage: %s SIZE REPETITIONS THREADS\nSIZE: %s, %lld to %lld; up to 256 threads\n",
                 argv[0], size, static_cast<long long>(least), static_cast<long long>(most));
    std::exit(2);
  }
  return {value[0], static_cast<int>(value[1]), static_cast<int>(value[2])};
}

// The same numbers on every machine: splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014).
inline std::uint64_t random_bits(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// In [-1, 1).
inline double random_number(std::uint64_t& state) {
  return static_cast<double>(random_bits(state) >> 11) * 0x1p-52 - 1;
}

// FNV-1a over 64-bit words: each bit of each value matters.
template <class T>
std::uint64_t checksum(const std::vector<T>& values, std::uint64_t hash = 0xcbf29ce484222325u) {
  static_assert(sizeof(T) == sizeof(std::uint64_t));
  for (const T& value : values) {
    std::uint64_t word;
    std::memcpy(&word, &value, sizeof word);
    hash = (hash ^ word) * 0x100000001b3u;
  }
  return hash;
}

// All lines but the last are the same in every run. Returns the exit status: whether `error` is within
// `bound`.
inline int report(const Arguments& a, const Timing& timing, std::uint64_t sum, const char* what, double error,
                  double bound) {
  const bool right = error <= bound;  // false for a NaN
  std::printf("size %lld, %d repetitions, %d threads\n", static_cast<long long>(a.size), a.repetitions,
              a.threads);
  std::printf("checksum %016llx\n", static_cast<unsigned long long>(sum));
  std::printf("%s: %.3g, at most %.3g: %s\n", what, error, bound, right ? "verified" : "WRONG");
  std::printf("barriers %llu\n", static_cast<unsigned long long>(timing.barriers));
  std::printf("seconds %.6f\n", timing.seconds);
  return right ? 0 : 1;
}

}  // namespace programs

#endif
