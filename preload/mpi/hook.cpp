#include "hook.hpp"

#include "communicator.hpp"
#include "pool.hpp"
#include "real.hpp"

namespace fermata::preload {

bool has_hook = false;

namespace {

#ifdef FERMATA_MPI_ASYNC
bool stops = false, stopped = false;

int on_progress(MPIX_Async_thing) {
  progress_in_library();
  stopped = stops;
  return stops ? MPIX_ASYNC_DONE : MPIX_ASYNC_NOPROGRESS;
}

bool start() {
  return start_async != nullptr && start_async(on_progress, nullptr, MPIX_STREAM_NULL) == MPI_SUCCESS;
}

// If these rounds are too few, MPI_Finalize makes the last one.
void stop() {
  constexpr int kRounds = 1'000;
  stops = true;
  for (int i = 0; !stopped && i < kRounds; ++i) drive_library();
}
#else
// Returns how many events there were. Open MPI may yield if there were none, and nothing tells it here.
int on_progress() {
  progress_in_library();
  return 0;
}

bool start() {
  return add_to_progress != nullptr && remove_from_progress != nullptr && add_to_progress(on_progress) == 0;
}

void stop() { remove_from_progress(on_progress); }
#endif

}  // namespace

bool add_hook() {
  has_hook = !several_threads && start();
  return has_hook;
}

void remove_hook() {
  if (has_hook) stop();
  has_hook = false;
}

}  // namespace fermata::preload
