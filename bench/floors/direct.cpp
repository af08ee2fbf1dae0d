// The least that memory allows two members that move or sum a large payload. Each member reads the other's
// contribution in place and writes its own result, with memcpy (floor_memcpy) or one plain loop (floor_sum).
// No data is copied twice. The synchronization is minimal: no member reads before the other has arrived, or
// leaves before the other has read. Variant "shared" gives each member half of the work, for both results: an
// allreduce then makes one pass over the payload less.
#include <string.h>

#include <atomic>

#include "bench/floors/floors.hpp"

namespace fermata::bench {
namespace {

[[gnu::always_inline]] inline void add(const double* a, const double* b, double* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}
[[gnu::always_inline]] inline void add_twice(const double* a, const double* b, double* to, double* too,
                                             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = too[i] = a[i] + b[i];
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void sum_avx2(const double* a, const double* b, double* __restrict to,
                                      std::size_t count) {
  add(a, b, to, count);
}
[[gnu::target("avx2")]] void sum_twice_avx2(const double* a, const double* b, double* __restrict to,
                                            double* __restrict too, std::size_t count) {
  add_twice(a, b, to, too, count);
}
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
constexpr auto sum_avx2 = add;
constexpr auto sum_twice_avx2 = add_twice;
bool has_avx2() { return false; }
#endif
void sum_plain(const double* a, const double* b, double* __restrict to, std::size_t count) {
  add(a, b, to, count);
}
void sum_twice_plain(const double* a, const double* b, double* __restrict to, double* __restrict too,
                     std::size_t count) {
  add_twice(a, b, to, too, count);
}

template <bool kShared>
class Direct final : public Floor {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    count_ = static_cast<std::size_t>(c.doubles());
    words_ = arena.make_array<Word>(2);
    if (has_avx2()) sum_ = sum_avx2, sum_twice_ = sum_twice_avx2;
    return {};
  }
  void work(int rank, Turn& turn) override {
    // Start and length of this member's share.
    const std::size_t half = round_up(count_ / 2, kMinLine / sizeof(double));
    const std::size_t begin = kShared && rank == 1 ? half : 0;
    const std::size_t length = !kShared ? count_ : rank == 0 ? half : count_ - half;
    run(rank, turn, [&](std::uint64_t e, const double*, double*) {
      meet(rank, 2 * e - 1);
      for (int to = 0; to < 2; ++to) {
        if (kShared || to == rank) give(turn, to, begin, length);
      }
      meet(rank, 2 * e);
    });
  }

 private:
  struct alignas(kMaxLine) Word {
    std::atomic<std::uint64_t> value{0};
  };
  void meet(int rank, std::uint64_t number) {
    // order: release: this member's reads and writes are over; pairs with the acquire below.
    words_[rank].value.store(number, std::memory_order_release);
    // order: acquire: the other member's writes are visible; pairs with the release above.
    while (words_[1 - rank].value.load(std::memory_order_acquire) < number) cpu_pause();
  }
  // Elements [begin, begin + length) of each block of the result of member `to`.
  void give(Turn& turn, int to, std::size_t begin, std::size_t length) const {
    const double* const ours[2] = {turn.in_of(0) + begin, turn.in_of(1) + begin};
    double* const result = turn.out_of(to) + begin;
    const std::size_t block = static_cast<std::size_t>(to) * count_;
    switch (turn.collective) {
      case Collective::kBroadcast:
      case Collective::kExscan:
        if (to == 1) copy(result, ours[0], length);
        break;
      case Collective::kReduce:
        if (to == 0) sum_(ours[0], ours[1], result, length);
        break;
      case Collective::kAllreduce:
        if (!kShared) return sum_(ours[0], ours[1], result, length);
        // One pass writes both results.
        if (to == 0) sum_twice_(ours[0], ours[1], result, turn.out_of(1) + begin, length);
        break;
      case Collective::kGather:
        if (to != 0) break;
        [[fallthrough]];
      case Collective::kAllgather:
        for (std::size_t from = 0; from < 2; ++from) copy(result + from * count_, ours[from], length);
        break;
      case Collective::kScatter: copy(result, ours[0] + block, length); break;
      case Collective::kAlltoall:
        for (std::size_t from = 0; from < 2; ++from) copy(result + from * count_, ours[from] + block, length);
        break;
      case Collective::kReduceScatter: sum_(ours[0] + block, ours[1] + block, result, length); break;
      case Collective::kScan:
        if (to == 0) {
          copy(result, ours[0], length);
        } else {
          sum_(ours[0], ours[1], result, length);
        }
        break;
      case Collective::kBarrier: break;
    }
  }
  static void copy(double* to, const double* from, std::size_t count) {
    memcpy(to, from, count * sizeof(double));
  }

  std::size_t count_ = 0;
  Word* words_ = nullptr;
  void (*sum_)(const double*, const double*, double*, std::size_t) = sum_plain;
  void (*sum_twice_)(const double*, const double*, double*, double*, std::size_t) = sum_twice_plain;
};

}  // namespace

SumFn best_sum() { return has_avx2() ? sum_avx2 : sum_plain; }
std::unique_ptr<Subject> floor_direct_own() { return std::make_unique<Direct<false>>(); }
std::unique_ptr<Subject> floor_direct_shared() { return std::make_unique<Direct<true>>(); }

}  // namespace fermata::bench
