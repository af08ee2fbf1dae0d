#include "anonymous/stall.hpp"

#include <stdio.h>

#include <atomic>

#include "anonymous/machine.hpp"
#include "os/os.hpp"

namespace fermata::anonymous {
namespace {

constexpr std::int64_t kAgainNs = 1'000'000'000;
constexpr int kPlaces = 1024;  // reports do not name further waiting threads

struct Place {
  std::atomic<const void*> barrier;  // null: free
  std::atomic<std::uint32_t> thread;
};
constinit Place g_places[kPlaces] = {};

int take_place(const void* barrier) {
  for (int i = 0; i < kPlaces; ++i) {
    const void* free = nullptr;
    // order: relaxed, here and below: only for reports
    if (!g_places[i].barrier.compare_exchange_strong(free, barrier, std::memory_order_relaxed)) continue;
    g_places[i].thread.store(os::thread_id(), std::memory_order_relaxed);  // order: see above
    return i;
  }
  return -1;
}

}  // namespace

Stall::Stall(const void* barrier, std::uint64_t token, Standing (*standing)(const void*, std::uint64_t))
    : barrier_(barrier), token_(token), standing_(standing), limit_ns_(stall_ns()) {
  if (limit_ns_ != 0) place_ = take_place(barrier);
}

Stall::~Stall() {
  if (place_ >= 0) g_places[place_].barrier.store(nullptr, std::memory_order_relaxed);  // order: see above
}

void Stall::report(std::int64_t waited_ns) {
  const os::ErrnoGuard guard;
  const Standing standing = standing_(barrier_, token_);
  if (standing.missing == 0) return;  // the phase has just ended
  char text[1024];                    // a thread's stack may be small
  const auto tenths = static_cast<unsigned long long>(waited_ns / 100'000'000);
  int at = snprintf(text, sizeof text,
                    "fermata: thread %u has waited %llu.%llu s at barrier %p of %u: %u have arrived, %u are "
                    "missing; waiting threads:",
                    os::thread_id(), tenths / 10, tenths % 10, standing.name, standing.count,
                    standing.count - standing.missing, standing.missing);
  for (const Place& place : g_places) {
    // order: relaxed, both: only for reports
    if (place.barrier.load(std::memory_order_relaxed) != barrier_ || at > static_cast<int>(sizeof text) - 20)
      continue;
    const std::uint32_t thread = place.thread.load(std::memory_order_relaxed);  // order: see above
    at += snprintf(text + at, sizeof text - static_cast<std::size_t>(at), " %u", thread);
  }
  text[at++] = '\n';
  // If standard error takes nothing now, try again later.
  limit_ns_ = os::write_stderr(text, static_cast<std::size_t>(at)) ? 0 : waited_ns + kAgainNs;
}

}  // namespace fermata::anonymous
