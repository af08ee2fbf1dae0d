// Co-tenants: child processes that use up CPU time while this object lives.
#ifndef FERMATA_BENCH_BURNERS_HPP
#define FERMATA_BENCH_BURNERS_HPP

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace fermata::bench {

struct Load {
  int burners = 0;
  int nice = 0;              // added to their niceness
  bool own_session = false;  // Linux divides CPU time between sessions first (autogroup)
};

class Burners {
 public:
  explicit Burners(const Load& load) {
    const pid_t parent = getpid();
    for (int i = 0; i < load.burners; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // also when the parent is killed
        if (getppid() != parent) _exit(1);
        if (load.own_session) setsid();
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + load.nice);
        for (volatile unsigned long spin = 0;;) spin = spin + 1;
      }
      if (child > 0) children_.push_back(child);
    }
  }
  ~Burners() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  Burners(const Burners&) = delete;
  Burners& operator=(const Burners&) = delete;
  const std::vector<pid_t>& children() const { return children_; }

 private:
  std::vector<pid_t> children_;
};

}  // namespace fermata::bench
#endif
