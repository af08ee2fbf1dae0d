// Runs the members of a case by its engine: threads, processes, or processes of several members each.
#ifndef FERMATA_TESTS_PROPERTY_ENGINES_HPP
#define FERMATA_TESTS_PROPERTY_ENGINES_HPP

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <initializer_list>
#include <thread>
#include <vector>

#include "fermata/fermata.h"

namespace fermata::test {

// Beside the library's engines: processes with two or three members each, in a team of FERMATA_PROCESSES.
inline constexpr int kMixed = 2;

inline int team_engine(int engine) { return engine == kMixed ? FERMATA_PROCESSES : engine; }

// ThreadSanitizer sees nothing between processes of one member each, and may take what threads of one process
// have ordered by way of another for a race.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kSeesOtherProcesses = false;
#else
inline constexpr bool kSeesOtherProcesses = true;
#endif
// Those that tests run by.
inline std::vector<int> engines() {
  return kSeesOtherProcesses ? std::vector<int>{FERMATA_THREADS, FERMATA_PROCESSES, kMixed}
                             : std::vector<int>{FERMATA_THREADS, kMixed};
}
// Those of them that have such an engine.
template <class Param>
std::vector<Param> of_engines(std::initializer_list<Param> all) {
  std::vector<Param> some;
  for (const Param& param : all)
    if (kSeesOtherProcesses || param.engine != FERMATA_PROCESSES) some.push_back(param);
  return some;
}

// Ranks first, first + step, ... in threads, the first in this one.
inline void run_threads(int first, int step, int members, const std::function<void(int rank)>& member) {
  std::vector<std::thread> crew;
  for (int r = first + step; r < members; r += step) crew.emplace_back([&, r] { member(r); });
  member(first);
  for (std::thread& t : crew) t.join();
}

// died: for each process that did not end well, with what waitpid says.
inline void run_members(int engine, int members, const std::function<void(int rank)>& member,
                        const std::function<void(int how)>& died) {
  if (engine == FERMATA_THREADS) {
    std::vector<std::thread> crew;
    for (int r = 0; r < members; ++r) crew.emplace_back([&, r] { member(r); });
    for (std::thread& t : crew) t.join();
    return;
  }
  const int processes = engine == kMixed ? (members + 1) / 2 - members / 6 : members;
  std::vector<pid_t> crew;
  for (int p = 0; p < processes; ++p) {
    const pid_t pid = fork();
    if (pid == 0) {
      // every `processes`-th rank, so that neighbours are in different ones
      run_threads(p, processes, members, member);
      _exit(0);
    }
    crew.push_back(pid);
  }
  for (const pid_t pid : crew) {
    int how = 0;
    waitpid(pid, &how, 0);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) died(how);
  }
}

}  // namespace fermata::test
#endif
