#include "anonymous/stall.hpp"

#include <stdio.h>

#include <atomic>

#include "os/os.hpp"

namespace fermata::anonymous {
namespace {

constexpr int kPlaces = 1024;  // more threads than that wait unnamed

struct Place {
  std::atomic<const void*> barrier;  // null: free
  std::atomic<std::uint32_t> thread;
};
constinit Place g_places[kPlaces] = {};

std::int64_t limit_ns() {
  static constinit std::atomic<std::int64_t> known{-1};
  std::int64_t ns = known.load(std::memory_order_relaxed);  // order: relaxed: every thread would find the same
  if (ns >= 0) return ns;
  ns = os::stall_ns();
  known.store(ns, std::memory_order_relaxed);  // order: see above
  return ns;
}

int take_place(const void* barrier) {
  for (int i = 0; i < kPlaces; ++i) {
    const void* free = nullptr;
    // order: relaxed, here and below: text
    if (!g_places[i].barrier.compare_exchange_strong(free, barrier, std::memory_order_relaxed)) continue;
    g_places[i].thread.store(os::thread_id(), std::memory_order_relaxed);  // order: see above
    return i;
  }
  return -1;
}

}  // namespace

Stall::Stall(const void* barrier, std::uint64_t token, Standing (*standing)(const void*, std::uint64_t))
    : barrier_(barrier), token_(token), standing_(standing), limit_ns_(limit_ns()) {
  if (limit_ns_ != 0) place_ = take_place(barrier);
}

Stall::~Stall() {
  if (place_ >= 0) g_places[place_].barrier.store(nullptr, std::memory_order_relaxed);  // order: see above
}

void Stall::report(std::int64_t waited_ns) {
  limit_ns_ = 0;
  const os::ErrnoKept kept;
  const Standing standing = standing_(barrier_, token_);
  if (standing.missing == 0) return;  // it has just ended
  char text[2048];
  int at = snprintf(text, sizeof text,
                    "fermata: thread %u has waited %.1f s at barrier %p of %u: %u have arrived, %u are missing; in it wait threads",
                    os::thread_id(), static_cast<double>(waited_ns) * 1e-9, standing.name, standing.count,
                    standing.count - standing.missing, standing.missing);
  for (const Place& place : g_places) {
    // order: relaxed, both: text
    if (place.barrier.load(std::memory_order_relaxed) != barrier_ || at > static_cast<int>(sizeof text) - 20) continue;
    const std::uint32_t thread = place.thread.load(std::memory_order_relaxed);  // order: see above
    at += snprintf(text + at, sizeof text - static_cast<std::size_t>(at), " %u", thread);
  }
  text[at++] = '\n';
  os::write_stderr(text, static_cast<std::size_t>(at));
}

}  // namespace fermata::anonymous
