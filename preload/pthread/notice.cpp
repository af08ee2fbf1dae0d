#include "notice.hpp"

#include <errno.h>
#include <fermata/fermata.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "os/environment.hpp"

namespace fermata::preload {
namespace {

bool verbose = false;                // written before the program's main
std::atomic<std::uint32_t> said{0};  // kinds whose line has been written

void say(const char* text) { write_line("fermata-pthread", "%s", text); }

}  // namespace

const char* text_of(Fallback kind) {
  switch (kind) {
    case Fallback::kLayout:
      return "this C library's barriers are not laid out as expected: all barriers stay the C library's";
    case Fallback::kMemory: return "no memory for the table: all barriers stay the C library's";
    case Fallback::kShared:
      return "a PTHREAD_PROCESS_SHARED barrier stays the C library's: FERMATA_PSHARED is not set";
    case Fallback::kCount: return "a barrier of more than 2^30 threads stays the C library's";
    case Fallback::kFull: return "too many barriers, or no memory for one more: it stays the C library's";
    case Fallback::kForeign:
      return "a barrier that was not initialized here (copied, or made before this library was loaded) stays "
             "the C library's";
  }
  return "";
}

void say_loaded(bool disabled) {
  verbose = os::is_on(os::Variable::kVerbose);
  if (!verbose) return;
  char text[128];
  std::snprintf(text, sizeof text, "version %d.%d in %.40s (process %d)%s", FERMATA_VERSION_MAJOR,
                FERMATA_VERSION_MINOR, program_invocation_short_name, static_cast<int>(getpid()),
                disabled ? ": off, FERMATA_DISABLE is set" : "");
  say(text);
  os::check_environment(say);
}

void say_fallback(Fallback kind) {
  if (!verbose) return;
  const std::uint32_t bit = 1u << static_cast<unsigned>(kind);
  // order: relaxed: one of several threads says it, and nothing else depends on it
  if ((said.load(std::memory_order_relaxed) & bit) != 0) return;
  if ((said.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) say(text_of(kind));  // order: see above
}

}  // namespace fermata::preload
