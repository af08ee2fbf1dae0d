// The best hand-written exchange of 8 to 56 bytes between two members, which both sum in rank order: the
// floor of an allreduce of two. Each direction has two slots by parity, since the other member may still read
// the last one. A slot is one line: first the payload is stored, then the episode with release.
#include <atomic>

#include "bench/floors/floors.hpp"

namespace fermata::bench {
namespace {

template <int kDoubles>
struct Slot {
  std::atomic<std::uint64_t> episode{0};
  // plain: ordered by `episode`, and parity keeps the writer off a slot being read
  double payload[kDoubles] = {};
};

// Dense: the slots of both members are as close as possible without crossing a line (8 bytes: all four on one
// line). Otherwise the two members' lines are beyond the reach of the adjacent-line prefetcher.
template <int kPauses, bool kDense>
class Exchange final : public Floor {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    doubles_ = c.doubles();
    const std::size_t unit = doubles_ == 1 ? 16 : kMinLine;
    side_ = kDense ? unit : 2 * kMaxLine;
    slot_ = kDense ? 2 * unit : unit;
    // An all-zero slot is valid: episode 0, which no member awaits.
    base_ = static_cast<std::byte*>(arena.allocate(2 * side_ + 2 * slot_));
    return {};
  }
  void work(int rank, Turn& turn) override {
    switch (doubles_) {
      case 1: return exchange<1>(rank, turn);
      case 2: return exchange<2>(rank, turn);
      case 3: return exchange<3>(rank, turn);
      case 4: return exchange<4>(rank, turn);
      case 5: return exchange<5>(rank, turn);
      case 6: return exchange<6>(rank, turn);
      default: return exchange<7>(rank, turn);
    }
  }

 private:
  template <int kDoubles>
  void exchange(int rank, Turn& turn) {
    std::byte* const mine = base_ + static_cast<std::size_t>(rank) * side_;
    std::byte* const other = base_ + static_cast<std::size_t>(1 - rank) * side_;
    const std::size_t distance = slot_;
    run(rank, turn, [&](std::uint64_t e, const double* in, double* out) {
      const std::size_t offset = (e & 1) * distance;
      auto& to = *reinterpret_cast<Slot<kDoubles>*>(mine + offset);
      auto& from = *reinterpret_cast<Slot<kDoubles>*>(other + offset);
      for (int i = 0; i < kDoubles; ++i) to.payload[i] = in[i];
      // order: release: the payload is visible with the episode; pairs with the acquire below.
      to.episode.store(e, std::memory_order_release);
      // order: acquire: the other member's payload is visible; pairs with the release above.
      while (from.episode.load(std::memory_order_acquire) != e) pause<kPauses>();
      // With two summands both orders round to the same sum.
      for (int i = 0; i < kDoubles; ++i) out[i] = in[i] + from.payload[i];
    });
  }

  int doubles_ = 1;
  std::size_t slot_ = 0, side_ = 0;
  std::byte* base_ = nullptr;
};

template <int kPauses>
using Dense = Exchange<kPauses, true>;
template <int kPauses>
using Spaced = Exchange<kPauses, false>;

}  // namespace

std::unique_ptr<Subject> floor_exchange_dense(int pauses) { return with_pauses<Dense>(pauses); }
std::unique_ptr<Subject> floor_exchange_spaced(int pauses) { return with_pauses<Spaced>(pauses); }

}  // namespace fermata::bench
