// The lists of this process's non-blocking and started persistent collectives: the outstanding ones, and
// those that are over and not yet freed. begun.hpp declares what the rest of the preload uses of them.
#ifndef FERMATA_PRELOAD_MPI_OUTSTANDING_HPP
#define FERMATA_PRELOAD_MPI_OUTSTANDING_HPP

#include "begun.hpp"

namespace fermata::preload {

// From now on this one is outstanding. Its handle and its state must be set before.
void enlist(Begun* begun);
// It is over. After that it is in the second list. Exception: a persistent one whose request the program has
// not freed is in neither list. Returns Begun::in_library. True: MPI's own request, which the program holds,
// is active, and the caller must complete it (persistent.hpp).
bool move_to_ended(Begun* begun);
// The program has freed this persistent one's request, active or not. This frees nothing yet: the next reap()
// (begun.hpp) frees `begun` if it is over and no other thread is in its communicator, else a later one does.
void free_when_over(Begun* begun);
// For one that was over before it was in the list of outstanding ones.
void add_to_ended(Begun* begun);

// How many communicators have outstanding ones. Each call of visit_next() returns one of them, in turn; null:
// no communicator has any.
int active_states();
State* visit_next();

}  // namespace fermata::preload
#endif
