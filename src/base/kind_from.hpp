// Kinds of collectives by their names, for whoever reads text.
#ifndef FERMATA_BASE_KIND_FROM_HPP
#define FERMATA_BASE_KIND_FROM_HPP

#include <optional>
#include <string_view>

#include "base/kind.hpp"

namespace fermata {

// As name_of(Kind) gives it; nullopt: none is called so.
inline std::optional<Kind> kind_from(std::string_view name) {
  for (int k = 0; k < kKindCount; ++k)
    if (name == name_of(static_cast<Kind>(k))) return static_cast<Kind>(k);
  return std::nullopt;
}

}  // namespace fermata
#endif
