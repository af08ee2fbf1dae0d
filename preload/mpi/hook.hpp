// The hook is a function that MPI calls wherever it makes progress, so also within a call that waits, on the
// thread of that call. So it may call MPI at any thread level. The helper thread may do so only with
// MPI_THREAD_MULTIPLE, and MPI passes on the data of other hosts. So where ranks are on several hosts without
// that level, the hook stands for the helper.
//
// Why that is enough: MPI's own non-blocking collectives make progress by such functions, too (in Open MPI by
// the one of coll/libnbc). In calls that can be polled, Fermata's make progress in the preload's own loops.
// In all others they do so wherever MPI's own would. So a program that ends with MPI's collectives ends with
// Fermata's.
//
// - Open MPI calls what opal_progress_register_lp() has got, in each eighth round of its progress, so that
//   the call that waits loses little.
// - MPICH 5 calls what MPIX_Async_start() has got.
// - MPICH 4 and Intel MPI offer no hook, and nothing else is right there:
//   - The preload cannot wait for what is outstanding before it makes the call. Another rank may begin its
//     part of the collective only after its own part of that call.
//   - The preload cannot make the call in parts. Windows, files and communicators have no non-blocking
//     functions for that, and all ranks must make the same function of a collective.
//   - Two ranks that only exchange need no rank that passes on. But a second exchange begins when the first
//     one is over, and a sender waits for credits. Both take progress of the rank that is in the call.
#ifndef FERMATA_PRELOAD_MPI_HOOK_HPP
#define FERMATA_PRELOAD_MPI_HOOK_HPP

namespace fermata::preload {

// Written in MPI_Init. True: the hook makes progress beside calls that wait in MPI, and the helper rests.
extern bool has_hook;
// In MPI_Init. Returns has_hook: false at MPI_THREAD_MULTIPLE, or if this MPI library has none.
bool add_hook();
void remove_hook();

// What the hook does. If the thread is in a call with a Beside (begun.hpp), it makes progress on what is
// outstanding. It does nothing within itself: MPI's functions, which it calls, come here again.
void progress_in_library();

}  // namespace fermata::preload
#endif
