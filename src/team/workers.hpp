// Runs the members of a measurement.
#ifndef FERMATA_TEAM_WORKERS_HPP
#define FERMATA_TEAM_WORKERS_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "exec/team.hpp"
#include "plan/plan.hpp"
#include "profile/probe.hpp"

namespace fermata {

// The beginning of the memory that the members of one measurement share.
struct SharedState {
  std::atomic<std::int32_t> failed{0};  // -Status of the member that failed first

  // For a member that has failed. Breaks the team, so that nobody waits for this member.
  void fail(exec::Team& team, std::uint32_t rank, Status status);
};

// Runs work(rank) for each member of the team, in a thread or forked process of its own, and waits until all
// have ended. `shared` begins with a SharedState. Errors: kMemory (there is no such memory), kSystem (a
// thread or process could not be made), and the first that a member gave SharedState::fail(). The exit
// statuses of the processes are ignored. `what` names what was measured.
std::optional<Error> run_members(Engine engine, exec::Team& team, const probe::SharedMemory& shared,
                                 const std::string& what,
                                 const std::function<void(std::uint32_t rank)>& work);

}  // namespace fermata
#endif
