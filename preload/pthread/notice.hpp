// What FERMATA_VERBOSE=1 writes to stderr: one line at load, one for each variable of Fermata's in the
// environment that is wrong, and one at the first fallback of each kind.
#ifndef FERMATA_PRELOAD_PTHREAD_NOTICE_HPP
#define FERMATA_PRELOAD_PTHREAD_NOTICE_HPP

#include <cstdint>

#include "preload/common/line.hpp"

namespace fermata::preload {

enum class Fallback : std::uint8_t { kLayout, kMemory, kShared, kCount, kFull, kForeign };

// At load. Reads the variable: without it the functions below write nothing.
void say_loaded(bool disabled);
void say_fallback(Fallback kind);
const char* text_of(Fallback kind);

}  // namespace fermata::preload
#endif
