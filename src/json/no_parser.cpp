// Replaces parse.cpp in a build without nlohmann-json. Such a build writes JSON, but does not read it.
#include "json/reader.hpp"

namespace fermata {

Result<JsonNode> read_json(std::string_view) {
  return Error{Status::kUnsupported, "this build reads no JSON: nlohmann-json was missing when it was made"};
}

}  // namespace fermata
