#include "engines.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <iterator>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>

#include "bicgstab.hpp"
#include "conjugate_gradient.hpp"
#include "fermata/fermata.hpp"
#include "pipelined_cg.hpp"
#ifdef _OPENMP
#include <omp.h>
#endif

namespace cg {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Alone {
  bool nudged = false;
  bool up = false;
  std::array<double, 3> begun{};

  int rank() const { return 0; }
  template <std::size_t N>
  std::array<double, N> allreduce(std::array<double, N> values) {
    if (!nudged) return values;
    up = !up;
    for (double& value : values) value = std::nextafter(value, up ? HUGE_VAL : -HUGE_VAL);
    return values;
  }
  void barrier() {}
  void arrive() {}
  void depart() {}
  void begin(std::array<double, 3> values) { begun = values; }
  void progress() {}
  std::array<double, 3> finish() { return allreduce(begun); }
};

void check(int status) {
  if (status != FERMATA_OK) throw fermata::Error(status);
}

class Together {
 public:
  explicit Together(fermata::Member& member) : member_(member), rank_(member.rank()) {}
  ~Together() { fermata_request_free(request_); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  int rank() const { return rank_; }
  template <std::size_t N>
  std::array<double, N> allreduce(std::array<double, N> values) {
    member_.allreduce(std::span<double>(values), fermata::Op::kSum);  // one call: all values share one line
    return values;
  }
  void barrier() { member_.barrier(); }
  void arrive() { member_.arrive(); }
  void depart() { member_.depart(); }
  void begin(std::array<double, 3> values) {
    if (request_ == nullptr) prepare();
    sums_ = values;
    check(fermata_request_start(request_));
  }
  void progress() {
    if (const int status = fermata_progress(member_.get(), 0); status < 0) check(status);
  }
  std::array<double, 3> finish() {
    check(fermata_request_wait(request_));
    return sums_;
  }

 private:
  void prepare() {
    fermata_operation sum = FERMATA_OPERATION_INIT;
    sum.collective = FERMATA_ALLREDUCE;
    sum.in = FERMATA_IN_PLACE;
    sum.out = sums_.data();
    sum.count = sums_.size();
    sum.type = FERMATA_DOUBLE;
    sum.op = FERMATA_SUM;
    check(fermata_prepare(member_.get(), &sum, &request_));
  }

  fermata::Member& member_;
  const int rank_;
  std::array<double, 3> sums_{};
  fermata_request* request_ = nullptr;
};

#ifdef _OPENMP
// Static, since a reduction inside a region needs variables that all its threads share: one solve at a time.
// There are sums for three calls in turn, so one reduction needs only its own barrier. Before this call's
// barrier rank 0 clears the sums of the next call, which all threads read two calls ago.
alignas(64) double g_sums[3][8];

// OpenMP has neither split barriers nor nonblocking reductions: the second half does everything.
class InRegion {
 public:
  int rank() const { return omp_get_thread_num(); }
  template <std::size_t N>
  std::array<double, N> allreduce(std::array<double, N> values) {
    const int now = advance();
    add(values, now);
    std::copy_n(g_sums[now], N, values.begin());
    return values;
  }
  void barrier() {
#pragma omp barrier
  }
  void arrive() {}
  void depart() { barrier(); }
  void begin(std::array<double, 3> values) { mine_ = values; }
  void progress() {}
  std::array<double, 3> finish() { return allreduce(mine_); }

 private:
#ifdef __clang__
  // By hand, since orphaned reductions over elements of arrays give wrong sums with clang 19 and its libomp.
  template <std::size_t N>
  void add(const std::array<double, N>& values, int now) {
    for (std::size_t i = 0; i < N; ++i) {
      const double value = values[i];
#pragma omp atomic
      g_sums[now][i] += value;
    }
#pragma omp barrier
  }
#else
  template <std::size_t N>
  void add(const std::array<double, N>& values, int now) {
#pragma omp for schedule(static) reduction(+ : g_sums[now : 1][0 : N])
    for (int part = 0; part < threads_; ++part)
      for (std::size_t i = 0; i < N; ++i) g_sums[now][i] += values[i];
  }
#endif
  int advance() {
    const int now = turn_;
    turn_ = (turn_ + 1) % 3;
    if (rank() == 0) std::fill_n(g_sums[turn_], std::size(g_sums[turn_]), 0.0);
    return now;
  }

