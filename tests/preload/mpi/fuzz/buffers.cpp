// Buffers with guards: where blocks lie, what they hold before a call, and digests of what they hold after
// it.
#include <algorithm>
#include <cstring>

#include "call.hpp"

namespace fuzz {
namespace {

constexpr MPI_Aint kGuard = 128;

// The gap at the end of a pair belongs to the pair.
MPI_Aint span_of(const Type& t, int count) {
  return count == 0 ? 0
                    : (count - 1) * t.extent + t.true_extent +
                          (t.base->has_gaps ? t.base->extent - t.base->packed_size : 0);
}

// Places blocks in any order, with gaps, at multiples of `unit`.
void place_apart(Side& side, bool overlapping, bool in_bytes, Random& own) {
  std::vector<std::size_t> order;
  for (std::size_t b = 0; b < side.blocks.size(); ++b)
    order.insert(order.begin() + own.below(static_cast<int>(b) + 1), b);
  MPI_Aint next = 0;
  for (const std::size_t b : order) {
    Block& block = side.blocks[b];
    const MPI_Aint unit = in_bytes ? 16 : block.type->extent;
    // types differ from block to block
    const MPI_Aint behind = block.type->true_low + span_of(*block.type, block.count);
    const MPI_Aint units = overlapping ? 0 : (behind + unit - 1) / unit + own.below(3);
    block.offset = next * unit;
    block.displacement = static_cast<int>(in_bytes ? block.offset : next);
    next += units;
  }
}

}  // namespace

TypePointer draw_type(const Base& base, const std::vector<int>& elements, bool may_be_derived, int units,
                      Random& random) {
  if (units <= 1 && (!may_be_derived || random.chance(55))) return predefined(base);
  if (units == 0) units = random.one_of({1, 2, 3, 4, 6, 12});
  for (const int n : elements)
    if (n % units != 0) return derived(base, 1, true, random);
  return derived(base, units, true, random);
}

void lay_out(Side& side, const Shape& shape, Random& own) {
  side.given = true;
  TypePointer type = shape.type != nullptr
                         ? shape.type
                         : draw_type(*shape.base, shape.elements, shape.derived, shape.units, own);
  MPI_Aint offset = 0;
  for (const int n : shape.elements) {
    if (shape.each_its_type && shape.type == nullptr)
      type = draw_type(*shape.base, {n}, shape.derived, shape.units, own);
    Block b;
    b.type = type;
    b.count = n / type->elements;
    b.offset = offset;
    offset += b.count * type->extent;
    side.blocks.push_back(b);
  }
  if (shape.apart || shape.overlapping) place_apart(side, shape.overlapping, shape.each_its_type, own);
  for (const Block& b : side.blocks) {
    if (b.count == 0) continue;
    side.low = std::min(side.low, b.offset + b.type->true_low);
    side.high = std::max(side.high, b.offset + b.type->true_low + span_of(*b.type, b.count));
  }
  const MPI_Aint before = (kGuard - side.low + 63) / 64 * 64;
  side.bytes = static_cast<std::size_t>(before + side.high + kGuard + shape.slack);
  side.memory.resize(side.bytes + 64);
  const auto start = reinterpret_cast<std::uintptr_t>(side.memory.data());
  side.first = side.memory.data() + (64 - start % 64) % 64;
  side.at = side.first + before;
}

// Values depend on the seed only. Seed 0: all blocks hold the same.
void fill(Side& side, bool with_values, std::uint64_t value_seed, Random& own) {
  std::uint64_t noise = own.next();
  for (std::size_t i = 0; i < side.bytes; ++i) {
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    side.first[i] = static_cast<char>(noise >> 56);
  }
  if (!with_values) return;
  Random values{value_seed};
  std::vector<char> packed;
  for (const Block& b : side.blocks) {
    if (b.count == 0) continue;
    if (value_seed == 0) values = Random{value_seed};
    packed.clear();
    for (int i = 0; i < b.count * b.type->elements; ++i) add_value(*b.type->base, values, &packed);
    int position = 0;
    MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position, side.at + b.offset, b.count,
               b.type->handle, MPI_COMM_SELF);
  }
}

// data: digests the content of the blocks; all_bytes: also the gaps between them. The guards are always
// digested.
std::uint64_t digest_of(const Side& side, bool data, bool all_bytes) {
  Digest d;
  const char* const first = side.first;
  const char* const end = first + side.bytes;
  d.add(first, static_cast<std::size_t>(side.at + side.low - first));
  d.add(side.at + side.high, static_cast<std::size_t>(end - side.at - side.high));
  if (!data) return d.value();
  if (all_bytes) {
    d.add(side.at + side.low, static_cast<std::size_t>(side.high - side.low));
    return d.value();
  }
  std::vector<char> packed;
  for (const Block& b : side.blocks)
    for (int i = 0; i < b.count; ++i)
      for (const MPI_Aint offset : b.type->offsets) {
        const char* const at = side.at + b.offset + i * b.type->extent + offset;
        const Base& base = *b.type->base;
        const std::size_t half = static_cast<std::size_t>(std::abs(base.number_size));
        if (base.family == Family::kPair) {
          const std::size_t aligned = std::max<std::size_t>(half, sizeof(int));
          d.add(at, half);
          d.add(at + aligned, sizeof(int));
        } else if (base.family == Family::kFloating || base.family == Family::kComplex) {
          for (std::size_t done = 0; done < static_cast<std::size_t>(base.packed_size); done += half) {
            double value = 0;  // the sign of a zero depends on the order of a sum
            float narrow = 0;
            if (half == sizeof narrow) {
              std::memcpy(&narrow, at + done, half);
              value = narrow;
            } else {
              std::memcpy(&value, at + done, half);
            }
            value += 0.0;
            d.add(&value, sizeof value);
          }
        } else {
          d.add(at, static_cast<std::size_t>(base.packed_size));
        }
      }
  return d.value();
}

}  // namespace fuzz
