// What members say of their calls, and compare.
#ifndef FERMATA_EXEC_CALL_HPP
#define FERMATA_EXEC_CALL_HPP

#include <cstdint>

#include "base/kind.hpp"
#include "exec/cursor.hpp"
#include "exec/program.hpp"

namespace fermata::exec {

// What members say of a call: enough to name it, and to see that two made different ones. The same at all of them.
struct Call {
  static constexpr std::uint8_t kOwnType = 63;  // an opaque element
  static constexpr std::uint8_t kOwnOp = 15;    // an operator of the caller's
  static constexpr unsigned kBytesAt = 30;
  static constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << (64 - kBytesAt)) - 1;  // 16 GiB: so many or more

  Kind kind = Kind::kBarrier;
  std::uint8_t type = 0;
  std::uint8_t op = 0;
  std::uint32_t root = 0;
  std::uint64_t bytes = 0;  // of a block; where they differ a hash of all, or 0 if not all members know them
  bool irregular = false;   // blocks differ in size
  bool prepares = false;    // makes a persistent operation
  // Of a fold. kLineOrder: it rides on a line, in whatever order that folds.
  enum Order : std::uint8_t { kAnyOrder, kRankOrder, kLeftToRight, kLineOrder } order = kAnyOrder;

  constexpr std::uint64_t packed() const {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} | std::uint64_t{type} << 4 | std::uint64_t{op} << 10 | std::uint64_t{root} << 14 |
           std::uint64_t{irregular} << 26 | std::uint64_t{prepares} << 27 | std::uint64_t{order} << 28 |
           (bytes < kMostBytes ? bytes : kMostBytes) << kBytesAt;
  }
  static Call unpack(std::uint64_t v) {
    return {static_cast<Kind>(v & 15),
            static_cast<std::uint8_t>(v >> 4 & 63),
            static_cast<std::uint8_t>(v >> 10 & 15),
            static_cast<std::uint32_t>(v >> 14 & 0xfff),
            v >> kBytesAt,
            (v >> 26 & 1) != 0,
            (v >> 27 & 1) != 0,
            static_cast<Order>(v >> 28 & 3)};
  }
  bool fits() const { return order != kLineOrder || bytes <= kLinePayload; }  // if not, who said it lies
  // Of the sizes of so many blocks, as bytes.
  static constexpr std::uint64_t hash_of(const std::size_t* counts, std::uint32_t blocks, std::size_t element) {
    std::uint64_t hash = 0;
    for (std::uint32_t b = 0; b < blocks; ++b) hash = (hash ^ counts[b] * element ^ hash >> 32) * 0x9E37'79B9'7F4A'7C15u;
    return hash >> (kBytesAt + 1);
  }
  // Without its length, and what follows from that: of calls whose lengths may differ the rest is compared. All of it where one prepares,
  // or all members give and get: who has what fits would be done, and others not.
  static constexpr std::uint64_t without_length(std::uint64_t packed) {
    if ((packed >> 27 & 1) != 0 || !has_root(static_cast<Kind>(packed & 15))) return packed;
    const bool broadcasts = (packed & 15) == static_cast<std::uint64_t>(Kind::kBroadcast);
    const std::uint64_t type = broadcasts ? std::uint64_t{63} << 4 : 0;                           // which small ones don't say
    const std::uint64_t order = (packed >> 28 & 3) >= kLeftToRight ? std::uint64_t{3} << 28 : 0;  // which those on lines don't say
    return packed & ((std::uint64_t{1} << kBytesAt) - 1) & ~type & ~order;
  }
  // Two calls, packed, that are the same but for their lengths; of kinds where one member has the data or gets the result.
  static bool only_lengths_differ(std::uint64_t a, std::uint64_t b) {
    const Call call = unpack(a);
    return has_root(call.kind) && !call.irregular && a != b && without_length(a) == without_length(b) && call.fits() && unpack(b).fits();
  }
  // Of those: as long, and both on lines or neither? (Of what type is no difference where it is no part of the call.)
  static constexpr bool as_long(std::uint64_t a, std::uint64_t b) {
    return a >> kBytesAt == b >> kBytesAt && ((a >> 28 & 3) == kLineOrder) == ((b >> 28 & 3) == kLineOrder);
  }
};
static_assert(kKindCount <= 16 && kTypeCount < Call::kOwnType && kOpCount < Call::kOwnOp && kMaxMembers <= 4096);

// What a member takes of a line on which blocks ride together.
struct Taken {
  void* out = nullptr;      // null: nothing
  std::uint32_t bytes = 0;  // of a block
  std::uint32_t blocks = 1;
  std::uint32_t first = 0;   // offset of the first
  std::uint32_t stride = 0;  // from one to the next
};

// A digest of the calls that a member has made, in their order: what it compares with others' by way of tags, in the headers of slots and
// in pieces of blocks. Calls on lines that synchronize need not be in it: who makes another one waits in vain.
class History {
 public:
  void add(std::uint64_t call) {
    const std::uint64_t mixed = (digest_ ^ call) * kOdd;
    digest_ = mixed << 29 | mixed >> 35;
  }
  // The last one that was added was not made after all.
  void remove(std::uint64_t call) { digest_ = (digest_ << 35 | digest_ >> 29) * kInverse ^ call; }
  // Of a call that comes behind these. That of a barrier costs nothing.
  std::uint64_t tag(std::uint64_t own) const { return (digest_ >> (64 - Header::kTagBits)) ^ own; }
  static constexpr std::uint64_t own_tag(std::uint64_t call) { return call * kOdd >> (64 - Header::kTagBits); }
  std::uint64_t digest() const { return digest_; }
  void restore(std::uint64_t digest) { digest_ = digest; }

 private:
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;
  static constexpr std::uint64_t kInverse = [] {  // of kOdd, modulo 2^64: each step doubles the bits that are right, from 3
    std::uint64_t x = kOdd;
    for (int i = 0; i < 5; ++i) x *= 2 - kOdd * x;
    return x;
  }();
  static_assert(kOdd * kInverse == 1);
  std::uint64_t digest_ = 0;
};

}  // namespace fermata::exec
#endif
