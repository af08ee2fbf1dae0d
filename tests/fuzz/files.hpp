// Helpers for readers that take a path, or that read several files under a root folder.
#ifndef FERMATA_TESTS_FUZZ_FILES_HPP
#define FERMATA_TESTS_FUZZ_FILES_HPP

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../own_folder.hpp"
#include "target.hpp"

namespace fermata::fuzz {

// The files of an input, separated by lines "--". Returns exactly `count`: missing files are empty, and the
// last one has the rest.
inline std::vector<std::string_view> files_of(std::string_view text, std::size_t count) {
  constexpr std::string_view kBetween = "--\n";
  std::vector<std::string_view> out;
  while (out.size() + 1 < count) {
    std::size_t at = 0;
    while ((at = text.find(kBetween, at)) != std::string_view::npos && at > 0 && text[at - 1] != '\n') ++at;
    out.push_back(text.substr(0, at));
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + kBetween.size());
  }
  out.push_back(text);
  return out;
}

// A file in memory, reused for every input: rewriting a file on a disk takes milliseconds.
class Unnamed {
 public:
  Unnamed() = default;
  Unnamed(const Unnamed&) = delete;
  ~Unnamed() { close(fd_); }
  std::string with(std::string_view content) const {
    if (fd_ < 0 || ftruncate(fd_, 0) != 0 ||
        pwrite(fd_, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
      fail("no file to read from", "");
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_ = memfd_create("input", MFD_CLOEXEC);
};

class Root {
 public:
  std::string path() const { return folder_.path(); }
  void write(const std::string& name, std::string_view content) {
    const auto [at, is_new] = files_.try_emplace(name);
    const std::string target = at->second.with(content);
    if (!is_new) return;
    const std::filesystem::path whole = folder_.path() / name;
    std::filesystem::create_directories(whole.parent_path());
    std::filesystem::create_symlink(target, whole);
  }

 private:
  test::OwnFolder folder_;
  std::map<std::string, Unnamed> files_;
};

}  // namespace fermata::fuzz
#endif
