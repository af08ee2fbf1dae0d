// Replaces parse.cpp in a build without nlohmann-json. Such a build writes JSON, but cannot read it.
#include "json/reader.hpp"

namespace fermata {

Result<JsonNode> read_json(std::string_view) {
  return Error{Status::kUnsupported, "this build can't read JSON: it was built without nlohmann-json"};
}

}  // namespace fermata
