// The least for two members that move or sum a large payload and cannot read each other's memory: every byte
// is copied twice, by its sender into shared memory and by its receiver out of it. Each direction has a ring
// of pieces, so that both members copy at the same time. An allreduce sums one half of the payload at each
// member, and then they exchange the halves of the result.
//
// Variants: the sender's stores go through the caches, with a ring that fits into a second-level cache or one
// that does not, or past the caches.
#include <string.h>

#include <algorithm>
#include <atomic>

#include "bench/floors/floors.hpp"
#include "sync/stream.hpp"

namespace fermata::bench {
namespace {

constexpr std::size_t kPiece = 16384;  // bytes

template <std::size_t kSlots, bool kPastCaches>
class TwoCopies final : public Floor {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    bytes_ = static_cast<std::size_t>(c.bytes);
    ways_ = arena.make_array<Way>(2);
    sum_ = best_sum();
    for (int rank = 0; rank < 2; ++rank) ways_[rank].room = static_cast<std::byte*>(arena.allocate(kRoom));
    return {};
  }
  void work(int rank, Turn& turn) override {
    const bool sums = turn.collective == Collective::kAllreduce;
    // of the half that this member sums, and of the other one
    const std::size_t half = round_up(bytes_ / 2, kMinLine);
    const std::size_t own = rank == 0 ? 0 : half, other = half - own;
    const std::size_t own_bytes = rank == 0 ? half : bytes_ - half, other_bytes = bytes_ - own_bytes;
    run(rank, turn, [&](std::uint64_t, const double* input, double* output) {
      const auto* const in = reinterpret_cast<const std::byte*>(input);
      auto* const out = reinterpret_cast<std::byte*>(output);
      if (!sums) {
        if (rank == 0) exchange(rank, in, bytes_, 0, [](std::size_t, const std::byte*, std::size_t) {});
        else exchange(rank, nullptr, 0, bytes_, copy_to(out));
        return;
      }
      exchange(rank, in + other, other_bytes, own_bytes,
               [&](std::size_t at, const std::byte* piece, std::size_t bytes) {
                 sum_(input + (own + at) / 8, reinterpret_cast<const double*>(piece), output + (own + at) / 8,
                      bytes / 8);
               });
      exchange(rank, out + own, own_bytes, other_bytes, copy_to(out + other));
    });
  }

 private:
  static constexpr std::size_t kRoom = kSlots * kPiece;
  // One direction, from the member whose rank is its index.
  struct Way {
    alignas(kMaxLine) std::atomic<std::uint64_t> sent{0};
    alignas(kMaxLine) std::atomic<std::uint64_t> received{0};
    // plain: ordered by `sent` and `received`
    std::byte* room = nullptr;
  };
  static auto copy_to(std::byte* to) {
    return [to](std::size_t at, const std::byte* piece, std::size_t bytes) { memcpy(to + at, piece, bytes); };
  }

  // Sends `give` bytes, and takes `get` bytes, a piece of each in turn.
  template <class Take>
  void exchange(int rank, const std::byte* from, std::size_t give, std::size_t get, Take take) {
    Way& mine = ways_[rank];
    Way& theirs = ways_[1 - rank];
    std::size_t given = 0, got = 0;
    // order: relaxed: only this member writes them.
    std::uint64_t sent = mine.sent.load(std::memory_order_relaxed);
    std::uint64_t received = theirs.received.load(std::memory_order_relaxed);
    while (given < give || got < get) {
      bool moved = false;
      // order: acquire: the receiver's reads of the piece are over; pairs with its release below.
      if (given < give && sent < mine.received.load(std::memory_order_acquire) + kSlots) {
        const std::size_t bytes = std::min(kPiece, give - given);
        std::byte* const to = mine.room + sent % kSlots * kPiece;
        if (kPastCaches) copy_past_caches(to, from + given, bytes);
        else memcpy(to, from + given, bytes);
        given += bytes;
        // order: release: the piece is visible; pairs with the acquire below.
        mine.sent.store(++sent, std::memory_order_release);
        moved = true;
      }
      // order: acquire: the sender's piece is visible; pairs with the release above.
      if (got < get && received < theirs.sent.load(std::memory_order_acquire)) {
        const std::size_t bytes = std::min(kPiece, get - got);
        take(got, theirs.room + received % kSlots * kPiece, bytes);
        got += bytes;
        // order: release: the piece was read; pairs with the acquire above.
        theirs.received.store(++received, std::memory_order_release);
        moved = true;
      }
      if (!moved) cpu_pause();
    }
  }

  std::size_t bytes_ = 0;
  Way* ways_ = nullptr;
  SumFn sum_ = nullptr;
};

}  // namespace

std::unique_ptr<Subject> floor_two_copies(bool long_ring) {
  if (long_ring) return std::make_unique<TwoCopies<128, false>>();
  return std::make_unique<TwoCopies<16, false>>();
}
std::unique_ptr<Subject> floor_two_copies_past_caches() { return std::make_unique<TwoCopies<16, true>>(); }

}  // namespace fermata::bench
