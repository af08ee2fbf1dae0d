// Link delays: a process measures the links from other hosts by lines that carry the time when they were
// sent. The clocks of two hosts differ, so only the sum of both directions, the round trip, has a meaning.
#ifndef FERMATA_EXEC_LINK_DELAYS_HPP
#define FERMATA_EXEC_LINK_DELAYS_HPP

#include <stdlib.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace fermata::exec {

// The sender reads the clock when it writes a line, so its delay before that does not count. The receiver's
// delay counts: a line that arrives while no thread looks at the port lands late. A line that may have waited
// longer than kMostUnseenNs is not used. The smallest delay among the last few other lines counts, because
// other causes, such as a lost CPU, only add. One thread at a time lands lines and calls note(). Any thread
// may call look(); refreshes read.
class LinkDelays {
 public:
  static constexpr std::int64_t kUnknown = INT64_MAX;

  // Free it with free(). Null: no memory.
  static LinkDelays* make(std::uint32_t hosts) {
    void* memory = calloc(1, sizeof(LinkDelays) + hosts * sizeof(From));
    if (memory == nullptr) return nullptr;
    auto* delays = new (memory) LinkDelays;
    delays->hosts_ = hosts;
    for (std::uint32_t h = 0; h < hosts; ++h) new (delays->from() + h) From;
    return delays;
  }

  // Called before the port hands over the lines that have arrived.
  void look(std::int64_t now) {
    const std::int64_t before = looked_ns_.load(std::memory_order_relaxed);  // order: relaxed: a time
    unseen_ns_.store(now - before, std::memory_order_relaxed);               // order: relaxed: a time
    looked_ns_.store(now, std::memory_order_relaxed);                        // order: relaxed: a time
  }
  // A line has come from that host. late_ns: the receiver's clock now, less the sender's in the line. probe:
  // the line is a probe (TeamPort::probe()); probes() counts it even if its delay is not used.
  void note(std::uint32_t host, std::int64_t late_ns, bool probe) {
    if (host >= hosts_) return;
    From& f = from()[host];
    // order: relaxed: a time
    const bool watched = unseen_ns_.load(std::memory_order_relaxed) <= kMostUnseenNs;
    // order: relaxed: only this thread writes it
    const std::uint64_t seen = f.seen.load(std::memory_order_relaxed);
    if (watched) {
      const std::int64_t now = looked_ns_.load(std::memory_order_relaxed);  // order: relaxed: a time
      // order: relaxed: a reader may see a mixture of old and new values, which does no harm
      f.late_ns[seen % kKept].store(late_ns, std::memory_order_relaxed);
      f.at_ns[seen % kKept].store(now, std::memory_order_relaxed);  // order: relaxed: as above
      f.seen.store(seen + 1, std::memory_order_relaxed);            // order: relaxed: as above
    }
    // order: relaxed: only this thread writes it, and a reader that waits for a probe accepts any value
    if (probe) f.probes.store(f.probes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // The smallest delay among the last few lines from that host, from the sender's clock to the receiver's.
  // Lines older than kOldNs are not used, because clocks drift. kUnknown: there are no newer lines.
  std::int64_t least_late_ns(std::uint32_t host, std::int64_t now) const {
    if (host >= hosts_) return kUnknown;
    const From& f = from()[host];
    const std::uint64_t seen = f.seen.load(std::memory_order_relaxed);  // order: relaxed: see note()
    std::int64_t least = kUnknown;
    for (std::uint64_t i = 0; i < kKept && i < seen; ++i) {
      // order: relaxed: see note()
      if (now - f.at_ns[i].load(std::memory_order_relaxed) > kOldNs) continue;
      const std::int64_t late = f.late_ns[i].load(std::memory_order_relaxed);  // order: relaxed: see note()
      if (late < least) least = late;
    }
    return least;
  }
  // How many probes have come from that host.
  std::uint64_t probes(std::uint32_t host) const {
    // order: relaxed: see note()
    return host < hosts_ ? from()[host].probes.load(std::memory_order_relaxed) : 0;
  }

 private:
  static constexpr std::uint32_t kKept = 8;
  // A waiting member mostly looks again within a millisecond (exec/waiter.hpp).
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
static_assert(sizeof(LinkDelays) % alignof(std::uint64_t) == 0);

}  // namespace fermata::exec
#endif
