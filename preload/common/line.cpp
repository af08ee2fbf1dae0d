#include "line.hpp"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>

namespace fermata::preload {

bool environment_says(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && value[0] != '\0' && !(value[0] == '0' && value[1] == '\0');
}

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
    if (write(STDERR_FILENO, line, end + 1) < 0) {
      // Nowhere to say it.
    }
  }
  errno = saved;
}

}  // namespace fermata::preload
