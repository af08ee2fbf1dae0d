/* The MPI job to which a process belongs, for a program that is linked to no MPI library (fermata profile
 * --mpi). */
#ifndef FERMATA_JOB_H
#define FERMATA_JOB_H

#include <fermata/fermata.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- An MPI job -------------------------------------------------------------------------------------------
 * For a program that is built without mpi.h, and that the launcher of any MPI library may start. The program
 * opens the library that fits the launcher: libfermata-net-openmpi.so or libfermata-net-mpich.so. It gets
 * fermata_mpi_job by dlsym. The functions are in libfermata-net-openmpi or libfermata-net-mpich. */

/* -- join an MPI job without an MPI library --
 * For tools that any launcher may start, such as `fermata profile --mpi`. MPI programs call
 * fermata_team_create_mpi instead. Do not link either library: open the one that fits the launcher, by
 * dlopen. */

/* All functions are collective over the job, except `time`. The thread that made the job calls them. The
 * pointers are valid until end. */
typedef struct fermata_job {
  size_t size; /* fermata_mpi_job writes sizeof(fermata_job) here */
  int rank, processes;
  const int* hosts;         /* each process's host, numbered in the order of the hosts' first processes. */
                            /* With FERMATA_FAKE_HOSTS=k, k > 1, the hosts are pretended ones. */
  const int* pinned;        /* the CPU to which each process is pinned on its host. If it may use */
                            /* several CPUs of one core: the first of these. -1: it may use several */
                            /* cores, or that is not known. */
  const char* const* names; /* the hosts' names, by the host's number */

  int (*gather)(const void* mine, size_t bytes, void* all); /* Each process gets the bytes of all, by rank. */
  /* Returns FERMATA_OK or FERMATA_ERR_SYSTEM. */
  double (*time)(int a, int b, size_t bytes, int signals, int repeats); /* Measures messages, in ns. */
  /* Only processes a and b call it, a <= b. Both get the median of `repeats` times (if `repeats` is */
  /* even, the upper of the two middle ones). < 0: it failed. */
  /* repeats is 1..1024, signals 0..1024. */
  /* signals 0, a < b: half the round trip of a message of `bytes` bytes. */
  /* signals > 0, a < b: the time that so many empty synchronous messages at once take from a to b. */
  /* signals > 0, a == b: the time to start so many messages that go nowhere. */
  void (*rest)(void); /* waits until all processes have called it, and mostly sleeps meanwhile */
  void (*end)(void);  /* ends the job, and MPI if fermata_mpi_job has started it: then no further job can */
                      /* be made */
} fermata_job;

/* Makes the job, and starts MPI if it is not running yet. All processes that the launcher has started make
 * this call. A process has one job at a time. Errors: ARGUMENT (the process has a job), MEMORY, SYSTEM (MPI
 * reported an error). */
FERMATA_API int fermata_mpi_job(fermata_job* out);

#ifdef __cplusplus
}
#endif
#endif
