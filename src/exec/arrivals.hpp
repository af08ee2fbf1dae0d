// What a process sees of the links from other hosts: how late the lines come that say when they were sent. The two clocks differ, so
// only the sum of both directions means something: a round trip.
#ifndef FERMATA_EXEC_ARRIVALS_HPP
#define FERMATA_EXEC_ARRIVALS_HPP

#include <stdlib.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace fermata::exec {

// The clock is read where a line is written, so its sender's being late is not in it. Its receiver's is: a line that came while nobody
// looked lands when somebody does again. Such a line is left out, and of the last few others the least counts: what else delays a line,
// a CPU that was lost for one, only adds. Written by the thread that lands lines, one at a time; read by refreshes.
class Arrivals {
 public:
  static constexpr std::int64_t kUnknown = INT64_MAX;

  // Freed by free(); null: no memory.
  static Arrivals* make(std::uint32_t hosts) {
    void* memory = calloc(1, sizeof(Arrivals) + hosts * sizeof(From));
    if (memory == nullptr) return nullptr;
    auto* arrivals = new (memory) Arrivals;
    arrivals->hosts_ = hosts;
    for (std::uint32_t h = 0; h < hosts; ++h) new (arrivals->from() + h) From;
    return arrivals;
  }

  // Somebody is about to take in what has come.
  void look(std::int64_t now) {
    const std::int64_t before = looked_ns_.load(std::memory_order_relaxed);  // order: a time
    unseen_ns_.store(now - before, std::memory_order_relaxed);               // order: likewise
    looked_ns_.store(now, std::memory_order_relaxed);                        // order: likewise
  }
  void note(std::uint32_t host, std::int64_t late_ns, bool probe) {
    if (host >= hosts_) return;
    From& f = from()[host];
    const bool watched = unseen_ns_.load(std::memory_order_relaxed) <= kMostUnseenNs;  // order: a time
    const std::uint64_t seen = f.seen.load(std::memory_order_relaxed);                 // order: this thread alone writes it
    if (watched) {
      const std::int64_t now = looked_ns_.load(std::memory_order_relaxed);  // order: a time
      f.late_ns[seen % kKept].store(late_ns, std::memory_order_relaxed);    // order: a mixture of new ones and old does no harm
      f.at_ns[seen % kKept].store(now, std::memory_order_relaxed);          // order: likewise
      f.seen.store(seen + 1, std::memory_order_relaxed);                    // order: likewise
    }
    // order: relaxed: this thread alone writes it, and who waits for a probe takes what there is
    if (probe) f.probes.store(f.probes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // Of the last few lines from that host the least late, by both clocks; none that is old, since clocks drift.
  std::int64_t least_late_ns(std::uint32_t host, std::int64_t now) const {
    if (host >= hosts_) return kUnknown;
    const From& f = from()[host];
    const std::uint64_t seen = f.seen.load(std::memory_order_relaxed);  // order: see note()
    std::int64_t least = kUnknown;
    for (std::uint64_t i = 0; i < kKept && i < seen; ++i) {
      if (now - f.at_ns[i].load(std::memory_order_relaxed) > kOldNs) continue;  // order: see note()
      const std::int64_t late = f.late_ns[i].load(std::memory_order_relaxed);   // order: see note()
      if (late < least) least = late;
    }
    return least;
  }
  std::uint64_t probes(std::uint32_t host) const {
    return host < hosts_ ? from()[host].probes.load(std::memory_order_relaxed) : 0;  // order: see note()
  }

 private:
  static constexpr std::uint32_t kKept = 8;
  // Who waits looks again after a millisecond at most (exec/wait.cpp).
  static constexpr std::int64_t kMostUnseenNs = 2'000'000;

  static constexpr std::int64_t kOldNs = 1'000'000'000;

  struct From {
    std::atomic<std::uint64_t> seen{0};
    std::atomic<std::uint64_t> probes{0};
    std::atomic<std::int64_t> late_ns[kKept] = {}, at_ns[kKept] = {};
  };
  From* from() { return reinterpret_cast<From*>(this + 1); }
  const From* from() const { return reinterpret_cast<const From*>(this + 1); }

  std::atomic<std::int64_t> looked_ns_{0}, unseen_ns_{0};
  std::uint32_t hosts_ = 0;
};
static_assert(sizeof(Arrivals) % alignof(std::uint64_t) == 0);

}  // namespace fermata::exec
#endif
