/* The end of a program. MPICH 4.0 over TCP sometimes hangs in MPI_Finalize, in any program (UCX 1.13);
 * FERMATA_TEST_NO_FINALIZE=1 leaves the call out. */
#ifndef FERMATA_TESTS_NET_FINISH_H
#define FERMATA_TESTS_NET_FINISH_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int finish(int code) {
  if (getenv("FERMATA_TEST_NO_FINALIZE") != NULL) {
    const struct timespec while_others_come = {1, 0};
    MPI_Barrier(MPI_COMM_WORLD);
    fflush(NULL);
    nanosleep(&while_others_come, NULL);
    _exit(code);
  }
  MPI_Finalize();
  return code;
}

#endif
