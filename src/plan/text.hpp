// Text about plans, and hashes of text.
#ifndef FERMATA_PLAN_TEXT_HPP
#define FERMATA_PLAN_TEXT_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace fermata {

// Formats like printf; the result has at most 511 characters.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// Returns `how`, then the ratio of the times in words: "predicted 12% slower", "measured 1.8x slower".
std::string slower_by(const char* how, double ratio);

std::uint64_t hash_of(std::string_view text);  // FNV-1a

}  // namespace fermata
#endif
