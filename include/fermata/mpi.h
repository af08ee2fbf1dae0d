/* Teams over the processes of an MPI communicator. */
#ifndef FERMATA_MPI_H
#define FERMATA_MPI_H

#include <fermata/fermata.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Teams over MPI ---------------------------------------------------------------------------------------
 * For MPI programs that call Fermata directly, on one host or on several. Link the library that fits the
 * program's MPI library: for Open MPI 5 and MPICH 5, that with a 5 at the end of its name, if it was built.
 * The functions are in libfermata-net-openmpi or libfermata-net-mpich. */

/* -- make a team of the processes of a communicator --
 * For MPI programs that call Fermata directly, also with several threads in each process. All processes of
 * the communicator make the call. Programs that only call MPI need no source change: see
 * libfermata-mpi(7). Do not call MPI_Finalize before fermata_team_destroy. */

/* Makes a team of all processes of `comm`. The call is collective over `comm`.
 *
 * Each process brings config->members members, for threads of its own. The processes may bring different
 * numbers of members, but each brings at least one. Ranks are in the order of the processes: this process
 * has the ranks from *first to *first + config->members - 1. The processes on one host share a segment
 * (fermata_host_id). With FERMATA_FAKE_HOSTS=k (k > 1, for tests on one host), the processes count as
 * those of k hosts, in blocks. Signals between hosts are messages on a communicator of the team's own. If
 * all processes are on one host, the team is one of FERMATA_PROCESSES. config->engine and config->cpus are
 * ignored. wait and tagged must be the same at all processes. On each host, a stall_seconds > 0 of the
 * host's first process holds for all. refresh_seconds is that of the first process of all. On one host,
 * the first process makes the team as fermata_team_create does, from its config->plans. * Over several
 * hosts, the first process makes the plans and sends them to all. It takes its config->plans, else the
 * cache's plans. Without these, it chooses by the costs that `mpirun ... fermata profile --mpi` has
 * measured on these hosts, else by estimates. config->plans must be for these hosts, as `fermata plan`
 * makes them from the profile of an MPI job on these hosts. A plan of fermata_plan_make is for one host,
 * and gives ARGUMENT. * Over several hosts, a waiting member drives the MPI library: - With
 * MPI_THREAD_MULTIPLE, in any thread. - With MPI_THREAD_SERIALIZED, if this process has one member: in any
 * thread that uses that member. - Otherwise: only in the thread that made this call. With
 * MPI_THREAD_FUNNELED or SINGLE, this must be the   main thread. That thread must have a member of its
 * own. While it does not wait and other threads of the   process do, it must call fermata_progress. It
 * leaves last, and destroys the team. * Call fermata_team_destroy before MPI_Finalize. Over several hosts,
 * it waits up to one second until the processes on other hosts also call it. It is no error if they call
 * it later than that. * All processes return the same error, with these exceptions: one process alone
 * gives a NULL pointer (ARGUMENT), or gets an error from MPI when the communicator is copied (SYSTEM).
 * Then the other processes may wait for it for ever. Errors: ARGUMENT (or a plan is for another number of
 * members or for other hosts), MEMORY, SYSTEM (MPI or a system call reported an error), TIMEOUT (a process
 * does not answer), UNSUPPORTED (a plan cannot be compiled for these hosts), VERIFY, MISMATCH (the
 * processes differ in wait, tagged or the version of Fermata). */
FERMATA_API int fermata_team_create_mpi(MPI_Comm comm, const fermata_team_config* config, fermata_team** out,
                                        int* first);

/* -- set how the transport finds MPI's functions --
 * For libraries that stand between a program and its MPI library. Other programs do not need it: the
 * linker finds the functions. */

typedef void (*fermata_mpi_function)(void); /* any function of MPI */

/* Sets how the transport finds the MPI functions that it calls, by names like "PMPI_Isend". It is for
 * libraries that intercept a program's MPI calls, also those by PMPI_... names. Without it, the linker
 * resolves these names. Tools that count MPI_... calls do not see the transport's messages. Call it before
 * the first team is made. Errors: ARGUMENT (find is NULL), SYSTEM (a function was not found; then no function
 * is changed). */
FERMATA_API int fermata_mpi_resolve(fermata_mpi_function (*find)(const char* name));

#ifdef __cplusplus
}
#endif
#endif
