#include "run_mpi.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "elf_symbols.hpp"
#include "mpi_job.hpp"

namespace fermata::tool {
namespace {

namespace fs = std::filesystem;

// The MPI family, by the library's file name. Both families have a libmpi, with different version numbers.
std::string family_of(const std::string& object) {
  const std::string name = file_name(object);
  if (name.starts_with("libmpich") || name == "libmpi.so.12") return "mpi-mpich";
  if (name == "libmpi.so.40" || name == "libmpi.so.20") return "mpi-openmpi";
  return "";
}

// The MPI library that the program is linked to, e.g. "libmpi.so.40"; empty: none, or not a program.
std::string mpi_library_of(const std::string& program) {
  const auto objects = loaded_objects(program);
  if (!objects) return "";
  for (const std::string& object : *objects)
    if (!family_of(object).empty()) return object;
  return "";
}

// Newer MPI releases have a preload of their own, if Fermata's build found them. The older preload serves
// them too, except for the functions that it does not know.
std::string preload_for(const std::string& library) {
  const std::string family = family_of(library);
  const auto symbols = elf_symbols(library);
  const char* const recent = family == "mpi-openmpi" ? "MPI_Barrier_init" : "MPI_Abi_get_version";
  return symbols && symbols->exported.contains(recent) ? family + "5" : family;
}

bool is_launcher(const std::string& program) {
  const std::string name = file_name(program);
  return name.starts_with("mpirun") || name.starts_with("mpiexec") || name == "orterun" ||
         name == "prterun" || name == "srun";
}

// Follows links, since a launcher's usual name is often a link to the family's program.
std::string family_of_launcher(const std::string& program) {
  std::error_code ignored;
  const auto objects = loaded_objects(program);
  if (!objects) return "";
  const std::string path = fs::canonical(objects->front(), ignored).string();
  const std::string name = file_name(path);
  if (name.starts_with("orterun") || name.starts_with("prterun") || name.find("openmpi") != std::string::npos)
    return "mpi-openmpi";
  if (name.find("hydra") != std::string::npos || name.find("mpich") != std::string::npos) return "mpi-mpich";
  return "";
}

}  // namespace

MpiChoice choose_mpi(const std::vector<std::string>& command) {
  const bool launched = is_launcher(command[0]);
  for (std::size_t i = launched ? 1 : 0; i < (launched ? command.size() : 1); ++i) {
    const std::string library = mpi_library_of(command[i]);
    if (!library.empty())
      return {command[i], preload_for(library),
              fmt::format("{} uses {}", file_name(command[i]), file_name(library))};
  }
  const std::string started = launched_by();
  const std::string family = launched          ? family_of_launcher(command[0])
                             : started.empty() ? ""
                                               : "mpi-" + started;
  if (family.empty()) return {command[0], "", ""};
  return {command[0], family, launched ? file_name(command[0]) + " starts it" : "an MPI launcher started it"};
}

}  // namespace fermata::tool
