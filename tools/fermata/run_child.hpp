// The program of `fermata run`: its environment and its CPUs, as a child of this process or instead of it.
#ifndef FERMATA_TOOLS_RUN_CHILD_HPP
#define FERMATA_TOOLS_RUN_CHILD_HPP

#include <string>
#include <vector>

namespace fermata::tool {

struct RunProgram {
  std::vector<std::string> command;
  std::string cpus;          // a list; empty: those of this process
  double stall = 0;          // FERMATA_STALL_SECONDS; 0: as in this process's environment
  bool brief_spins = false;  // see share_cpus()
  bool trace = false;
};

// Binds this process, and so the program, to program.cpus, if there are any. Tells OpenMP of them by
// OMP_PLACES and OMP_PROC_BIND, each unless it is set. Throws CommandError.
void bind_to_cpus(const RunProgram& program);

// libgomp's threads spin for milliseconds between two regions. Where other programs want the same CPUs, each
// spin takes their time slices, and costs its own team as much. Sets program.brief_spins if that is so now
// and the user has not said how threads shall wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT). Then GOMP_SPINCOUNT is
// kBriefSpins wherever preloads are loaded.
constexpr const char* kBriefSpins = "8000";
void share_cpus(RunProgram& program);

// Runs the program instead of this process, with these preload libraries. If that fails, it ends with 126 or
// 127, as shells do.
[[noreturn]] void become(const RunProgram& program, const std::vector<std::string>& libraries);

struct Ended {
  int status = 0;
  double wall_s = 0, cpu_s = 0;
};
// Runs the program as a child. Forwards INT, QUIT, TERM, HUP, USR1 and USR2 to it, except those from the
// terminal, which it gets anyway. `silent` discards its standard output.
// stats_directory: FERMATA_STATS; empty: as in this process's environment. Throws CommandError if it cannot
// fork. If the program cannot be started, the child ends with 126 or 127.
Ended run_child(const RunProgram& program, const std::vector<std::string>& libraries,
                const std::string& stats_directory, bool silent);

// Whether the program ended by a signal with which a user also means to end all further runs.
bool is_interrupted(int status);
// Ends with the program's exit status, or by the signal that ended the program.
[[noreturn]] void end_like(int status);

}  // namespace fermata::tool
#endif
