// What the loaded objects import.
#ifndef FERMATA_PRELOAD_OPENMP_IMPORTS_HPP
#define FERMATA_PRELOAD_OPENMP_IMPORTS_HPP

namespace fermata::preload {

// Returns whether any loaded object imports a function of the run-time library for tasks or offloading. Then
// it may make tasks, and only the run-time library's barrier will do, because it runs tasks while it waits.
// The search is repeated after objects are loaded; once true, the answer stays true.
bool tasks_are_used();

}  // namespace fermata::preload
#endif
