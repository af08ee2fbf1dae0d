// What happens after calls that differ. Fermata finds that ranks made different calls, and their team cannot
// be used any more. The communicator still can: its ranks agree on the call from which MPI does everything.
// So no rank waits for one that has done its part of a call in the team.
// A rank that has no memory for its part of a call breaks the team, and the same follows.
#ifndef FERMATA_PRELOAD_MPI_RECOVERY_HPP
#define FERMATA_PRELOAD_MPI_RECOVERY_HPP

#include "communicator.hpp"

namespace fermata::preload {

// The data have arrived, or as much of them as this rank has room for.
inline bool has_come(int status) { return status == FERMATA_OK || status == FERMATA_ERR_TRUNCATED; }
// Also true if the team is broken, for whatever reason.
inline bool is_mismatch(int status) { return status == FERMATA_ERR_MISMATCH || status == FERMATA_ERR_BROKEN; }

// Notes that the team cannot be used any more, as the present call or an earlier one has shown.
void note_mismatch(State& state);
// For a rank that has no memory for its part of the present call, and has done nothing of it: breaks the
// team, so that the others learn of it. The caller holds the state.
void note_no_memory(State& state);
// For a call that the team has not carried out. This rank knows of the mismatch and holds the state. `met`:
// the mismatch was found in this call. True: MPI does the call. False: the call is lost to this rank, and *rc
// is its error, which stays MPI_ERR_NO_MEM if it was that before. May wait until all ranks have agreed.
bool goes_to_library(State& state, Kind kind, bool met, int* rc);

// The present call is lost to this rank, which goes on. Calls the communicator's error handler; returns the
// error.
int lose_call(State& state, int code);

}  // namespace fermata::preload
#endif
