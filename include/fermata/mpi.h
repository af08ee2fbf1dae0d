/* Teams over the processes of an MPI communicator. */
#ifndef FERMATA_MPI_H
#define FERMATA_MPI_H

#include <fermata/fermata.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Teams over MPI ---------------------------------------------------------------------------------------
 * For MPI programs that call Fermata directly, on one host or on several. Link the library that was built for
 * the program's MPI library. If the build has found Open MPI 5 or MPICH 5 in build/rivals, the libraries for
 * these, with the same functions, are libfermata-net-openmpi5 and libfermata-net-mpich5. The functions are in
 * libfermata-net-openmpi or libfermata-net-mpich. */

/* -- make a team of the processes of a communicator --
 * For MPI programs that call Fermata directly, also with several threads in each process. All processes of
 * the communicator make the call. Programs that only call MPI need no source change: see
 * libfermata-mpi(7). Do not call MPI_Finalize before fermata_team_destroy. */

/* Makes a team of all processes of `comm`. The call is collective over `comm`.
 *
 * Each process brings config->members members, at least one, for threads of its own. The numbers may differ.
 * Ranks are in the order of the processes: this process has the ranks from *first to *first +
 * config->members - 1. The processes on one host share a segment (fermata_host_id). Signals between hosts are
 * messages on a communicator of the team's own. If all processes are on one host, the team is one of
 * FERMATA_PROCESSES. With FERMATA_FAKE_HOSTS=k in the environment (k > 1, for tests on one host), the
 * processes count as those of k hosts: each has a block of consecutive processes. The other fields of config:
 *
 * - wait and tagged must be the same at all processes.
 * - stall_seconds is that of the first process on each host, for all processes of that host.
 * - refresh_seconds and plans are those of the first process of all.
 * - engine and cpus are ignored.
 *
 * On one host, the first process makes the team as fermata_team_create does. Over several hosts, the first
 * process makes the plans and sends them to all. For each collective it takes the plan of config->plans, else
 * the cache's. Without both, it chooses by the costs that `mpirun ... fermata profile --mpi` has measured on
 * these hosts, else by estimates. config->plans must then be for these hosts, as `fermata plan` makes them
 * from the profile of an MPI job on these hosts. A plan of fermata_plan_make is for one host, and gives
 * ARGUMENT.
 *
 * Over several hosts, the team's calls also call the MPI library. The level of MPI_Init_thread says in which
 * threads:
 *
 * - MPI_THREAD_MULTIPLE: in any thread.
 * - MPI_THREAD_SERIALIZED, if this process has one member: in any thread that uses that member. No other
 *   thread may call MPI meanwhile. Keep the progress thread off (fermata_progress_thread): it would call MPI,
 *   too.
 * - Otherwise: only in the thread that made this call. With MPI_THREAD_FUNNELED or SINGLE, this must be the
 *   main thread. That thread must have a member of its own. While it does not wait and other threads of the
 *   process do, it must call fermata_progress. It leaves last, and destroys the team.
 *
 * Call fermata_team_destroy before MPI_Finalize. Over several hosts, it waits up to one second until the
 * processes on other hosts also call it. It is no error if they call it later than that.
 *
 * All processes return the same error, with these exceptions: one process alone gives a NULL pointer
 * (ARGUMENT), or gets an error from MPI (SYSTEM). Then the other processes may get another status, or wait
 * for it for ever. Nor does the call return at the others while a process does not make it. Errors: ARGUMENT
 * (or a plan is for another number of members or for other hosts), MEMORY, SYSTEM (MPI or a system call
 * reported an error), TIMEOUT (a process did not attach to its host's segment within 30 seconds), UNSUPPORTED
 * (a plan cannot be compiled for these hosts), VERIFY (a plan failed its proof), MISMATCH (the processes
 * differ in wait or tagged, or those of one host in the version of Fermata). */
FERMATA_API int fermata_team_create_mpi(MPI_Comm comm, const fermata_team_config* config, fermata_team** out,
                                        int* first);

/* -- set how the transport finds MPI's functions --
 * For libraries that stand between a program and its MPI library. Other programs do not need it: the
 * linker finds the functions. */

typedef void (*fermata_mpi_function)(void); /* any function of MPI */

/* Sets how the transport finds the MPI functions that it calls, by names like "PMPI_Isend". It is for
 * libraries that intercept a program's MPI calls, also those by PMPI_... names. Without it, the linker
 * resolves these names. Tools that count MPI_... calls do not see the transport's messages. Call it before
 * the first call of fermata_team_create_mpi or fermata_mpi_job. Errors: ARGUMENT (find is NULL), SYSTEM (a
 * function was not found; then no function is changed). */
FERMATA_API int fermata_mpi_resolve(fermata_mpi_function (*find)(const char* name));

#ifdef __cplusplus
}
#endif
#endif
