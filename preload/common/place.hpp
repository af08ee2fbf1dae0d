// A call site as text, found in the kernel's list of mappings. The loader is not asked: its lock may be held
// by a thread that waits for this one (a constructor that meets others), and the text is made at a thread's
// first wait at the site.
#ifndef FERMATA_PRELOAD_COMMON_PLACE_HPP
#define FERMATA_PRELOAD_COMMON_PLACE_HPP

#include <cstddef>

namespace fermata::stats {

// "+0x1234 (/path/program)", counted from the object's first byte in memory. A path that doesn't fit becomes
// its last component. An address that is in no file, or in a process that cannot read /proc/self/maps:
// "0x7f12". Needs 1 KiB of stack and one descriptor for as long as it takes; calls the kernel alone, is no
// cancellation point, and keeps errno.
void describe_place(const void* site, char* to, std::size_t capacity);

}  // namespace fermata::stats
#endif
