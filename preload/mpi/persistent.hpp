// Persistent collectives (MPI 4.0, section 6.13). Each is a prepared operation of Fermata's, which the ranks
// may start in any order.
//
// The program holds a persistent receive of the library's own, of nothing from this rank itself, that matches
// no message but one. Where it waits for that request alone, the library is not asked at all. Where the
// request stands among others, the receive is started, too, and the message is sent when the collective is
// over: so all that completes, asks for and frees requests works, with inactive ones as well.
#ifndef FERMATA_PRELOAD_MPI_PERSISTENT_HPP
#define FERMATA_PRELOAD_MPI_PERSISTENT_HPP

#include "begun.hpp"

namespace fermata::preload {

extern std::atomic<int> persistents;  // of this process, active or not
inline bool any_persistent() {
  return persistents.load(std::memory_order_relaxed) != 0;  // order: relaxed: as any_begun()
}

// Makes what begun->operation holds persistent, collectively, and takes `begun`. Null: this rank has no
// memory for it. What the MPI function returns. *left: it is gone, and the library is to do it, on all ranks:
// the team has no room for more, or a rank no memory, or their lengths differ.
int make_persistent(Begun* begun, State& state, Kind kind, const Arguments& arguments, MPI_Request* out,
                    bool* left);
// It is over.
void persistent_over(Begun& begun);
// Null: the library's own, or one that was begun.
Begun* persistent_of(MPI_Request handle);
inline Begun* persistent_in(const MPI_Request* request) {
  return any_persistent() && request != nullptr ? persistent_of(*request) : nullptr;
}
// Alone; *flag as with MPI_Test.
int wait_persistent(Begun* begun, MPI_Status* status);
int test_persistent(Begun* begun, int* flag, MPI_Status* status);
// Those among them are, from here on, what the library takes them for.
void show_to_library(int count, const MPI_Request* requests);
// At the end, those that the program has not freed.
void free_persistent_ones();

}  // namespace fermata::preload
#endif
