// Writes the files that a command makes, and finds the libraries beside it.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "profile/store.hpp"

namespace fermata::tool {

namespace fs = std::filesystem;

namespace {

// A device, a pipe or a symbolic link. Renaming a new file to its path would replace it.
bool is_no_file(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

}  // namespace

void check_output(const std::string& path) {
  if (path.empty()) return;
  const fs::path folder = fs::absolute(path).parent_path();
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw CommandError(fmt::format("{}: there is no folder {}", path, folder.string()));
  if (fs::is_directory(path, ignored))
    throw CommandError(fmt::format("{}: this is a folder, not a file", path));
  const fs::path replaced = is_no_file(path) ? fs::path(path) : folder;
  if (access(replaced.c_str(), replaced == folder ? W_OK | X_OK : W_OK) != 0)
    throw CommandError(fmt::format("{}: {}", path, std::strerror(errno)));
}

std::string library_beside(const std::string& folder, const std::string& file) {
  std::error_code ignored;
  const fs::path top = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  for (const fs::path& where : {top / folder, top / FERMATA_LIBDIR, top / "lib"})
    if (fs::exists(where / file, ignored)) return fs::weakly_canonical(where / file, ignored).string();
  return "";
}

void write_output(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  check_output(path);  // the folder may have gone since the first check, and is not created again
  if (is_no_file(path)) {
    std::ofstream out(path, std::ios::binary);
    out << text << std::flush;
    if (!out) throw CommandError(path + ": cannot be written");
    return;
  }
  take(write_file_atomically(path, text));
}

}  // namespace fermata::tool
