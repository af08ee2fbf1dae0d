// Forked processes with the members of one team. The destructor kills and reaps those that are left.
#ifndef FERMATA_TESTS_PROCESS_FORKED_MEMBERS_HPP
#define FERMATA_TESTS_PROCESS_FORKED_MEMBERS_HPP

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "fermata/fermata.h"

namespace fermata::test {

// A member's exit code: 0 .. 63 stand for a status, without its sign; others are the test's own.
inline int code_of(int status) { return status < 0 ? -status : status; }

class ForkedMembers {
 public:
  // Each child runs body(rank) and exits with its result.
  ForkedMembers(int members, const std::function<int(int)>& body) {
    for (int r = 0; r < members; ++r) {
      const pid_t pid = fork();
      if (pid == 0) _exit(body(r));
      pids_.push_back(pid);
    }
  }
  ~ForkedMembers() {
    for (std::size_t r = 0; r < pids_.size(); ++r) {
      if (pids_[r] > 0) kill(pids_[r], SIGKILL);
      wait_for(static_cast<int>(r));
    }
  }
  ForkedMembers(const ForkedMembers&) = delete;
  ForkedMembers& operator=(const ForkedMembers&) = delete;

  pid_t pid(int rank) const { return pids_[static_cast<std::size_t>(rank)]; }
  // The exit code; 1000 + signal if a signal killed the process; -1 if it was waited for before or never
  // forked.
  int wait_for(int rank) {
    pid_t& pid = pids_[static_cast<std::size_t>(rank)];
    if (pid <= 0) return -1;
    int how = 0;
    waitpid(pid, &how, 0);
    pid = -1;
    return WIFEXITED(how) ? WEXITSTATUS(how) : 1000 + WTERMSIG(how);
  }

 private:
  std::vector<pid_t> pids_;
};

// A counter that forked processes share.
class SharedCount {
 public:
  SharedCount()
      : count_(*new(mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<int>{0}) {}
  ~SharedCount() { munmap(&count_, sizeof count_); }
  SharedCount(const SharedCount&) = delete;
  std::atomic<int>& operator*() const { return count_; }

 private:
  std::atomic<int>& count_;
};

inline fermata_team* make_team(int members, int engine, int wait = FERMATA_WAIT_AUTO, bool tagged = false) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = members;
  config.engine = engine;
  config.wait = wait;
  config.tagged = tagged ? 1 : 0;
  fermata_team* team = nullptr;
  return fermata_team_create(&config, &team) == FERMATA_OK ? team : nullptr;
}

// Waits until the team's report says `what` of a rank. Returns false if it does not within a minute or so.
inline bool comes_to_say(fermata_team* team, int rank, const std::string& what) {
  const std::string name = "rank " + std::to_string(rank) + " (";
  for (int look = 0; look < 300'000; ++look) {
    char text[4096] = "";
    std::size_t length = sizeof text;
    if (fermata_team_report(team, text, &length) != FERMATA_OK) return false;
    const std::string report = text;
    const std::size_t line = report.find(name);
    if (line != std::string::npos &&
        report.substr(line, report.find('\n', line) - line).find(what) != std::string::npos)
      return true;
    usleep(100);
  }
  return false;
}

}  // namespace fermata::test
#endif
