// The best hand-written one-way stream between two members: the floor of a broadcast or a reduce of two.
// Back-to-back episodes do not wait for each other. There is a ring of slots and a credit word: the receiver
// writes it twice per ring, and the sender reads it only if its last reading no longer suffices.
#include <atomic>

#include "bench/floors/floors.hpp"

namespace fermata::bench {
namespace {

constexpr std::uint64_t kSlots = 16;

struct alignas(kMinLine) Slot {
  std::atomic<std::uint64_t> episode{0};
  // plain: ordered by `episode`, and the credit keeps the sender off a slot being read
  double payload[7] = {};
};

template <int kPauses>
class Stream final : public Floor {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    // Rank 0 is the root: it sends a broadcast and receives a reduction.
    sender_ = c.collective == Collective::kBroadcast ? 0 : 1;
    count_ = c.doubles();
    slots_ = arena.make_array<Slot>(kSlots);
    credit_ = arena.make<std::atomic<std::uint64_t>>(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    if (rank == sender_) {
      std::uint64_t free_until = kSlots;  // a value that is too low costs one more read of the credit
      run(rank, turn, [&](std::uint64_t e, const double* in, double*) {
        // order: acquire: the receiver's reads of the slot are over; pairs with its release.
        while (e > free_until && e > (free_until = credit_->load(std::memory_order_acquire) + kSlots))
          pause<kPauses>();
        Slot& slot = slots_[e % kSlots];
        for (int i = 0; i < count_; ++i) slot.payload[i] = in[i];
        // order: release: the payload is visible with the episode; pairs with the receiver's acquire.
        slot.episode.store(e, std::memory_order_release);
      });
    } else {
      const bool folds = turn.collective == Collective::kReduce;
      run(rank, turn, [&](std::uint64_t e, const double* in, double* out) {
        Slot& slot = slots_[e % kSlots];
        // order: acquire: the payload is visible; pairs with the sender's release.
        while (slot.episode.load(std::memory_order_acquire) != e) pause<kPauses>();
        for (int i = 0; i < count_; ++i) out[i] = folds ? in[i] + slot.payload[i] : slot.payload[i];
        // order: release: the reads above are over; pairs with the sender's acquire.
        if (e % (kSlots / 2) == 0) credit_->store(e, std::memory_order_release);
      });
    }
  }

 private:
  int sender_ = 0;
  int count_ = 1;
  Slot* slots_ = nullptr;
  std::atomic<std::uint64_t>* credit_ = nullptr;
};

}  // namespace

std::unique_ptr<Subject> floor_stream(int pauses) { return with_pauses<Stream>(pauses); }

}  // namespace fermata::bench
