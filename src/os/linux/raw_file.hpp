// Reads files in the middle of a wait, by system calls alone. The C library's functions are cancellation
// points, and a barrier is not: a thread that was cancelled in one would leave the others waiting. They may
// also allocate, and a preload may replace them.
#ifndef FERMATA_OS_LINUX_RAW_FILE_HPP
#define FERMATA_OS_LINUX_RAW_FILE_HPP

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace fermata::os {

// Call either read() or line() on a file, not both: line() reads ahead.
class RawFile {
 public:
  explicit RawFile(const char* path, int flags = O_RDONLY)
      : fd_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0))) {}
  ~RawFile() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  int fd() const { return fd_; }  // -1: the file cannot be opened

  // Reads at most `capacity` bytes by one call. Returns how many; 0 or less: none.
  long read(char* text, std::size_t capacity) const {
    return fd_ >= 0 ? syscall(SYS_read, fd_, text, capacity) : -1;
  }
  // Reads the next line without its newline, and skips what exceeds capacity - 1 bytes. Returns false at the
  // end of the file, or if it cannot be read.
  bool line(char* text, std::size_t capacity) {
    std::size_t length = 0;
    int c = next();
    if (c < 0) return false;
    for (; c >= 0 && c != '\n'; c = next())
      if (length + 1 < capacity) text[length++] = static_cast<char>(c);
    text[length] = '\0';
    return true;
  }

 private:
  int next() {  // the next byte; -1 at the end
    if (at_ == length_) {
      at_ = 0;
      do length_ = read(bytes_, sizeof bytes_);
      while (fd_ >= 0 && length_ < 0 && errno == EINTR);
      if (length_ <= 0) return length_ = 0, -1;
    }
    return static_cast<unsigned char>(bytes_[at_++]);
  }

  const int fd_;
  long at_ = 0, length_ = 0;
  char bytes_[256];  // threads with small stacks use this
};

}  // namespace fermata::os
#endif
