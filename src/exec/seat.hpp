// Seat: a member's place in its team, and whether the member can make a call now.
//
// A call can start while gate_ is the process's fork generation. The gate is 0 while a line call (call.hpp)
// is outstanding, or a block call whose wait has ended early. On the fast path a line call becomes
// outstanding only if a signal has not come within the initial spin count, or is of another call. Otherwise
// it leaves the gate as it is. The gate is 0 for good once this member has given up its team. broken_ is the
// status with which it did so.
#ifndef FERMATA_EXEC_SEAT_HPP
#define FERMATA_EXEC_SEAT_HPP

#include <cstdint>

#include "base/status.hpp"
#include "exec/team.hpp"
#include "os/os.hpp"

namespace fermata::exec {

class Seat {
 public:
  Team& team;
  const std::uint32_t rank;
  const os::ProcessMemory home;  // this process, in a team of processes
  const bool over_hosts;
  const bool attends;  // the team has a port, which calls for progress must drive

  Seat(Team& its_team, std::uint32_t its_rank)
      : team(its_team),
        rank(its_rank),
        home(team.shared() ? os::own_memory() : os::ProcessMemory{}),
        over_hosts(team.hosts().are_several()),
        attends(team.port().is_connected()) {}

  bool is_open() const { return gate_ == os::fork_generation(); }
  // True while the gate is 0 because of a call (see above), not for good.
  bool outstanding() const { return gate_ == 0 && broken_ == Status::kOk; }
  void open() { gate_ = generation_; }
  void close() { gate_ = 0; }

  Status broken() const { return broken_; }
  // From now on no call can start.
  void set_broken(Status status) {
    close();
    broken_ = status;
  }
  // Ends this member's wait in a broken team, and tells the other hosts.
  Status give_up(Status status) {
    team.tell_abroad();
    set_broken(status);
    return status;
  }

  bool forked() const { return generation_ != os::fork_generation(); }  // the member belongs to the parent
  // kForked, or the status with which this member has given up its team. kOk also if a call is outstanding.
  Status usable() const { return forked() ? Status::kForked : broken_; }
  // Why a call cannot start: an error of usable(), another call is outstanding, or there is no plan for it.
  // Ask only after a call was refused.
  Status refusal() const {
    const Status now = usable();
    return now != Status::kOk ? now : outstanding() ? Status::kBusy : Status::kUnsupported;
  }

 private:
  std::uint32_t generation_ = os::fork_generation();
  std::uint32_t gate_ = generation_;
  Status broken_ = Status::kOk;
};

}  // namespace fermata::exec
#endif
