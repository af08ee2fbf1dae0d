// Text about plans, for people.
#ifndef FERMATA_PLAN_TEXT_HPP
#define FERMATA_PLAN_TEXT_HPP

#include <string>

namespace fermata {

// Formats like printf; the result has at most 511 characters.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// Returns `how`, then the ratio of the times in words: "predicted 12% slower", "measured 1.8x slower".
std::string slower_by(const char* how, double ratio);

}  // namespace fermata
#endif
