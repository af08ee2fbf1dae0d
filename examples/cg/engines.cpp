#include "engines.hpp"

#include <array>
#include <chrono>
#include <exception>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>

#include "fermata/fermata.hpp"
#ifdef _OPENMP
#include <omp.h>
#endif

namespace cg {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Alone {
  int rank() const { return 0; }
  double allreduce(double value) { return value; }
  std::array<double, 2> allreduce(double a, double b) { return {a, b}; }
  void barrier() {}
};

struct Together {
  fermata::Member& member;
  int my_rank = member.rank();
  int rank() const { return my_rank; }
  double allreduce(double value) { return member.allreduce(value, fermata::Op::kSum); }
  std::array<double, 2> allreduce(double a, double b) {
    std::array<double, 2> both{a, b};
    member.allreduce(std::span<double>(both), fermata::Op::kSum);  // one call: both ride on one line
    return both;
  }
  void barrier() { member.barrier(); }
};

#ifdef _OPENMP
// Static, since a reduction inside a region needs variables that all its threads share: one solve at a time.
// Two sums for each of three calls in turn, so that one reduction needs no barrier but its own: the sums of
// the call after this one are cleared by rank 0 before this call's barrier, and everybody has read them by
// then (two calls ago).
alignas(64) double g_sums[3][8];

struct InRegion {
  int threads = omp_get_num_threads();
  int turn = 0;
  int rank() const { return omp_get_thread_num(); }
#ifdef __clang__
  // Orphaned reductions over elements of arrays gave wrong sums with clang 19 and its libomp, so by hand
  // there.
  double allreduce(double value) { return allreduce(value, 0)[0]; }
  std::array<double, 2> allreduce(double first, double second) {
    double* const sums = g_sums[advance()];
#pragma omp atomic
    sums[0] += first;
#pragma omp atomic
    sums[1] += second;
#pragma omp barrier
    return {sums[0], sums[1]};
  }
#else
  double allreduce(double value) {
    const int now = advance();
#pragma omp for schedule(static) reduction(+ : g_sums[now : 1][0 : 1])
    for (int part = 0; part < threads; ++part) g_sums[now][0] += value;
    return g_sums[now][0];
  }
  std::array<double, 2> allreduce(double first, double second) {
    const int now = advance();
#pragma omp for schedule(static) reduction(+ : g_sums[now : 1][0 : 2])
    for (int part = 0; part < threads; ++part) {
      g_sums[now][0] += first;
      g_sums[now][1] += second;
    }
    return {g_sums[now][0], g_sums[now][1]};
  }
#endif
  void barrier() {
#pragma omp barrier
  }

 private:
  int advance() {
    const int now = turn;
    turn = (turn + 1) % 3;
    if (rank() == 0) g_sums[turn][0] = g_sums[turn][1] = 0;
    return now;
  }
};
#endif

// The repeats of one member. Rank 0 keeps time and compares; the others are held by the barriers around each
// solve.
template <Team T>
void run_member(T& team, const Job& job, const std::vector<std::int32_t>& cuts, Vectors& vectors,
                Result& result) {
  if (!job.cpus.empty() && fermata_pin(job.cpus[static_cast<std::size_t>(team.rank())]) != FERMATA_OK)
    throw std::runtime_error(fermata_error_detail());
  const bool first = team.rank() == 0;
  for (int repeat = 0; repeat < job.repeats; ++repeat) {
    std::vector<double> earlier;
    if (first) {
      earlier.swap(result.outcome.residuals);
      result.outcome.residuals.reserve(static_cast<std::size_t>(job.limits.iterations) + 1);
    }
    team.barrier();
    const double start = first ? now() : 0;
    solve(team, *job.matrix, cuts, job.limits, vectors, result.outcome);
    team.barrier();
    if (!first) continue;
    result.seconds.push_back(now() - start);
    if (repeat > 0 && earlier != result.outcome.residuals) result.repeatable = false;
  }
}

}  // namespace

Result run_serial(const Job& job) {
  Result result;
  Vectors vectors(*job.matrix);
  Alone alone;
  run_member(alone, job, {0, job.matrix->rows}, vectors, result);
  result.solution = std::move(vectors.x);
  return result;
}

Result run_fermata(const Job& job) {
  Result result;
  Vectors vectors(*job.matrix);
  const auto cuts = partition(*job.matrix, job.threads);
  fermata::TeamOptions options;
  options.cpus = job.cpus;
  fermata::Team team(job.threads, options);
  std::exception_ptr failure;
  std::mutex guard;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < job.threads; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          fermata::Member member = team.join(rank);
          Together together{member};
          run_member(together, job, cuts, vectors, result);
        } catch (...) {
          const std::lock_guard lock(guard);
          if (!failure) failure = std::current_exception();
          team.abort();  // the others get an error instead of waiting for ever
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
  result.solution = std::move(vectors.x);
  return result;
}

#ifdef _OPENMP
Result run_openmp(const Job& job) {
  Result result;
  Vectors vectors(*job.matrix);
  const auto cuts = partition(*job.matrix, job.threads);
  g_sums[0][0] = g_sums[0][1] = 0;
  int given = 0;
  omp_set_dynamic(0);
#pragma omp parallel num_threads(job.threads)
  {
#pragma omp single
    given = omp_get_num_threads();
    if (given == job.threads) {
      InRegion region;
      run_member(region, job, cuts, vectors, result);
    }
  }
  if (given != job.threads)
    throw std::runtime_error("OpenMP gave " + std::to_string(given) + " threads instead of " +
                             std::to_string(job.threads));
  result.solution = std::move(vectors.x);
  return result;
}
#else
Result run_openmp(const Job&) { throw std::runtime_error("this program was built without OpenMP"); }
#endif

}  // namespace cg
