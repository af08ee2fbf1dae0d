// Values as JSON text, for files that are written by hand to be read by people, too.
#ifndef FERMATA_TOPO_JSON_TEXT_HPP
#define FERMATA_TOPO_JSON_TEXT_HPP

#include <nlohmann/json.hpp>
#include <string>

namespace fermata {

inline std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace fermata
#endif
