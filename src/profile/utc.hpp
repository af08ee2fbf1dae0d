// The date of what is measured or planned.
#ifndef FERMATA_PROFILE_UTC_HPP
#define FERMATA_PROFILE_UTC_HPP

#include <ctime>
#include <string>

namespace fermata {

// "2026-01-31T12:00:00Z"
inline std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace fermata
#endif
