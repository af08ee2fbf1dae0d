#include "real.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "tag.hpp"

namespace fermata::preload {
namespace {

int no_init(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned) { return ENOSYS; }
int no_other(pthread_barrier_t*) { return ENOSYS; }

template <class Function>
Function* next(const char* name, Function* otherwise) {
  void* found = dlsym(RTLD_NEXT, name);
  return found != nullptr ? reinterpret_cast<Function*>(found) : otherwise;
}

}  // namespace

Real find_real() {
  return {next("pthread_barrier_init", no_init), next("pthread_barrier_wait", no_other),
          next("pthread_barrier_destroy", no_other)};
}

bool layout_is_known(const Real& real) {
  if constexpr (!kTagFits) return false;
  constexpr unsigned char kPattern = 0xA5;
  constexpr unsigned kCount = 1;
  pthread_barrier_t probe;
  unsigned char ours[sizeof(Tag)];
  const auto left_alone = [&] {
    std::memcpy(ours, reinterpret_cast<const char*>(&probe) + kTagOffset, sizeof ours);
    for (const unsigned char byte : ours) {
      if (byte != kPattern) return false;
    }
    return true;
  };
  std::memset(static_cast<void*>(&probe), kPattern, sizeof probe);
  if (real.init(&probe, nullptr, kCount) != 0) return false;
  // in, current_round, count, shared, out
  const std::uint32_t expected[kTagOffset / 4] = {0, 0, kCount, 0, 0};
  if (std::memcmp(&probe, expected, sizeof expected) != 0 || !left_alone()) return false;
  if (real.wait(&probe) != PTHREAD_BARRIER_SERIAL_THREAD || !left_alone()) return false;
  return real.destroy(&probe) == 0 && left_alone();
}

}  // namespace fermata::preload
