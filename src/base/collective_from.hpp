// Finds a collective by its name, for code that reads text.
#ifndef FERMATA_BASE_COLLECTIVE_FROM_HPP
#define FERMATA_BASE_COLLECTIVE_FROM_HPP

#include <optional>
#include <string_view>

#include "base/collective.hpp"

namespace fermata {

// The inverse of name_of(Collective); nullopt if no collective has this name.
inline std::optional<Collective> collective_from(std::string_view name) {
  for (int k = 0; k < kCollectiveCount; ++k)
    if (name == name_of(static_cast<Collective>(k))) return static_cast<Collective>(k);
  return std::nullopt;
}

}  // namespace fermata
#endif
