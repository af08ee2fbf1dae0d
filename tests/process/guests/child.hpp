// A child process for work that may hang, crash or spoil the limits of its process.
#ifndef FERMATA_TESTS_PROCESS_GUESTS_CHILD_HPP
#define FERMATA_TESTS_PROCESS_GUESTS_CHILD_HPP

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "os/os.hpp"

namespace fermata {

inline constexpr int kHung = 1000, kKilled = 2000;

// How a child ended: its exit code; kHung: it was killed after most_ns; kKilled + the number of the signal
// that ended it.
inline int result_of(pid_t child, std::int64_t most_ns) {
  const std::int64_t until = os::now_ns() + most_ns;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (os::now_ns() > until) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return kHung;
    }
    usleep(1000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kKilled + WTERMSIG(status);
}

// Runs `work` in a forked child. Returns its result as result_of() does.
template <class Work>
int in_child(std::int64_t most_ns, Work&& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  return result_of(child, most_ns);
}

}  // namespace fermata
#endif
