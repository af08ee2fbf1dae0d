// What Fermata finds in libgomp's thread-local memory, without knowing where it is there.
#ifndef FERMATA_PRELOAD_OPENMP_GOMP_STATE_HPP
#define FERMATA_PRELOAD_OPENMP_GOMP_STATE_HPP

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "run_time.hpp"
#include "thread_memory.hpp"

namespace fermata::preload {

inline constexpr std::size_t kWord = sizeof(std::uintptr_t);

inline std::uintptr_t word_at(const std::byte* at) {
  std::uintptr_t word = 0;
  memcpy(&word, at, kWord);
  return word;
}

// The pool: the threads that libgomp keeps for a thread's next region. The thread has a pointer to it.
class PoolPointer {
 public:
  // A pool begins with a pointer to an array of threads. The first of them is its owner, whose address is in
  // the same thread-local memory (libgomp.h and team.c of GCC 9 to 15). False: there is no such pointer, or
  // there are several.
  bool find(const Memory& memory) {
    const int saved = errno;
    if (is_readable(kWord)) return errno = saved, false;  // an emulator does not look at the set of signals
    int found = 0;
    for (std::size_t at = 0; at + kWord <= memory.bytes; at += kWord) {
      if (!memory.contains(read(read(word_at(memory.at + at))))) continue;
      at_ = at;
      ++found;
    }
    errno = saved;
    return found == 1;
  }
  std::uintptr_t in(const std::byte* memory) const { return word_at(memory + at_); }
  void set(std::byte* memory, std::uintptr_t pool) const { memcpy(memory + at_, &pool, kWord); }

 private:
  // The word there; 0: that is no address. The kernel reads 8 bytes of the set of signals, and then refuses
  // the call.
  static std::uintptr_t read(std::uintptr_t address) {
    if (address == 0 || address % kWord != 0 || !is_readable(address)) return 0;
    return word_at(reinterpret_cast<const std::byte*>(address));
  }
  static bool is_readable(std::uintptr_t address) {
    syscall(SYS_rt_sigprocmask, ~0, address, nullptr, kWord);
    return errno == EINVAL;
  }

  std::size_t at_ = 0;
};

// Libgomp's own key: the value of a thread that has a pool is in its thread-local memory. The key's
// destructor ends the pool's threads.
class ThreadEnd {
 public:
  // False: there is no such key, or there are several.
  bool find(const Memory& memory) {
    int found = 0;
    for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; ++key) {
      void* const value = pthread_getspecific(key);
      if (!memory.contains(reinterpret_cast<std::uintptr_t>(value))) continue;
      key_ = key;
      value_ = value;
      ++found;
    }
    return found == 1;
  }
  // Within the destructor of another key: libgomp's comes again.
  void renew() const { pthread_setspecific(key_, value_); }

 private:
  pthread_key_t key_ = 0;
  void* value_ = nullptr;
};

// How far the threads of a team have come in its loops, sections and singles. libgomp counts them from the
// begin of a team, in each thread. In a region of a conforming program all threads meet the same ones.
class Progress {
 public:
  // Finds what also counts the parts of one loop, which differ: it is -1 after a loop of one thread. The
  // calling thread is in no region.
  void settle(const RunTime& run_time, const Memory& memory) {
    std::byte before[kMostMemory];
    memcpy(before, memory.at, memory.bytes);
    long from = 0, to = 0;
    run_time.find(gomp::kStaticStart)(0, 1, 1, 0, &from, &to);
    ignored_ = 0;
    for (std::size_t i = 0; i < memory.bytes / kWord; ++i)
      if (word_at(memory.at + i * kWord) == UINTPTR_MAX) ignored_ |= std::uint32_t{1} << i;
    run_time.find(gomp::kLoopEndNowait)();
    memcpy(memory.at, before, memory.bytes);
  }
  // What has changed in a thread's memory, in kBits bits: mostly another number for other changes. 0:
  // nothing.
  std::uint64_t change(const std::byte* before, const std::byte* now, std::size_t bytes) const {
    if (memcmp(before, now, bytes) == 0) [[likely]]
      return 0;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < bytes / kWord; ++i) {
      const std::uint64_t changed = word_at(before + i * kWord) ^ word_at(now + i * kWord);
      if ((ignored_ >> i & 1) == 0 && changed != 0) all = (all ^ changed ^ i << 32) * 0x9e3779b97f4a7c15;
    }
    return all >> (64 - kBits);
  }
  static constexpr int kBits = 31;

 private:
  static_assert(kMostMemory / kWord <= 32);
  std::uint32_t ignored_ = 0;  // by words
};

// What the threads of a region note at its end, in one word: `or` of all their words.
struct Notes {
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << Progress::kBits) - 1;
  static constexpr std::uint64_t kChanged = 1;  // a thread has changed a setting

  static std::uint64_t of(bool changed, std::uint64_t progress) {
    return (changed ? kChanged : 0) | progress << 1 | (~progress & kMask) << (1 + Progress::kBits);
  }
  // Have all threads noted the same progress?
  static bool is_same(std::uint64_t all) { return (all >> 1 & all >> (1 + Progress::kBits) & kMask) == 0; }
};

}  // namespace fermata::preload

#endif
