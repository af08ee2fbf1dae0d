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
  // mpi-openmpi or mpi-mpich; mpi-openmpi5 or mpi-mpich5 if the program is linked to release 5 or newer.
  // Empty: no MPI. If the launcher decides, the release is not known, and the older preload serves all of
  // them.
  std::string preload;
  std::string why;
};

// The library that the program is linked to decides. If there is none, the launcher decides, which is part of
// the command or has started this process: the program may open MPI later, such as an interpreter. The
// command has at least one word.
MpiChoice choose_mpi(const std::vector<std::string>& command);

}  // namespace fermata::tool
#endif
