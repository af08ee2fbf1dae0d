// What this library keeps in a pthread_barrier_t: twelve bytes that glibc does not use.
//
//   bytes  0..19   glibc's: in, current_round, count, shared, out; if the barrier is Fermata's, as glibc's
//                  init left them
//   bytes 20..31   Fermata's: magic, index into the table, generation of that entry
//
// A barrier between processes is Fermata's alone, if FERMATA_PSHARED says that all of them are preloaded:
//
//   bytes  0..23   Fermata's barrier (fermata_anonymous_shared)
//   bytes 24..31   kSharedMagic
//
// If init leaves a single barrier to glibc, its index is one that no entry has: kLeft + the reason. No tag is
// written if all barriers stay glibc's: with FERMATA_DISABLE, with an unknown layout, or without memory for
// the table.
//
// A private barrier's tag alone proves nothing: it may be garbage, or copied with the barrier. The table's
// entry has to name the same address and generation (table.hpp).
#ifndef FERMATA_PRELOAD_PTHREAD_TAG_HPP
#define FERMATA_PRELOAD_PTHREAD_TAG_HPP

#include <fermata/fermata.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fermata::preload {

struct Tag {
  std::uint32_t magic = 0;
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
};

constexpr std::uint32_t kMagic = 0xF3A7'1B0Du;
constexpr std::uint32_t kLeft = 0xFFFF'FF00u;
constexpr std::size_t kTagOffset = 20;
constexpr bool kTagFits = sizeof(pthread_barrier_t) >= kTagOffset + sizeof(Tag);

// Not atomic: a thread that initializes a barrier must synchronize with the others before they use it, which
// orders these bytes.
inline Tag read_tag(const pthread_barrier_t* barrier) {
  Tag tag;
  if constexpr (kTagFits) std::memcpy(&tag, reinterpret_cast<const char*>(barrier) + kTagOffset, sizeof tag);
  return tag;
}

inline void write_tag(pthread_barrier_t* barrier, const Tag& tag) {
  if constexpr (kTagFits) std::memcpy(reinterpret_cast<char*>(barrier) + kTagOffset, &tag, sizeof tag);
}

// It also stands for the layout above, so it changes with fermata_anonymous_shared. Its low half lies where a
// tag has its index, and is no valid index.
constexpr std::uint64_t kSharedMagic = 0x0153'4346'F3A7'5BD1u;
constexpr std::size_t kSharedMagicOffset = 24;
constexpr bool kSharedFits = sizeof(pthread_barrier_t) >= kSharedMagicOffset + sizeof kSharedMagic &&
                             alignof(pthread_barrier_t) >= alignof(fermata_anonymous_shared);
static_assert(sizeof(fermata_anonymous_shared) <= kSharedMagicOffset);

inline fermata_anonymous_shared* shared_in(pthread_barrier_t* barrier) {
  return reinterpret_cast<fermata_anonymous_shared*>(barrier);
}

// Fermata's barrier in these bytes; null: it is no such barrier.
inline fermata_anonymous_shared* find_shared(pthread_barrier_t* barrier) {
  std::uint64_t magic = 0;
  if constexpr (kSharedFits)
    std::memcpy(&magic, reinterpret_cast<const char*>(barrier) + kSharedMagicOffset, sizeof magic);
  return magic == kSharedMagic ? shared_in(barrier) : nullptr;
}

inline void write_shared_magic(pthread_barrier_t* barrier) {
  if constexpr (kSharedFits)
    std::memcpy(reinterpret_cast<char*>(barrier) + kSharedMagicOffset, &kSharedMagic, sizeof kSharedMagic);
}

// glibc's count; valid if the layout is the known one.
inline std::uint32_t glibc_count(const pthread_barrier_t* barrier) {
  std::uint32_t count = 0;
  std::memcpy(&count, reinterpret_cast<const char*>(barrier) + 8, sizeof count);
  return count;
}

}  // namespace fermata::preload
#endif
