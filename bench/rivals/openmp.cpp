// OpenMP's barrier and reductions inside a region. Source: reduction-with-barrier, section V (Algorithm 3).
// Compiled once per run-time into a worker of its own (bench/CMakeLists.txt); the environment has its
// settings.
#include <omp.h>

#include "bench/worker.hpp"

namespace fermata::bench {
namespace {

// Two sums, used alternately: a thread that is an episode ahead adds to the other one, so the last result can
// be read. They grow for ever; the result of an episode is the growth since the member's last read (exact:
// small integers). The variable of a reduction must be shared among the threads of the region: scalars are at
// file scope. Arrays are sections behind a pointer, since clang 19 does not privatize a section of an array
// at file scope (updates get lost).
alignas(kMaxLine) double g_sums[2][7];
alignas(kMaxLine) double g_even;
alignas(kMaxLine) double g_odd;

void fold_scalar(const double* in, bool odd, int members) {
  const double mine = in[0];
  if (odd) {
#pragma omp for reduction(+ : g_odd) schedule(static, 1)
    for (int i = 0; i < members; ++i) g_odd += mine;
  } else {
#pragma omp for reduction(+ : g_even) schedule(static, 1)
    for (int i = 0; i < members; ++i) g_even += mine;
  }
}

template <int kCount>
void fold_array(const double* in, bool odd, int members) {
  double* const sums = g_sums[odd];
#pragma omp for reduction(+ : sums[ : kCount]) schedule(static, 1)
  for (int i = 0; i < members; ++i) {
    for (int j = 0; j < kCount; ++j) sums[j] += in[j];
  }
}

struct alignas(kMaxLine) Local {
  double seen[2][7] = {};
  bool odd = false;
  bool pinned = false;
};

class OpenMp final : public Subject {
 public:
  explicit OpenMp(std::string name) : name_(std::move(name)) {}
  std::string prepare(const Case& c, Arena& arena) override {
    if (c.engine != Engine::kThreads) return "threads only";
    case_ = c;
    locals_ = arena.make_array<Local>(static_cast<std::size_t>(c.members));
    omp_set_dynamic(0);
    return {};
  }
  bool launches() const override { return true; }
  void launch(Turn& turn) override {
#pragma omp parallel num_threads(case_.members)
    {
      const int rank = omp_get_thread_num();
      if (omp_get_num_threads() != case_.members) {
        turn.lines[rank].status = 1;
      } else {
        Local& local = locals_[rank];
        if (!local.pinned && !case_.cpus.empty()) pin_self(case_.cpus[static_cast<std::size_t>(rank)]);
        local.pinned = true;
        work(rank, turn);
      }
    }
  }
  void work(int rank, Turn& turn) override {
    if (case_.collective == Collective::kBarrier) {
      return turn.run(rank, [] {
#pragma omp barrier
      });
    }
    switch (case_.doubles()) {
      case 1: return reduce<1>(rank, turn);
      case 2: return reduce<2>(rank, turn);
      case 3: return reduce<3>(rank, turn);
      case 4: return reduce<4>(rank, turn);
      case 5: return reduce<5>(rank, turn);
      case 6: return reduce<6>(rank, turn);
      default: return reduce<7>(rank, turn);
    }
  }
  std::string version() const override {
#if defined(__clang__)
    return std::string("libomp, clang ") + __clang_version__ + ", OpenMP " + std::to_string(_OPENMP);
#else
    return std::string("libgomp, g++ ") + __VERSION__ + ", OpenMP " + std::to_string(_OPENMP);
#endif
  }
  std::string description() const override { return name_; }

 private:
  template <int kCount>
  void reduce(int rank, Turn& turn) {
    Local& local = locals_[rank];
    const int members = case_.members;
    turn.run(rank, [&](const double* in, double* out) {
      const bool odd = local.odd = !local.odd;
      if constexpr (kCount == 1) {
        fold_scalar(in, odd, members);
      } else {
        fold_array<kCount>(in, odd, members);
      }
      const double* sum = kCount > 1 ? g_sums[odd] : odd ? &g_odd : &g_even;
      for (int i = 0; i < kCount; ++i) {
        out[i] = sum[i] - local.seen[odd][i];
        local.seen[odd][i] = sum[i];
      }
    });
  }
  const std::string name_;
  Case case_;
  Local* locals_ = nullptr;
};

std::unique_ptr<Subject> make(std::string_view name) {
  return name.empty() ? nullptr : std::make_unique<OpenMp>(std::string(name));
}

}  // namespace
}  // namespace fermata::bench

int main(int argc, char** argv) { return fermata::bench::worker_main(argc, argv, fermata::bench::make); }
