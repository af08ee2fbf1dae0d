#include "team/workers.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <thread>
#include <vector>

namespace fermata {
namespace {

bool run_threads(std::uint32_t members, const std::function<void(std::uint32_t)>& work, exec::Team& team) {
  std::vector<std::thread> workers;
  try {
    for (std::uint32_t r = 0; r < members; ++r) workers.emplace_back([&work, r] { work(r); });
  } catch (const std::exception&) {  // no further thread, or no memory
    team.break_with(Status::kBroken, 0);
  }
  for (std::thread& t : workers) t.join();
  return workers.size() == members;
}

bool run_processes(std::uint32_t members, const std::function<void(std::uint32_t)>& work, exec::Team& team) {
  std::vector<pid_t> workers;
  for (std::uint32_t r = 0; r < members; ++r) {
    const pid_t pid = fork();
    if (pid == 0) {
      work(r);
      _exit(0);
    }
    if (pid < 0) {
      team.break_with(Status::kBroken, 0);
      break;
    }
    workers.push_back(pid);
  }
  for (const pid_t pid : workers) waitpid(pid, nullptr, 0);
  return workers.size() == members;
}

}  // namespace

void SharedState::fail(exec::Team& team, std::uint32_t rank, Status status) {
  std::int32_t none = 0;
  // order: relaxed: read after the end; the first failure is the reason
  failed.compare_exchange_strong(none, -static_cast<std::int32_t>(status), std::memory_order_relaxed);
  team.break_with(Status::kBroken, rank);
}

void Unmap::operator()(SharedState* shared) const { munmap(shared, bytes); }

Result<SharedPages> run_members(Engine engine, exec::Team& team, std::size_t bytes, const std::string& what,
                                const std::function<void(std::uint32_t rank, SharedState& shared)>& work) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return Error{Status::kMemory, "measuring: mmap failed"};
  SharedPages shared(static_cast<SharedState*>(pages), {bytes});
  const auto work_as = [&](std::uint32_t rank) { work(rank, *shared); };
  const bool processes = engine == Engine::kProcesses;
  if (!(processes ? run_processes : run_threads)(team.members(), work_as, team))
    return Error{Status::kSystem, processes ? "measuring: fork failed" : "measuring: no thread can be made"};
  const std::int32_t failed = shared->failed.load(std::memory_order_relaxed);  // order: all have ended
  if (failed != 0) return Error{static_cast<Status>(-failed), "measuring " + what + ": a member failed"};
  return shared;
}

}  // namespace fermata
