// The date and time of a measurement or a plan.
#ifndef FERMATA_PROFILE_UTC_HPP
#define FERMATA_PROFILE_UTC_HPP

#include <chrono>
#include <cstdio>
#include <string>

namespace fermata {

// Returns, for example, "2026-01-31T12:00:00Z". Does not call gmtime_r, which takes a lock of the C library:
// in a forked child that lock may stay locked for ever.
inline std::string utc_now() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

}  // namespace fermata
#endif
