#include "plan/text.hpp"

#include <cstdarg>
#include <cstdio>

namespace fermata {

std::string format(const char* pattern, ...) {
  char text[512];
  va_list args;
  va_start(args, pattern);
  std::vsnprintf(text, sizeof text, pattern, args);
  va_end(args);
  return text;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string slower_by(const char* how, double ratio) {
  return ratio < 1.1 ? format("%s %.0f%% slower", how, 100 * (ratio - 1))
                     : format("%s %.1fx slower", how, ratio);
}

}  // namespace fermata
