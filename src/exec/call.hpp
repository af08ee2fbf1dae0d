// Descriptors of calls: each member publishes the descriptors of its calls, and members compare them.
#ifndef FERMATA_EXEC_CALL_HPP
#define FERMATA_EXEC_CALL_HPP

#include <cstdint>

#include "base/collective.hpp"
#include "exec/cursor.hpp"
#include "exec/program.hpp"

namespace fermata::exec {

// A descriptor of a call, which packed() packs into a word. It is enough to name the call, and mostly to see
// that two members made different calls. Members that make the same call have the same descriptor.
//
// A line call is a barrier or a collective whose payload (at most 56 bytes) travels in slots, each within one
// cache line. A block call moves its data as exec/blocks.hpp says.
struct Call {
  static constexpr std::uint8_t kOwnType = 63;  // the caller's own element type
  static constexpr std::uint8_t kOwnOp = 15;    // the caller's own operator
  static constexpr unsigned kBytesAt = 30;
  // 16 GiB - 1, which also stands for any greater length
  static constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << (64 - kBytesAt)) - 1;

  Collective collective = Collective::kBarrier;
  std::uint8_t type = 0;
  std::uint8_t op = 0;
  std::uint32_t root = 0;
  // of a block; if blocks differ: hash_of() their sizes, or 0 if some members do not know the sizes
  std::uint64_t bytes = 0;
  bool irregular = false;  // blocks may differ in size
  bool prepares = false;   // creates a persistent operation
  // The order of a fold. kLineOrder marks a broadcast or a reduce as a line call; the plan sets the order.
  enum Order : std::uint8_t { kAnyOrder, kRankOrder, kLeftToRight, kLineOrder } order = kAnyOrder;

  constexpr std::uint64_t packed() const {
    return std::uint64_t{static_cast<std::uint8_t>(collective)} | std::uint64_t{type} << 4 |
           std::uint64_t{op} << 10 | std::uint64_t{root} << 14 | std::uint64_t{irregular} << 26 |
           std::uint64_t{prepares} << 27 | std::uint64_t{order} << 28 |
           (bytes < kMostBytes ? bytes : kMostBytes) << kBytesAt;
  }
  static Call unpack(std::uint64_t v) {
    return {static_cast<Collective>(v & 15),
            static_cast<std::uint8_t>(v >> 4 & 63),
            static_cast<std::uint8_t>(v >> 10 & 15),
            static_cast<std::uint32_t>(v >> 14 & 0xfff),
            v >> kBytesAt,
            (v >> 26 & 1) != 0,
            (v >> 27 & 1) != 0,
            static_cast<Order>(v >> 28 & 3)};
  }
  // The data go to the root, as in a reduce or a gather.
  bool inward() const { return root_gets(collective); }
  // false: no correct member publishes this
  bool fits() const { return order != kLineOrder || bytes <= kLinePayload; }
  // A hash of the sizes in bytes of `blocks` blocks, for `bytes`.
  static constexpr std::uint64_t hash_of(const std::size_t* counts, std::uint32_t blocks,
                                         std::size_t element) {
    std::uint64_t hash = 0;
    for (std::uint32_t b = 0; b < blocks; ++b)
      hash = (hash ^ counts[b] * element ^ hash >> 32) * 0x9E37'79B9'7F4A'7C15u;
    return hash >> (kBytesAt + 1);
  }
  // Returns the descriptor without its length and the fields that depend on the length. Members compare this
  // if their lengths may differ, in collectives with a root. The descriptors of other collectives stay whole,
  // because with different lengths one member would complete the call and another would not. The descriptors
  // of calls that create a persistent operation also stay whole.
  static constexpr std::uint64_t without_length(std::uint64_t packed) {
    if ((packed >> 27 & 1) != 0 || !has_root(static_cast<Collective>(packed & 15))) return packed;
    const bool broadcasts = (packed & 15) == static_cast<std::uint64_t>(Collective::kBroadcast);
    const std::uint64_t type = broadcasts ? std::uint64_t{63} << 4 : 0;  // small broadcasts publish no type
    const std::uint64_t order = (packed >> 28 & 3) == kLineOrder ? std::uint64_t{3} << 28 : 0;
    return packed & ((std::uint64_t{1} << kBytesAt) - 1) & ~type & ~order;
  }
  // True if two packed descriptors of a regular collective with a root differ only in their lengths.
  static bool only_lengths_differ(std::uint64_t a, std::uint64_t b) {
    const Call call = unpack(a);
    return has_root(call.collective) && !call.irregular && a != b && without_length(a) == without_length(b) &&
           call.fits() && unpack(b).fits();
  }
  // True if two such descriptors have the same length, and both are line calls or both block calls. A type
  // that a broadcast does not publish is no difference.
  static constexpr bool as_long(std::uint64_t a, std::uint64_t b) {
    return a >> kBytesAt == b >> kBytesAt && ((a >> 28 & 3) == kLineOrder) == ((b >> 28 & 3) == kLineOrder);
  }
};
static_assert(kCollectiveCount <= 16 && kTypeCount < Call::kOwnType && kOpCount < Call::kOwnOp &&
              kMaxTeamMembers <= 4096);

// Which part of a line call's payload a member takes as its result, and where it goes. The payload may carry
// several blocks.
struct Taken {
  void* out = nullptr;      // null: no result here
  std::uint32_t bytes = 0;  // of each block
  std::uint32_t blocks = 1;
  std::uint32_t first = 0;   // offset of the first block in the payload
  std::uint32_t stride = 0;  // bytes from one block to the next in the payload
};

// A digest of the calls that a member has made, in order. Members compare digests through the tags in slot
// headers (31 bits) and in pieces of blocks (63 bits), except pieces of persistent operations. The digest
// leaves out line calls that synchronize all members: no member completes such a call if one member makes
// another call instead. It also leaves out starts of persistent operations, which members may make in any
// order.
class History {
 public:
  void add(std::uint64_t call) {
    const std::uint64_t mixed = (digest_ ^ call) * kOdd;
    digest_ = mixed << 29 | mixed >> 35;
  }
  // Undoes the last add().
  void remove(std::uint64_t call) { digest_ = (digest_ << 35 | digest_ >> 29) * kInverse ^ call; }
  // The tag of the next line call. `own`: own_tag() of its descriptor; 0 for a barrier.
  std::uint64_t tag(std::uint64_t own) const { return (digest_ >> (64 - Header::kTagBits)) ^ own; }
  static constexpr std::uint64_t own_tag(std::uint64_t call) {
    return call * kOdd >> (64 - Header::kTagBits);
  }
  std::uint64_t digest() const { return digest_; }
  void restore(std::uint64_t digest) { digest_ = digest; }

 private:
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;
  // The inverse of kOdd modulo 2^64, by Newton's method: each step doubles the correct bits, 3 at first.
  static constexpr std::uint64_t kInverse = [] {
    std::uint64_t x = kOdd;
    for (int i = 0; i < 5; ++i) x *= 2 - kOdd * x;
    return x;
  }();
  static_assert(kOdd * kInverse == 1);
  std::uint64_t digest_ = 0;
};

}  // namespace fermata::exec
#endif
