#include "team/workers.hpp"

namespace fermata {

void SharedState::fail(exec::Team& team, std::uint32_t rank, Status status) {
  std::int32_t none = 0;
  // order: relaxed: read after the end; the first failure is the reason
  failed.compare_exchange_strong(none, -static_cast<std::int32_t>(status), std::memory_order_relaxed);
  team.break_with(Status::kBroken, rank);
}

std::optional<Error> run_members(Engine engine, exec::Team& team, const probe::SharedMemory& shared,
                                 const std::string& what,
                                 const std::function<void(std::uint32_t rank)>& work) {
  if (!shared) return Error{Status::kMemory, "measuring: mmap failed"};
  const bool processes = engine == Engine::kProcesses;
  const bool made = probe::run_apart(
      processes, team.members(), [&](int rank) { work(static_cast<std::uint32_t>(rank)); },
      [&] { team.break_with(Status::kBroken, 0); });
  if (!made)
    return Error{Status::kSystem, processes ? "measuring: fork failed" : "measuring: no thread can be made"};
  // order: relaxed: all have ended
  const std::int32_t failed = shared.at<SharedState>(0)->failed.load(std::memory_order_relaxed);
  if (failed != 0) return Error{static_cast<Status>(-failed), "measuring " + what + ": a member failed"};
  return std::nullopt;
}

}  // namespace fermata
