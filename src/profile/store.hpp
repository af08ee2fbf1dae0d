// Stores profiles and plans between runs.
#ifndef FERMATA_PROFILE_STORE_HPP
#define FERMATA_PROFILE_STORE_HPP

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// $XDG_CACHE_HOME/fermata, else $HOME/.cache/fermata; empty if neither variable holds an absolute path, and
// in a setuid program. Does not create the directory.
std::string cache_directory();
// Removes the write permission of group and others from the cache directory, if this user owns the directory.
// A umask may have given the permission. libfermata-rt reads compiled plans only from a directory that nobody
// else can write.
void keep_cache_to_owner();

// Errors: kNotFound with the path if there is no file (load_profile also names the command that makes it), or
// without a path if cache_directory() is empty; kParse if the file is malformed, or (load_profile) was
// measured on another machine or engine; kSystem if it cannot be read.
Result<Profile> load_profile(const std::string& fingerprint, const std::string& engine);
Result<Profile> load_profile_file(const std::string& path);

// Returns the newest stored profile of an MPI job that had all of these hosts. Reads only the newest 32 files
// of jobs. Error: kNotFound.
Result<Profile> load_job_profile(const std::vector<std::string>& hosts);

// Writes profile-<fingerprint>-<engine>.json into cache_directory(), or job-<fingerprint>.json for an MPI
// job. Returns the path. Errors: kArgument if there is no cache directory or no fingerprint; kSystem.
Result<std::string> save_profile(const Profile& profile);
std::string profile_path(const std::string& fingerprint, const std::string& engine);
// The file in which libfermata-rt looks for a barrier plan for unpinned threads of this machine; empty if
// there is no cache directory.
std::string runtime_barrier_path(std::int32_t members);

// Writes the whole file or nothing: writes and syncs a temporary file in the same directory, then renames it
// to `path`. Creates missing directories. Returns the path.
Result<std::string> write_file_atomically(const std::string& path, std::string_view content);
// Refuses files larger than 1 GiB (kParse).
Result<std::string> read_file(const std::string& path);

// The error that there is no cache directory: kNotFound.
Error no_cache();
// Reads a file in the cache or elsewhere. An error names the file.
template <class Content>
Result<Content> load_file(const std::string& path, Result<Content> (*parse)(std::string_view)) {
  const auto text = read_file(path);
  if (!text) return text.error();
  auto content = parse(*text);
  if (!content) return Error{content.error().status, path + ": " + content.error().message};
  return content;
}

}  // namespace fermata
#endif
