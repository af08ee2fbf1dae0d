// How long a file may become. If a file grows beyond RLIMIT_FSIZE, the kernel sends SIGXFSZ, which by
// default ends the program.
#ifndef FERMATA_OS_FILE_LIMIT_HPP
#define FERMATA_OS_FILE_LIMIT_HPP

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

namespace fermata::os {

inline bool may_be_as_long(std::uint64_t bytes) {
  rlimit longest{};
  return getrlimit(RLIMIT_FSIZE, &longest) != 0 || longest.rlim_cur == RLIM_INFINITY ||
         bytes <= longest.rlim_cur;
}

// Returns true if fd is a regular file that cannot take `more` bytes at its end, or at its position if that
// is later.
inline bool is_full_file(int fd, std::uint64_t more) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const off_t at = lseek(fd, 0, SEEK_CUR);
  return !may_be_as_long(static_cast<std::uint64_t>(at > info.st_size ? at : info.st_size) + more);
}

}  // namespace fermata::os
#endif
