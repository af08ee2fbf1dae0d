#include "noted.hpp"

namespace fermata::preload {

__thread Here here = {};

namespace {

// The calling thread's innermost noted region of this run-time library, and its place there; null: there is
// none.
const Here* innermost_of(const RunTime* run_time) {
  const Here* at = &here;
  while (at->region != nullptr && at->region->run_time != run_time) at = at->outer;
  return at->region != nullptr ? at : nullptr;
}

}  // namespace

Position position_elsewhere(Family family, const void* object) {
  const Here* at = innermost_of(caller_of(family, object).run_time);
  return at != nullptr ? position_at(*at) : Position{};
}

void note_task(const RunTime& run_time) {
  if (const Here* at = innermost_of(&run_time); at != nullptr) note_task(*at->region, at->rank);
}

}  // namespace fermata::preload
