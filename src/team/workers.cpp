#include "team/workers.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace fermata {
namespace {

void run_threads(std::uint32_t members, const std::function<void(std::uint32_t)>& work) {
  std::vector<std::thread> workers;
  for (std::uint32_t r = 0; r < members; ++r) workers.emplace_back([&work, r] { work(r); });
  for (std::thread& t : workers) t.join();
}

bool run_processes(std::uint32_t members, const std::function<void(std::uint32_t)>& work,
                   const std::function<void()>& lost) {
  std::vector<pid_t> workers;
  for (std::uint32_t r = 0; r < members; ++r) {
    const pid_t pid = fork();
    if (pid == 0) {
      work(r);
      _exit(0);
    }
    if (pid < 0) {
      lost();
      break;
    }
    workers.push_back(pid);
  }
  for (const pid_t pid : workers) waitpid(pid, nullptr, 0);
  return workers.size() == members;
}

}  // namespace

bool run_members(Engine engine, std::uint32_t members, const std::function<void(std::uint32_t)>& work,
                 const std::function<void()>& lost) {
  if (engine == Engine::kProcesses) return run_processes(members, work, lost);
  run_threads(members, work);
  return true;
}

}  // namespace fermata
