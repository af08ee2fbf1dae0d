/* Teams over the processes of an MPI communicator. */
#ifndef FERMATA_MPI_H
#define FERMATA_MPI_H

#include <fermata/fermata.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Teams over MPI ----------------------------------------------------------------------------------------------
 * On one host or many. Link libfermata-net-openmpi or libfermata-net-mpich, as the program is linked to the one library or the other,
 * and libfermata. */

/* Collective over `comm`: a team of all its processes, to which each brings config->members members (different numbers are fine, 0 is
 * not), for threads of its own. Ranks go by process: this one's are *first, *first + 1, ... Processes on one host share a segment
 * (fermata_host_id; FERMATA_FAKE_HOSTS=k takes the processes for those of k hosts, in blocks), and signals between hosts are messages
 * on a communicator of the team's own. A team whose processes are all on one host is one of FERMATA_PROCESSES.
 * config->engine and cpus are not looked at; wait and tagged must be the same at all processes. Over several hosts the first process's
 * plans are sent to all: config->plans, the cache's, or made by what `mpirun ... fermata profile --mpi` has measured on these hosts.
 *
 * A member that waits drives the MPI library. With less than MPI_THREAD_MULTIPLE only the thread that called this does (with
 * MPI_THREAD_FUNNELED or SINGLE: the main thread): it has a member of its own, calls fermata_progress while others of the process wait
 * and it doesn't, leaves last and destroys the team. With MPI_THREAD_SERIALIZED and one member, whoever uses that one does.
 * fermata_team_destroy, before MPI_Finalize, waits up to a second for the other processes' (more than that late is no error).
 * Errors, the same at all processes: ARGUMENT, MEMORY, SYSTEM, TIMEOUT, VERIFY, MISMATCH (wait or tagged differ). */
FERMATA_API int fermata_team_create_mpi(MPI_Comm comm, const fermata_team_config* config, fermata_team** out, int* first);

/* For libraries that intercept a program's calls of MPI, PMPI_... as well: where the transport finds the functions that it calls, by names
 * like "PMPI_Isend". It calls them as the linker resolves those names otherwise, so tools that count MPI_... don't see its messages.
 * Before the first team. ARGUMENT: no function; SYSTEM: one of them was not found, and none is changed. */
typedef void (*fermata_mpi_function)(void);
FERMATA_API int fermata_mpi_resolve(fermata_mpi_function (*find)(const char* name));

#ifdef __cplusplus
}
#endif
#endif
