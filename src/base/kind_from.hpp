// Finds the kind of a collective by its name, for code that reads text.
#ifndef FERMATA_BASE_KIND_FROM_HPP
#define FERMATA_BASE_KIND_FROM_HPP

#include <optional>
#include <string_view>

#include "base/kind.hpp"

namespace fermata {

// The inverse of name_of(Kind); nullopt if no kind has this name.
inline std::optional<Kind> kind_from(std::string_view name) {
  for (int k = 0; k < kKindCount; ++k)
    if (name == name_of(static_cast<Kind>(k))) return static_cast<Kind>(k);
  return std::nullopt;
}

}  // namespace fermata
#endif
