// Where profiles (and plans) are kept between runs.
#ifndef FERMATA_PROFILE_STORE_HPP
#define FERMATA_PROFILE_STORE_HPP

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// $XDG_CACHE_HOME/fermata, else $HOME/.cache/fermata; empty if neither is set to an absolute path. Not
// created.
std::string cache_directory();
// libfermata-rt reads compiled plans there only if nobody else can have written them. A umask may let a group write: this takes that right
// away, if the folder is this user's.
void keep_cache_to_owner();

// kNotFound names the path and how to make the file; a file that is there but malformed is kParse.
Result<Profile> load_profile(const std::string& fingerprint, const std::string& engine);
Result<Profile> load_profile_file(const std::string& path);

// The newest that was kept of an MPI job which was on all of these hosts. Of many, only the newest few dozen are looked at.
Result<Profile> load_job_profile(const std::vector<std::string>& hosts);

// Writes profile-<fingerprint>-<engine>.json into cache_directory(), or job-<fingerprint>.json if it is an MPI job's. Returns the path.
Result<std::string> save_profile(const Profile& profile);
std::string profile_path(const std::string& fingerprint, const std::string& engine);
// Where libfermata-rt looks for a barrier of unpinned threads of this machine; empty without a cache directory.
std::string runtime_barrier_path(std::int32_t members);

// Whole or not at all: a file beside it is written, synced and renamed over it. Makes missing directories.
// Returns the path.
Result<std::string> write_file_atomically(const std::string& path, std::string_view content);
// Refuses files above 1 GiB.
Result<std::string> read_file(const std::string& path);

}  // namespace fermata
#endif
