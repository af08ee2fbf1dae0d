// Chooses the libfermata-mpi for a command, and the program in the command that uses it.
#ifndef FERMATA_TOOLS_RUN_MPI_HPP
#define FERMATA_TOOLS_RUN_MPI_HPP

#include <string>
#include <vector>

namespace fermata::tool {

struct MpiChoice {
  // The program whose barriers and collectives count: after a launcher, the first one that is linked to MPI.
  // If there is none, the command's first word.
  std::string program;
  std::string preload;  // mpi-openmpi, mpi-mpich, mpi-openmpi5, mpi-mpich5; empty: no MPI
  std::string why;
};

// The library that the program is linked to decides. A program that opens MPI later, such as an interpreter,
// is judged by its launcher.
MpiChoice choose_mpi(const std::vector<std::string>& command);

}  // namespace fermata::tool
#endif
