/* The MPI job that a program is part of, for one that is linked to no MPI library (fermata profile --mpi). */
#ifndef FERMATA_JOB_H
#define FERMATA_JOB_H

#include <fermata/fermata.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- An MPI job -------------------------------------------------------------------------------------------------
 * A program that may be started by any MPI library's launcher opens libfermata-net-openmpi.so or libfermata-net-mpich.so,
 * whichever is the launcher's, takes fermata_mpi_job from it by dlsym, and needs no mpi.h. */

/* All calls are collective over the job but `time`, and to be made by the thread that made the job. What it points to is valid until
 * end. */
typedef struct fermata_job {
  size_t size; /* sizeof(fermata_job) */
  int rank, processes;
  const int* hosts;         /* of each process, numbered in the order of their first ones (FERMATA_FAKE_HOSTS=k: pretended ones) */
  const int* pinned;        /* the CPU to which each process is pinned there, or the first of a core; -1: to none */
  const char* const* names; /* of the hosts */
  int (*gather)(const void* mine, size_t bytes, void* all); /* everybody's bytes, in the order of processes */
  /* Called by a and b alone, a < b, which both get the time, in ns, the median of so many repeats (at most 1024; < 0: it failed).
   *   signals 0: half the round trip of a message of so many bytes. signals > 0: how long so many empty synchronous messages at once take
   *   from a to b. a == b: how long starting so many that go nowhere takes. */
  double (*time)(int a, int b, size_t bytes, int signals, int repeats);
  void (*rest)(void); /* until all are here; who waits leaves its CPU to others */
  void (*end)(void);  /* of MPI */
} fermata_job;

/* Starts MPI. Errors: ARGUMENT, MEMORY, SYSTEM. */
FERMATA_API int fermata_mpi_job(fermata_job* out);

#ifdef __cplusplus
}
#endif
#endif
