#ifndef FERMATA_PRELOAD_OPENMP_SETTINGS_HPP
#define FERMATA_PRELOAD_OPENMP_SETTINGS_HPP

#include <cstdint>

#include "run_time.hpp"

namespace fermata::preload {

// What a region's threads inherit, and can change (OpenMP 5.2, section 2.2).
struct Settings {
  int threads, dynamic, levels, nested, device, kind, chunk;
  std::uintptr_t allocator;
  bool operator==(const Settings&) const = default;

  static Settings now(const RunTime& run_time) {
    Settings s{.threads = run_time.max_threads(),
               .dynamic = run_time.dynamic(),
               .levels = run_time.max_active_levels(),
               .nested = run_time.nested != nullptr ? run_time.nested() : 0,
               .device = run_time.default_device != nullptr ? run_time.default_device() : 0,
               .kind = 0,
               .chunk = 0,
               .allocator = run_time.default_allocator != nullptr ? run_time.default_allocator() : 0};
    run_time.schedule(&s.kind, &s.chunk);
    return s;
  }
};

}  // namespace fermata::preload
#endif
