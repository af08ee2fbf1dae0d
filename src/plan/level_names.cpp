#include "plan/level_names.hpp"

namespace fermata {
namespace {

std::vector<std::string> cut_at(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == separator) parts.emplace_back();
    else parts.back() += c;
  return parts;
}

}  // namespace

bool names_levels(const std::string& spelled) { return spelled.find_first_of("/-") != std::string::npos; }

Result<std::vector<LevelName>> parse_levels(const std::string& spelled) {
  std::vector<LevelName> levels;
  for (const std::string& level : cut_at(spelled, '/')) {
    const std::vector<std::string> halves = cut_at(level, '-');
    if (halves.size() > 2 || level.find('|') != std::string::npos)
      return Error{Status::kParse, "'" + level.substr(0, 64) +
                                       "': expected one algorithm for each level, or two with '-' between "
                                       "them, for the arrival and the release"};
    const auto arrive = parse_algorithm(halves.front());
    if (!arrive) return arrive.error();
    LevelName name{*arrive, std::nullopt};
    if (halves.size() == 2) {
      const auto release = parse_algorithm(halves.back());
      if (!release) return release.error();
      name.release = *release;
    }
    levels.push_back(name);
  }
  return levels;
}

}  // namespace fermata
