#include "line.hpp"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>

#include "os/file_limit.hpp"

namespace fermata::preload {

void write_line(const char* library, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line_of(library, format, arguments);
  va_end(arguments);
}

void write_line_of(const char* library, const char* format, va_list arguments) {
  char line[500];
  const int saved = errno;
  const auto at = static_cast<std::size_t>(snprintf(line, sizeof line, "%.40s: ", library));
  const int length = vsnprintf(line + at, sizeof line - at - 1, format, arguments);
  if (length > 0) {
    std::size_t end = at + static_cast<std::size_t>(length);
    if (end > sizeof line - 2) end = sizeof line - 2;
    line[end] = '\n';
    // The C library's write() and poll() are cancellation points. A full pipe gets no line: the caller may be
    // within a wait.
    pollfd wanted{STDERR_FILENO, POLLOUT, 0};
    const timespec now{};
    const bool takes_bytes =
        syscall(SYS_ppoll, &wanted, 1, &now, nullptr, 0) == 1 && wanted.revents == POLLOUT;
    if (takes_bytes && !os::is_full_file(STDERR_FILENO, end + 1))
      syscall(SYS_write, STDERR_FILENO, line, end + 1);
  }
  errno = saved;
}

}  // namespace fermata::preload
