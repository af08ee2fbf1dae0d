/* One test for all forms of a collective: blocking or begun, with counts as int or (WIDE) as MPI_Count. */
#ifndef FERMATA_TEST_CALLS_H
#define FERMATA_TEST_CALLS_H

#include "check.h"

static int begun; /* call the non-blocking function, and wait */
#ifdef WIDE /* the functions of MPI 4.0 with MPI_Count */
typedef MPI_Count number;
typedef MPI_Aint place;
#define NAME(name) name##_c
#else
typedef int number;
typedef int place;
#define NAME(name) name
#endif
#define DO(Name, name, ...)                      \
  do {                                           \
    if (begun) {                                 \
      MPI_Request request;                       \
      NAME(MPI_I##name)(__VA_ARGS__, &request);  \
      MPI_Wait(&request, MPI_STATUS_IGNORE);     \
    } else {                                     \
      NAME(MPI_##Name)(__VA_ARGS__);             \
    }                                            \
  } while (0)

#endif
