// Runs the members of a case in threads, in processes, or in processes of several members each.
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

// Besides Fermata's engines: processes with one to three members each, mostly two or more, in a team of
// FERMATA_PROCESSES.
inline constexpr int kMixed = 2;

inline int team_engine(int engine) { return engine == kMixed ? FERMATA_PROCESSES : engine; }

// ThreadSanitizer sees nothing between processes of one member each. It may report a race between threads of
// one process that another process has ordered.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kSeesOtherProcesses = false;
#else
inline constexpr bool kSeesOtherProcesses = true;
#endif
// The engines that these tests use.
inline std::vector<int> engines() {
  return kSeesOtherProcesses ? std::vector<int>{FERMATA_THREADS, FERMATA_PROCESSES, kMixed}
                             : std::vector<int>{FERMATA_THREADS, kMixed};
}
// The elements of `all` whose engine is one of engines().
template <class Param>
std::vector<Param> of_engines(std::initializer_list<Param> all) {
  std::vector<Param> some;
  for (const Param& param : all)
    if (kSeesOtherProcesses || param.engine != FERMATA_PROCESSES) some.push_back(param);
  return some;
}

// Runs ranks first, first + step, ... in threads, the first one in this thread.
inline void run_threads(int first, int step, int members, const std::function<void(int rank)>& member) {
  std::vector<std::thread> workers;
  for (int r = first + step; r < members; r += step) workers.emplace_back([&, r] { member(r); });
  member(first);
  for (std::thread& t : workers) t.join();
}

// Calls died with waitpid's status for each process that did not end well.
inline void run_members(int engine, int members, const std::function<void(int rank)>& member,
                        const std::function<void(int how)>& died) {
  if (engine == FERMATA_THREADS) {
    std::vector<std::thread> workers;
    for (int r = 0; r < members; ++r) workers.emplace_back([&, r] { member(r); });
    for (std::thread& t : workers) t.join();
    return;
  }
  const int processes = engine == kMixed ? (members + 1) / 2 - members / 6 : members;
  std::vector<pid_t> workers;
  for (int p = 0; p < processes; ++p) {
    const pid_t pid = fork();
    if (pid == 0) {
      // every `processes`-th rank, so that neighbours are in different processes if there are several
      run_threads(p, processes, members, member);
      _exit(0);
    }
    workers.push_back(pid);
  }
  for (const pid_t pid : workers) {
    int how = 0;
    waitpid(pid, &how, 0);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) died(how);
  }
}

}  // namespace fermata::test
#endif
