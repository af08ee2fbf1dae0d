/* One test source for all forms of a collective: blocking, non-blocking or persistent (PERSISTENT: the MPI
 * library has these), with counts as int or (WIDE) as MPI_Count. */
#ifndef FERMATA_TEST_CALLS_H
#define FERMATA_TEST_CALLS_H

#include "check.h"

static int begun;      /* call the non-blocking function, and wait */
static int persistent; /* the persistent one, start it and wait */
#ifdef WIDE            /* the functions of MPI 4.0 with MPI_Count */
typedef MPI_Count number;
typedef MPI_Aint place;
#define NAME(name) name##_c
#else
typedef int number;
typedef int place;
#define NAME(name) name
#endif
/* rc: the result of the call or of its completion. */
#ifdef PERSISTENT
#define INIT(Name, ...) NAME(MPI_##Name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request)
#else
#define INIT(Name, ...) (MPI_Abort(MPI_COMM_WORLD, 2), MPI_ERR_OTHER)
#endif
#define CALL(rc, Name, name, ...)                                        \
  do {                                                                   \
    MPI_Request request = MPI_REQUEST_NULL;                              \
    if (persistent) {                                                    \
      rc = INIT(Name, __VA_ARGS__);                                      \
      if (rc == MPI_SUCCESS) rc = MPI_Start(&request);                   \
      if (rc == MPI_SUCCESS) rc = MPI_Wait(&request, MPI_STATUS_IGNORE); \
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);       \
    } else if (begun) {                                                  \
      rc = NAME(MPI_I##name)(__VA_ARGS__, &request);                     \
      if (rc == MPI_SUCCESS) rc = MPI_Wait(&request, MPI_STATUS_IGNORE); \
    } else {                                                             \
      rc = NAME(MPI_##Name)(__VA_ARGS__);                                \
    }                                                                    \
  } while (0)
/* For calls whose error ends the program. */
#define DO(Name, name, ...)                    \
  do {                                         \
    int rc_of_call;                            \
    CALL(rc_of_call, Name, name, __VA_ARGS__); \
    (void)rc_of_call;                          \
  } while (0)

#endif
