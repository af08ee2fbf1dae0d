// The preload libraries that `fermata run` loads into a program, or why it loads none.
#ifndef FERMATA_TOOLS_RUN_CHOICE_HPP
#define FERMATA_TOOLS_RUN_CHOICE_HPP

#include <string>
#include <vector>

namespace fermata::tool {

struct Choice {
  std::vector<std::string> libraries;
  std::string why;  // one line for people
};

// preloads: auto, none, or a list of names with commas. Throws CommandError for an unknown name, unless
// nothing may be preloaded anyway (run_alone.hpp).
Choice choose_preloads(const std::string& preloads, const std::vector<std::string>& command);

}  // namespace fermata::tool
#endif
