// Describes a call site as text, from the kernel's list of mappings. It does not ask the loader, whose lock
// may be held by a thread that waits for this one (in a constructor). The text is mostly made only at the
// process's first wait at the site.
#ifndef FERMATA_PRELOAD_COMMON_PLACE_HPP
#define FERMATA_PRELOAD_COMMON_PLACE_HPP

#include <cstddef>

namespace fermata::stats {

// Writes "+0x1234 (/path/program)", counted from the object's first byte in memory. addr2line takes this
// number for libraries and position-independent programs. For another program, add the address at which it
// begins. A path of more than 103 bytes loses its first components, and a last component of more than 103
// bytes its end. It writes "0x7f12" if the address is in no file, or the process cannot read /proc/self/maps.
// It cuts the text to capacity - 1 bytes and ends it with a null byte; capacity must not be 0. Needs 1 KiB of
// stack and, meanwhile, one descriptor. It makes its system calls directly, is no cancellation point, and
// keeps errno.
void describe_place(const void* site, char* to, std::size_t capacity);

}  // namespace fermata::stats
#endif
