// Lines on standard error.
#ifndef FERMATA_PRELOAD_COMMON_LINE_HPP
#define FERMATA_PRELOAD_COMMON_LINE_HPP

#include <stdarg.h>

namespace fermata::preload {

// Writes "LIBRARY: " and the text in one write, so that lines of several threads and processes do not mix.
// The line is cut after 499 bytes, with its newline. It is lost if standard error takes nothing now. Keeps
// errno.
__attribute__((format(printf, 2, 3))) void write_line(const char* library, const char* format, ...);
__attribute__((format(printf, 2, 0))) void write_line_of(const char* library, const char* format,
                                                         va_list arguments);

}  // namespace fermata::preload
#endif
