// Runs the members of a measurement.
#ifndef FERMATA_TEAM_WORKERS_HPP
#define FERMATA_TEAM_WORKERS_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "exec/team.hpp"
#include "plan/plan.hpp"

namespace fermata {

// The beginning of the memory that the members of one measurement share: anonymous pages, which forked
// processes share, too.
struct SharedState {
  std::atomic<std::int32_t> failed{0};  // -Status of the member that failed first

  // For a member that has failed. Breaks the team, so that nobody waits for this member.
  void fail(exec::Team& team, std::uint32_t rank, Status status);
};
struct Unmap {
  std::size_t bytes = 0;
  void operator()(SharedState* shared) const;
};
using SharedPages = std::unique_ptr<SharedState, Unmap>;

// Runs work(rank, shared) for each member of the team, in a thread or forked process of its own, and waits
// until all have ended. shared: `bytes` bytes, all 0, with the same contents for all members. Errors:
// kMemory, kSystem (a process could not be made), and that of a member; `what` names what was measured.
Result<SharedPages> run_members(Engine engine, exec::Team& team, std::size_t bytes, const std::string& what,
                                const std::function<void(std::uint32_t rank, SharedState& shared)>& work);

}  // namespace fermata
#endif
