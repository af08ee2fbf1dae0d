// The MPI library that this copy is built for. All of preload/mpi is compiled once for each.
#ifndef FERMATA_PRELOAD_MPI_MPI_HPP
#define FERMATA_PRELOAD_MPI_MPI_HPP

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

// FERMATA_INTERCEPT(Barrier), before its definition: MPI_Barrier is ours, and PMPI_Barrier, too, which the Fortran bindings call (Open
// MPI's all, MPICH's those of mpi_f08). The library's own is real.Barrier (real.hpp).
#define FERMATA_INTERCEPT(name)                                                       \
  extern "C" __attribute__((visibility("default"))) decltype(PMPI_##name) MPI_##name; \
  extern "C" __attribute__((visibility("default"), alias("MPI_" #name))) decltype(PMPI_##name) PMPI_##name;

#if defined(MPICH) && MPI_VERSION >= 4
#define FERMATA_MPI_LARGE 1  // the functions with MPI_Count, whose names end in _c
#endif
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define FERMATA_MPI_PERSISTENT 1  // persistent collectives, sessions, partitioned messages
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define FERMATA_MPI_41 1
#endif

#endif
