// The stand-in with those entry points of libgomp that the driver uses.
#define STANDIN_RUN_TIME
#include "standin.hpp"

STANDIN_EXPORT void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned) {
  standin::Team team(static_cast<int>(threads));
  standin::run(team, [&](standin::Team&) { body(data); });
}

STANDIN_EXPORT void GOMP_barrier() { standin::meet(); }
STANDIN_EXPORT void GOMP_loop_end() { standin::meet(); }
STANDIN_EXPORT void GOMP_loop_end_nowait() {}
STANDIN_EXPORT void GOMP_sections_end() { standin::meet(); }
STANDIN_EXPORT void GOMP_sections_end_nowait() {}
