// Arguments that need no preparation: elements of predefined types without gaps, which Fermata uses where
// they lie. MPI_IN_PLACE is none of them.
#ifndef FERMATA_PRELOAD_MPI_FLAT_HPP
#define FERMATA_PRELOAD_MPI_FLAT_HPP

#include <cstddef>
#include <cstdint>

#include "communicator.hpp"
#include "sides.hpp"

namespace fermata::preload {

// The length in bytes; kNotFlat: these are no such arguments.
inline constexpr std::size_t kNotFlat = SIZE_MAX;
inline std::size_t flat(const void* at, MPI_Count count, MPI_Datatype type) {
  const Predefined* const t = predefined(type);
  const bool is_flat =
      t != nullptr && t->size == t->extent && count >= 0 && at != nullptr && at != MPI_IN_PLACE;
  return is_flat ? static_cast<std::size_t>(count) * t->size : kNotFlat;
}

inline std::size_t flat(const Side& side) { return flat(side.at, side.count, side.type); }

// Blocks of different sizes in a call of at most kMost ranks, in bytes as Fermata takes them.
class FlatBlocks {
 public:
  // Inline, because the caller knows in which form the counts are.
  [[gnu::always_inline]] FlatBlocks(const State& s, const Side& side)
      : at_(reinterpret_cast<std::uintptr_t>(side.at)) {
    const std::size_t element = flat(side.at, 1, side.type);
    const Numbers given = side.counts, places = side.displacements;
    if (element == kNotFlat || s.size > kMost || !given.given() || !places.given()) return;
    for (int r = 0; r < s.size; ++r) {
      if (given[r] < 0 || places[r] < 0) return;
      counts[r] = static_cast<std::size_t>(given[r]) * element;
      displacements[r] = static_cast<std::size_t>(places[r]) * element;
      if (displacements[r] + counts[r] > span_) span_ = displacements[r] + counts[r];
    }
    fit_ = true;
  }
  bool fit() const { return fit_; }  // false: do not use the rest
  // True: the blocks share no memory with it. False: they may.
  bool is_apart_from(const void* at, std::size_t bytes) const {
    const auto other = reinterpret_cast<std::uintptr_t>(at);
    return other + bytes <= at_ || at_ + span_ <= other;
  }
  bool is_apart_from(const FlatBlocks& other) const {
    return other.at_ + other.span_ <= at_ || at_ + span_ <= other.at_;
  }

  static constexpr int kMost = 16;
  std::size_t counts[kMost], displacements[kMost];

 private:
  std::uintptr_t at_;
  std::size_t span_ = 0;
  bool fit_ = false;
};

}  // namespace fermata::preload
#endif
