// Persistent collectives (MPI 4.0, section 6.13). Each is a prepared operation of Fermata's. The ranks may
// start them in any order.
//
// The program holds a persistent receive of MPI's, of no data from this rank itself, which only one message
// matches. MPI_Wait, MPI_Waitall and MPI_Test do not ask MPI about a started collective, as long as no other
// call that completes or tests requests has met it. Such a call starts the receive, too, and the message is
// sent when the collective is over. So all functions that complete, test and free requests work, also on
// inactive ones.
#ifndef FERMATA_PRELOAD_MPI_PERSISTENT_HPP
#define FERMATA_PRELOAD_MPI_PERSISTENT_HPP

#include "begun.hpp"

namespace fermata::preload {

extern std::atomic<int> persistents;  // of this process, active or not
inline bool any_persistent() {
  return persistents.load(std::memory_order_relaxed) != 0;  // order: relaxed: as any_begun()
}

// Makes what begun->operation holds persistent, collectively, and takes `begun`. begun null: this rank has no
// memory for it. Returns what the MPI function returns. *left true: `begun` is freed, and MPI is to make the
// collective, at all ranks. The reason is that the team has no room for more, a rank has no memory, or
// lengths differ that Fermata needs equal. If the ranks made different calls, goes_to_library()
// decides (recovery.hpp): MPI makes the collective, or the call fails.
int make_persistent(Begun* begun, State& state, Kind kind, const Arguments& arguments, MPI_Request* out,
                    bool* left);
// Called when a persistent collective is over. in_library: MPI's request stood for it by then.
void persistent_over(Begun& begun, bool in_library);
// Null: a request of MPI's own, or a non-blocking collective.
Begun* persistent_of(MPI_Request handle);
inline Begun* persistent_in(const MPI_Request* request) {
  return any_persistent() && request != nullptr ? persistent_of(*request) : nullptr;
}
// For one request; *flag as with MPI_Test.
int wait_persistent(Begun* begun, MPI_Status* status);
int test_persistent(Begun* begun, int* flag, MPI_Status* status);
// For the started collectives among these: until the program has completed them, MPI's own requests stand for
// them.
void show_to_library(int count, const MPI_Request* requests);
// At the end: frees those that the program has not freed.
void free_persistent_ones();

}  // namespace fermata::preload
#endif
