// Lookout: what a member that waits or tests for long checks at intervals: whether a member that must still
// do its part of the call has left or died, and whether another member has made another call. It also settles
// lengths that differ (exec/lengths.hpp).
//
// A look does not wait for another member. It reads the others' status lines, so it is far more expensive
// than a poll.
#ifndef FERMATA_EXEC_LOOKOUT_HPP
#define FERMATA_EXEC_LOOKOUT_HPP

#include <cstdint>

#include "exec/lengths.hpp"
#include "exec/request_engine.hpp"
#include "exec/waiter.hpp"

namespace fermata::exec {

class Lookout : Parts {
 public:
  Lookout(const Parts& parts, Lengths& lengths, RequestEngine& engine)
      : Parts(parts), lengths_(lengths), engine_(engine) {}

  // For a wait for the line call. kOk: the wait goes on. kRetracted: repeat the call with the others' length.
  // Otherwise the error that has broken the team.
  Status look_at_line(std::int64_t waited_ns);
  // For a line call that is only tested: makes the checks of a wait. kRetracted: repeat it with the others'
  // length. kOk: depart() ends the call, or finds the error. kPending: the call is not over. Otherwise the
  // error that has broken the team.
  Status test_line();
  // For a wait for requests, as look_at_line().
  Status look_at_requests(std::int64_t waited_ns);
  // For a member that tests its requests again and again instead of waiting. kOk: it goes on, or a request
  // has ended. Otherwise the error that has broken the team.
  Status test_requests();

 private:
  // unsettled: a member that has done its part of the call may have done it with another length
  Status look_at_others(std::int64_t waited_ns, bool unsettled);
  Status compare(std::uint32_t rank, std::int64_t waited_ns);
  Status look_for(const BlockRequest& request, std::int64_t waited_ns, bool unsettled);
  Status look_for_givers(const BlockRequest& request);  // the members whose data an unsettled request needs
  Status look_for_ride(std::int64_t waited_ns);         // a request that is carried out as a line call

  Lengths& lengths_;
  RequestEngine& engine_;
  // of test_line(), which reads the clock only every 64th time
  std::uint32_t tests_ = 0;    // tests of line calls that were not over
  std::uint64_t tested_ = 0;   // the last call that was tested,
  std::int64_t since_ns_ = 0;  // and when the clock was first read in its tests, or its last check
  // of test_requests(), which reads the clock each time
  std::uint64_t looked_at_ = 0;  // how many requests had ended when pending_ns_ was set
  std::int64_t pending_ns_ = 0;  // no request has ended since this time
  std::int64_t next_look_ns_ = 0;
};

}  // namespace fermata::exec
#endif
