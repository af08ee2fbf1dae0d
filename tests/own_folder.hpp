// A new empty folder of this test alone, which is removed with the object: tests run side by side, and so do
// whole suites.
#ifndef FERMATA_TESTS_OWN_FOLDER_HPP
#define FERMATA_TESTS_OWN_FOLDER_HPP

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

namespace fermata::test {

class OwnFolder {
 public:
  OwnFolder() {
    std::string name = std::filesystem::temp_directory_path() / "fermata-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Holds the cache of plans and profiles while the object lives.
class OwnCache : public OwnFolder {
 public:
  OwnCache() {
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    setenv("XDG_CACHE_HOME", path().c_str(), 1);
  }
  ~OwnCache() { before_ ? setenv("XDG_CACHE_HOME", before_->c_str(), 1) : unsetenv("XDG_CACHE_HOME"); }

 private:
  std::optional<std::string> before_;
};

}  // namespace fermata::test
#endif
