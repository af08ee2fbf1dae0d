// Lines on standard error.
#ifndef FERMATA_PRELOAD_COMMON_LINE_HPP
#define FERMATA_PRELOAD_COMMON_LINE_HPP

#include <stdarg.h>

namespace fermata::preload {

// Both write one line: "LIBRARY: ", the text and a newline, which the caller does not pass. It is one write,
// so that lines of several threads and processes do not mix. The line has at most 499 bytes, all included: a
// longer text is cut. The line is lost if standard error cannot take it at once. They keep errno.
__attribute__((format(printf, 2, 3))) void write_line(const char* library, const char* format, ...);
__attribute__((format(printf, 2, 0))) void write_line_of(const char* library, const char* format,
                                                         va_list arguments);

}  // namespace fermata::preload
#endif
