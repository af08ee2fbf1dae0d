// The verdict on a slower candidate, in words.
#ifndef FERMATA_UNIT_PLAN_SLOWER_BY_HPP
#define FERMATA_UNIT_PLAN_SLOWER_BY_HPP

#include <string>

#include "base/text.hpp"

namespace fermata {

// Returns `how`, then the ratio of the times: "predicted 7% slower", "measured 1.8x slower".
inline std::string slower_by(const char* how, double ratio) {
  return ratio < 1.1 ? format("%s %.0f%% slower", how, 100 * (ratio - 1))
                     : format("%s %.1fx slower", how, ratio);
}

}  // namespace fermata
#endif
