// What the switch FERMATA_VERBOSE writes to stderr: one line at load, one for each variable of Fermata's in
// the environment that is wrong, and one at the first fallback of each kind. Like every switch it is off if
// it is not set, empty or 0, and on otherwise.
#ifndef FERMATA_PRELOAD_PTHREAD_NOTICE_HPP
#define FERMATA_PRELOAD_PTHREAD_NOTICE_HPP

#include <cstdint>

#include "preload/common/line.hpp"

namespace fermata::preload {

// Why a barrier stays the C library's. text_of() tells each kind in a sentence.
enum class Fallback : std::uint8_t {
  kLayout,   // this C library's barriers have an unknown layout: all barriers stay
  kMemory,   // no memory for the table: all barriers stay
  kShared,   // the barrier is between processes, and FERMATA_PSHARED is off
  kCount,    // more than 2^30 threads
  kFull,     // too many barriers, or no memory for one more
  kForeign,  // it was not initialized by this library: copied, or made before this library was loaded
};

// At load. Reads the variable. Before this call, and if the variable is off, say_fallback() writes nothing.
void say_loaded(bool disabled);
void say_fallback(Fallback kind);
const char* text_of(Fallback kind);

}  // namespace fermata::preload
#endif
