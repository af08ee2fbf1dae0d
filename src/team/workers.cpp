#include "team/workers.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace fermata {
namespace {

void run_threads(std::uint32_t members, const std::function<void(std::uint32_t)>& work) {
  std::vector<std::thread> crew;
  for (std::uint32_t r = 0; r < members; ++r) crew.emplace_back([&work, r] { work(r); });
  for (std::thread& t : crew) t.join();
}

bool run_processes(std::uint32_t members, const std::function<void(std::uint32_t)>& work,
                   const std::function<void()>& lost) {
  std::vector<pid_t> crew;
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
    crew.push_back(pid);
  }
  for (const pid_t pid : crew) waitpid(pid, nullptr, 0);
  return crew.size() == members;
}

}  // namespace

bool run_members(Engine engine, std::uint32_t members, const std::function<void(std::uint32_t)>& work,
                 const std::function<void()>& lost) {
  if (engine == Engine::kProcesses) return run_processes(members, work, lost);
  run_threads(members, work);
  return true;
}

}  // namespace fermata
