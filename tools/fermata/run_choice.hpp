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

// preloads: auto, none, or a list of names with commas. Loads nothing, whatever `preloads` says, if
// FERMATA_DISABLE is on, or if the program or a library that it loads is built with a sanitizer. Otherwise
// throws CommandError for an unknown name.
Choice choose_preloads(const std::string& preloads, const std::vector<std::string>& command);

}  // namespace fermata::tool
#endif
