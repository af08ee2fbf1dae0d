// Text, for code that plans: formats, numbers, hashes, and names of collectives.
#ifndef FERMATA_BASE_TEXT_HPP
#define FERMATA_BASE_TEXT_HPP

#include <charconv>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/collective.hpp"

namespace fermata {

// Formats like printf; the result has at most 511 characters.
[[gnu::format(printf, 1, 2)]] inline std::string format(const char* pattern, ...) {
  char text[512];
  va_list args;
  va_start(args, pattern);
  std::vsnprintf(text, sizeof text, pattern, args);
  va_end(args);
  return text;
}

// Returns "1 stage" or "3 stages", for example.
inline std::string counted(std::size_t n, const char* one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

// Reads the whole text as one number; nullopt: it is not a number, or more follows.
template <class T = std::int32_t>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}
// The same; nullopt also if the number is outside least..most.
template <class T>
std::optional<T> parse_number(std::string_view text, T least, T most) {
  const std::optional<T> value = parse_number<T>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

// The shortest text that reads back as the same number.
inline std::string number_text(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// Returns what comes before the first blank, and removes it and the blank from `rest`.
inline std::string_view take_word(std::string_view& rest) {
  const auto blank = rest.find(' ');
  const std::string_view word = rest.substr(0, blank);
  rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
  return word;
}

// FNV-1a. `hash`: of the text before.
inline std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}
inline std::string hex(std::uint64_t value) {  // 16 digits
  return format("%016llx", static_cast<unsigned long long>(value));
}

// The inverse of name_of(Collective); nullopt if no collective has this name.
inline std::optional<Collective> collective_from(std::string_view name) {
  for (int k = 0; k < kCollectiveCount; ++k)
    if (name == name_of(static_cast<Collective>(k))) return static_cast<Collective>(k);
  return std::nullopt;
}

}  // namespace fermata
#endif