  const int threads_ = omp_get_num_threads();
  int turn_ = 0;
  std::array<double, 3> mine_{};
};
#endif

// The repeats of one member. Rank 0 measures the time and compares; the barriers around each solve hold the
// others.
template <class Solver, Team T>
void run_member(T& team, const Job& job, const std::vector<std::int32_t>& cuts, Solver& solver,
                Result& result) {
  if (!job.cpus.empty() && fermata_pin(job.cpus[static_cast<std::size_t>(team.rank())]) != FERMATA_OK)
    throw std::runtime_error(fermata_error_detail());
  const bool first = team.rank() == 0;
  const auto rank = static_cast<std::size_t>(team.rank());
  const Part part{*job.matrix,
                  {static_cast<std::size_t>(cuts[rank]), static_cast<std::size_t>(cuts[rank + 1])}};
  for (int repeat = 0; repeat < job.repeats; ++repeat) {
    std::vector<double> earlier;
    if (first) {
      earlier.swap(result.outcome.residuals);
      result.outcome.residuals.reserve(static_cast<std::size_t>(job.limits.iterations) + 1);
    }
    team.barrier();
    const double start = first ? now() : 0;
    solver.solve(team, part, job.limits, result.outcome);
    team.barrier();
    if (!first) continue;
    result.seconds.push_back(now() - start);
    if (repeat > 0 && earlier != result.outcome.residuals) result.repeatable = false;
  }
}

template <class Solver>
Result serial(const Job& job, bool nudged) {
  Result result;
  Solver solver(*job.matrix);
  Alone alone{.nudged = nudged};
  run_member(alone, job, {0, job.matrix->rows}, solver, result);
  result.solution = std::move(solver.x);
  return result;
}

template <class Solver>
Result with_fermata(const Job& job) {
  Result result;
  Solver solver(*job.matrix);
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
          Together together(member);
          run_member(together, job, cuts, solver, result);
        } catch (...) {
          const std::lock_guard lock(guard);
          if (!failure) failure = std::current_exception();
          team.abort();  // the others then get an error instead of waiting for ever
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
  result.solution = std::move(solver.x);
  return result;
}

#ifdef _OPENMP
template <class Solver>
Result with_openmp(const Job& job) {
  Result result;
  Solver solver(*job.matrix);
  const auto cuts = partition(*job.matrix, job.threads);
  std::fill_n(g_sums[0], std::size(g_sums[0]), 0.0);
  int given = 0;
  omp_set_dynamic(0);
#pragma omp parallel num_threads(job.threads)
  {
#pragma omp single
    given = omp_get_num_threads();
    if (given == job.threads) {
      InRegion region;
      run_member(region, job, cuts, solver, result);
    }
  }
  if (given != job.threads)
    throw std::runtime_error("OpenMP gave " + std::to_string(given) + " threads instead of " +
                             std::to_string(job.threads));
  result.solution = std::move(solver.x);
  return result;
}
#else
template <class Solver>
Result with_openmp(const Job&) {
  throw std::runtime_error("this program was built without OpenMP");
}
#endif

// Calls `run` with the method's solver as template argument.
template <class Run>
Result by_method(const Job& job, Run&& run) {
  switch (job.method) {
    case Method::kPipelinedCg: return run.template operator()<PipelinedCg>();
    case Method::kBicgstab: return run.template operator()<Bicgstab>();
    case Method::kConjugateGradient: break;
  }
  return run.template operator()<ConjugateGradient>();
}

Result run_alone(const Job& job, bool nudged) {
  return by_method(job, [&]<class Solver>() { return serial<Solver>(job, nudged); });
}

}  // namespace

Result run_serial(const Job& job) { return run_alone(job, false); }
Result run_nudged(const Job& job) { return run_alone(job, true); }

Result run_fermata(const Job& job) {
  return by_method(job, [&]<class Solver>() { return with_fermata<Solver>(job); });
}

Result run_openmp(const Job& job) {
  return by_method(job, [&]<class Solver>() { return with_openmp<Solver>(job); });
}

}  // namespace cg
