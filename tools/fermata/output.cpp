// Files that a command writes when it is done.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands.hpp"

namespace fermata::tool {

namespace fs = std::filesystem;

void check_output(const std::string& path) {
  if (path.empty()) return;
  const fs::path folder = fs::absolute(path).parent_path();
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) throw CommandError(fmt::format("{}: there is no folder {}", path, folder.string()));
  if (fs::is_directory(path, ignored)) throw CommandError(fmt::format("{}: this is a folder, not a file", path));
  if (access(folder.c_str(), W_OK | X_OK) != 0) throw CommandError(fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace fermata::tool
