// The MPI library that this copy is built for. All of preload/mpi is compiled once for each.
#ifndef FERMATA_PRELOAD_MPI_MPI_HPP
#define FERMATA_PRELOAD_MPI_MPI_HPP

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace fermata::preload {
using Jump = void (*)();  // a function of any signature
}

// FERMATA_LEAD(Barrier, function) makes two symbols:
// - PMPI_Barrier is what tools and Fortran bindings call (all of Open MPI's, and those of MPICH for mpi_f08).
//   It jumps to the function.
// - MPI_Barrier is what the program calls. It jumps to the tool's function if a tool comes after this library
//   in the search order, else to the function.
// FERMATA_INTERCEPT(Barrier), before its definition, leads both to what the source defines as MPI_Barrier.
// That has the symbol fermata_mpi_Barrier, which this library keeps to itself.
//
// If Fermata is disabled or leaves everything to MPI (entries.cpp), both lead past this library. Jumps pass
// on arguments of any kind, so the MPI library may be one that this copy was not built for. MPI's own
// function is real.Barrier (real.hpp).
#if defined(__x86_64__)
#define FERMATA_JUMP(symbol) "endbr64\n jmp *fermata_entry_" symbol "(%rip)\n"
#elif defined(__aarch64__)
#define FERMATA_JUMP(symbol)                                                                    \
  "hint #34\n adrp x16, fermata_entry_" symbol "\n ldr x16, [x16, #:lo12:fermata_entry_" symbol \
  "]\n br "                                                                                     \
  "x16\n"
#elif defined(__riscv)
#define FERMATA_JUMP(symbol) \
  "1: auipc t1, %pcrel_hi(fermata_entry_" symbol ")\n ld t1, %pcrel_lo(1b)(t1)\n jr t1\n"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define FERMATA_JUMP(symbol)                                                                             \
  "addis 2, 12, .TOC.-" symbol "@ha\n addi 2, 2, .TOC.-" symbol "@l\n .localentry " symbol ", .-" symbol \
  "\n addis 12, 2, fermata_entry_" symbol "@toc@ha\n ld 12, fermata_entry_" symbol                       \
  "@toc@l(12)\n mtctr 12\n bctr\n"
#else
#error "preload/mpi has no jump for this architecture yet: add one here"
#endif
#define FERMATA_ENTRY(symbol, function)                                                               \
  __attribute__((visibility("hidden"), used)) fermata::preload::Jump fermata_entry_##symbol =         \
      reinterpret_cast<fermata::preload::Jump>(function);                                             \
  asm(".pushsection .text\n .balign 16\n .globl " #symbol "\n .type " #symbol ", %function\n" #symbol \
      ":\n .cfi_startproc\n" FERMATA_JUMP(#symbol) ".cfi_endproc\n .size " #symbol ", . - " #symbol   \
                                                   "\n .popsection");
#define FERMATA_LEAD(name, function)  \
  FERMATA_ENTRY(MPI_##name, function) \
  FERMATA_ENTRY(PMPI_##name, function)
#define FERMATA_INTERCEPT(name)                                          \
  extern "C" decltype(PMPI_##name) MPI_##name asm("fermata_mpi_" #name); \
  FERMATA_LEAD(name, MPI_##name)

#if defined(MPICH) && MPI_VERSION >= 4
#define FERMATA_MPI_LARGE 1  // the functions with MPI_Count, whose names end in _c
#endif
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define FERMATA_MPI_PERSISTENT 1  // persistent collectives, sessions, partitioned messages
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define FERMATA_MPI_41 1
#endif
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
#define FERMATA_MPI_ASYNC 1  // MPIX_Async_start
#endif

#endif
