// Traces the effects of emitted code on memory: takes the place of std::atomic_ref and std::memcpy in an
// emitted header. An await passes at once, the test decides whether an add completes its word, and every
// access is printed with its memory order.
#ifndef FERMATA_TESTS_TRACED_HPP
#define FERMATA_TESTS_TRACED_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace traced {

alignas(128) inline unsigned char region[1 << 20];
inline unsigned decisions = 0;  // bit k: the k-th add completes its word
inline unsigned adds = 0, reads = 0, folds = 0;

inline const char* name_of(std::memory_order order) {
  if (order == std::memory_order_acquire) return "acquire";
  if (order == std::memory_order_release) return "release";
  return order == std::memory_order_acq_rel ? "acq_rel" : "another order";
}
using Value = unsigned long long;
inline Value offset_of(const void* p) {
  return static_cast<Value>(static_cast<const unsigned char*>(p) - region);
}
inline bool is_shared(const void* p) { return offset_of(p) < sizeof region; }

struct Seen {
  unsigned long long offset;
  std::memory_order order;
  bool operator<(std::uint64_t value) const {
    std::printf("await %llu %llu %s\n", offset, Value{value}, name_of(order));
    return false;
  }
};
struct Before {  // an add: a word's value before it, and later additions
  unsigned long long offset;
  std::memory_order order;
  std::uint64_t by, more;
  Before operator+(std::uint64_t n) const { return {offset, order, by, more + n}; }
  bool operator==(std::uint64_t last) const {
    const bool completes = by == more && (decisions >> adds++ & 1) != 0;
    std::printf("add %llu %llu until %llu %s\n", offset, Value{by}, Value{last}, name_of(order));
    return completes;
  }
};
struct Ref {
  explicit Ref(std::uint64_t& at) : offset(offset_of(&at)) {}
  Seen load(std::memory_order order) const { return {offset, order}; }
  void store(std::uint64_t value, std::memory_order order) const {
    std::printf("post %llu %llu %s\n", offset, Value{value}, name_of(order));
  }
  Before fetch_add(std::uint64_t by, std::memory_order order) const { return {offset, order, by, 0}; }
  unsigned long long offset;
};

// Values of a payload are numbered: the n-th value read is 1000 + n.
inline void copy(void* to, const void* from, std::size_t bytes) {
  if (is_shared(to))
    std::printf("write %llu: %llu, %zu bytes\n", offset_of(to), *static_cast<const Value*>(from), bytes);
  else
    std::printf("read %llu, %zu bytes\n", offset_of(from), bytes), *static_cast<Value*>(to) = 1000 + reads++;
}
inline Value fold(Value left, Value right) {
  std::printf("fold %llu %llu\n", left, right);
  return 5000 + folds++;
}

}  // namespace traced
#endif
