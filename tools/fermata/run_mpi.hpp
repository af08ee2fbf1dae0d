// Which libfermata-mpi a command wants, and for which of its programs.
#ifndef FERMATA_TOOLS_RUN_MPI_HPP
#define FERMATA_TOOLS_RUN_MPI_HPP

#include <string>
#include <vector>

namespace fermata::tool {

struct MpiChoice {
  // the one that barriers and collectives are looked for in: behind a launcher the first that uses MPI
  std::string program;
  std::string preload;  // mpi-openmpi, mpi-mpich, mpi-openmpi5, mpi-mpich5; empty: no MPI
  std::string why;
};

// The library that the program is linked to decides; of a program that opens it later, an interpreter, the
// launcher that started it or is to start it.
MpiChoice choose_mpi(const std::vector<std::string>& command);

}  // namespace fermata::tool
#endif
