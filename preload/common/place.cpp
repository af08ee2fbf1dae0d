#include "preload/common/place.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace fermata::stats {
namespace {

// The C library's open(), read() and close() are cancellation points, and another library may replace them.
class File {
 public:
  explicit File(const char* path)
      : fd_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0))) {}
  ~File() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int next() {  // -1: the end
    if (at_ == length_) {
      at_ = 0;
      do length_ = fd_ >= 0 ? syscall(SYS_read, fd_, text_, sizeof text_) : 0;
      while (length_ < 0 && errno == EINTR);
      if (length_ <= 0) return length_ = 0, -1;
    }
    return static_cast<unsigned char>(text_[at_++]);
  }

 private:
  int fd_;
  long at_ = 0, length_ = 0;
  char text_[512];
};

int digit(int c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

// A hexadecimal number and the character after it.
std::uintptr_t number(File& file) {
  std::uintptr_t value = 0;
  for (int c = file.next(), d; (d = digit(c)) >= 0; c = file.next())
    value = value * 16 + static_cast<unsigned>(d);
  return value;
}

void skip_word(File& file) {
  for (int c = file.next(); c != ' ' && c != '\n' && c >= 0;) c = file.next();
}

// A path that keeps its last component if it gets too long.
class Path {
 public:
  void clear() { length_ = 0, hash_ = 14695981039346656037u; }
  void add(char c) {
    hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
    if (length_ + 1 < sizeof text_) {
      text_[length_++] = c;
    } else if (const auto* slash = static_cast<const char*>(memrchr(text_, '/', length_)); slash != nullptr) {
      length_ = static_cast<std::size_t>(text_ + length_ - (slash + 1));
      memmove(text_, slash + 1, length_);
      text_[length_++] = c;
    } else if (c == '/') {
      length_ = 0;
    }
  }
  const char* text() { return text_[length_] = '\0', text_; }
  std::size_t length() const { return length_; }
  std::uint64_t hash() const { return hash_; }  // of the whole path

 private:
  std::size_t length_ = 0;
  std::uint64_t hash_ = 0;
  char text_[104];
};

// Where the object that holds `site` begins; 0: no file is mapped there.
std::uintptr_t find(std::uintptr_t site, Path& path) {
  File maps("/proc/self/maps");
  std::uintptr_t base = 0;
  std::uint64_t before = 0;
  for (;;) {
    // "start-end rwxp offset device inode path"
    const std::uintptr_t start = number(maps), end = number(maps);
    if (end == 0) return 0;
    skip_word(maps);
    const std::uintptr_t offset = number(maps);
    skip_word(maps);
    skip_word(maps);
    path.clear();
    int c = maps.next();
    while (c == ' ') c = maps.next();
    for (; c != '\n' && c >= 0; c = maps.next()) path.add(static_cast<char>(c));
    if (offset == 0 || path.hash() != before) base = start;
    before = path.hash();
    if (start <= site && site < end) return path.length() > 0 && path.text()[0] != '[' ? base : 0;
  }
}

char* put(char* at, const char* end, const char* text) {
  while (*text != '\0' && at < end) *at++ = *text++;
  return at;
}

char* put(char* at, const char* end, std::uintptr_t value) {
  int shift = 0;
  while (shift < 60 && value >> shift >> 4 != 0) shift += 4;
  at = put(at, end, "0x");
  for (; shift >= 0 && at < end; shift -= 4) *at++ = "0123456789abcdef"[value >> shift & 15];
  return at;
}

}  // namespace

void describe_place(const void* site, char* to, std::size_t capacity) {
  const int saved = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(site);
  const char* const end = to + capacity - 1;
  Path path;
  const std::uintptr_t base = find(address, path);
  if (base == 0) {
    *put(to, end, address) = '\0';
  } else {
    char* at = put(put(to, end, "+"), end, address - base);
    *put(put(put(at, end, " ("), end, path.text()), end, ")") = '\0';
  }
  errno = saved;
}

}  // namespace fermata::stats
