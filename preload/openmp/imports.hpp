// What the loaded objects import.
#ifndef FERMATA_PRELOAD_OPENMP_IMPORTS_HPP
#define FERMATA_PRELOAD_OPENMP_IMPORTS_HPP

namespace fermata::preload {

// Does any loaded object call the run-time's tasks, or offload? Then only the run-time's own barrier will do:
// it runs tasks while it waits. Looked up again whenever objects were loaded since; what was found once
// stays.
bool tasks_are_used();

}  // namespace fermata::preload
#endif
