#include "profile/store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "os/file_limit.hpp"
#include "os/os.hpp"

namespace fermata {

namespace {

Error system_error(const std::string& path, const char* what, int code) {
  return {Status::kSystem, path + ": " + what + ": " + std::strerror(code)};
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string job_path(const std::string& fingerprint) {
  const std::string directory = cache_directory();
  return directory.empty() || fingerprint.empty() ? std::string()
                                                  : directory + "/job-" + fingerprint + ".json";
}

bool is_word(const std::string& text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
}

}  // namespace

std::string cache_directory() {
  const char* cache = secure_getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/fermata";
  const char* home = secure_getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/fermata";
  return {};
}

void keep_cache_to_owner() {
  const std::string directory = cache_directory();
  struct stat found;
  if (::stat(directory.c_str(), &found) != 0 || found.st_uid != ::geteuid()) return;
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) ::chmod(directory.c_str(), found.st_mode & 0755);
}

std::string profile_path(const std::string& fingerprint, const std::string& engine) {
  const std::string directory = cache_directory();
  if (directory.empty() || !is_word(fingerprint) || !is_word(engine)) return {};
  return directory + "/profile-" + fingerprint + "-" + engine + ".json";
}

std::string runtime_barrier_path(std::int32_t members) {
  char path[4096];
  return os::barrier_plan_path(static_cast<std::uint32_t>(members), path, sizeof path) ? path : std::string();
}

Result<std::string> read_file(const std::string& path) {
  constexpr off_t kMaxBytes = 1 << 30;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int code = errno;
    if (code == ENOENT) return Error{Status::kNotFound, path + ": no such file"};
    return system_error(path, "can't be opened", code);
  }
  std::string content;
  char buffer[65536];
  ssize_t n = 0;
  while ((n = ::read(fd, buffer, sizeof buffer)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || static_cast<off_t>(content.size()) + n > kMaxBytes) break;
    content.append(buffer, static_cast<std::size_t>(n));
  }
  const int code = errno;
  ::close(fd);
  if (n < 0) return system_error(path, "can't be read", code);
  if (n > 0) return Error{Status::kParse, path + ": larger than 1 GiB"};
  return content;
}

Result<std::string> write_file_atomically(const std::string& path, std::string_view content) {
  if (!os::may_be_as_long(content.size())) return system_error(path, "can't be written", EFBIG);
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code ec;
  if (!parent.empty()) std::filesystem::create_directories(parent, ec);
  if (ec) return system_error(parent.string(), "can't be created", ec.value());
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return system_error(path, "can't be written", errno);
  const bool written = write_all(fd, content) && ::fchmod(fd, 0644) == 0 && ::fsync(fd) == 0;
  const int code = errno;
  ::close(fd);
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0) return path;
  const int failure = written ? errno : code;
  ::unlink(temporary.c_str());
  return system_error(path, "can't be written", failure);
}

Error no_cache() { return {Status::kNotFound, "no cache directory: set HOME or XDG_CACHE_HOME"}; }

Result<Profile> load_profile_file(const std::string& path) { return load_file(path, profile_from_json); }

Result<Profile> load_profile(const std::string& machine, const std::string& engine) {
  const std::string path = profile_path(machine, engine);
  if (path.empty()) return no_cache();
  auto profile = load_profile_file(path);
  if (!profile && profile.error().status == Status::kNotFound) {
    const std::string flag = engine == "processes" ? " --processes" : "";
    return Error{Status::kNotFound,
                 path + ": this machine has no profile yet; run `fermata profile" + flag + "`"};
  }
  if (profile && (profile->fingerprint != machine || profile->engine != engine))
    return Error{Status::kParse,
                 path + ": line 1: it was measured on another machine or engine than its name says"};
  return profile;
}

Result<Profile> load_job_profile(const std::vector<std::string>& hosts) {
  constexpr std::size_t kMostLookedAt = 32;
  std::error_code ec;
  std::vector<std::pair<std::filesystem::file_time_type, std::string>> kept;
  const std::string directory = cache_directory();
  if (!directory.empty())
    for (const auto& entry : std::filesystem::directory_iterator(directory, ec))
      if (entry.path().filename().string().rfind("job-", 0) == 0 && entry.path().extension() == ".json")
        kept.emplace_back(entry.last_write_time(ec), entry.path().string());
  std::sort(kept.rbegin(), kept.rend());
  kept.resize(std::min(kept.size(), kMostLookedAt));
  for (const auto& [time, path] : kept) {
    auto profile = load_profile_file(path);
    if (!profile) continue;
    const auto has = [&](const std::string& name) {
      return std::find(profile->hosts.begin(), profile->hosts.end(), name) != profile->hosts.end();
    };
    if (std::all_of(hosts.begin(), hosts.end(), has)) return profile;
  }
  return Error{Status::kNotFound,
               "no MPI job on these hosts has been measured yet; run `mpirun ... fermata profile --mpi`"};
}

Result<std::string> save_profile(const Profile& profile) {
  const std::string path = profile.hosts.empty() ? profile_path(profile.fingerprint, profile.engine)
                                                 : job_path(profile.fingerprint);
  if (path.empty())
    return Error{Status::kArgument, "no cache directory (set HOME or XDG_CACHE_HOME), or no fingerprint"};
  return write_file_atomically(path, to_json(profile));
}

}  // namespace fermata
