// After calls that differed. Fermata finds that ranks made different calls (a length that differs is enough),
// and their team is of no use any more. The communicator is: its ranks agree from which call on the library
// does everything, so that none waits for one that has done its part of a call in the team. A rank that has
// no memory for its part of a call lets the others know in the same way.
#ifndef FERMATA_PRELOAD_MPI_RECOVERY_HPP
#define FERMATA_PRELOAD_MPI_RECOVERY_HPP

#include "communicator.hpp"

namespace fermata::preload {

// Its data are there, as much of them as this rank has room for.
inline bool has_come(int status) { return status == FERMATA_OK || status == FERMATA_ERR_TRUNCATED; }
inline bool is_mismatch(int status) { return status == FERMATA_ERR_MISMATCH || status == FERMATA_ERR_BROKEN; }

// The team is of no use any more, as the present call or an earlier one has shown.
void note_mismatch(State& state);
// By a rank that has no memory for its part of the present call, and has done nothing of it. With the state.
void note_no_memory(State& state);
// Of a call that the team has not carried out, by a rank that knows of the mismatch, and with the state.
// `met`: it came to light in this call. True: the library does it. False: it is lost to this rank, and *rc is
// its error: MPI_ERR_NO_MEM where it was that before.
bool goes_to_library(State& state, Kind kind, bool met, int* rc);

// The present call is lost to this rank, which goes on: the communicator's error handler runs. The error.
int lose_call(State& state, int code);

}  // namespace fermata::preload
#endif
