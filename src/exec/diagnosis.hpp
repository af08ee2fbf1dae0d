// Diagnosis: why a call failed. It finds the cause in the team and in the others' status lines, writes the
// error text, and breaks the team.
//
// A function that breaks the team or names a cause writes text() before it returns. The status that it
// returns is the first cause on this host, so all members on a host see the same one.
#ifndef FERMATA_EXEC_DIAGNOSIS_HPP
#define FERMATA_EXEC_DIAGNOSIS_HPP

#include <cstdint>

#include "exec/call_log.hpp"
#include "exec/request_queues.hpp"
#include "exec/seat.hpp"

namespace fermata::exec {

class Diagnosis {
 public:
  Diagnosis(Seat& seat, const CallLog& log, const RequestQueues& queues)
      : seat_(seat), log_(log), queues_(queues), team_(seat.team) {}

  // The text of the last error: what happened, and to which ranks.
  const char* text() const { return text_; }
  // Writes it. Returns the length of the whole text, of which a part may be cut off.
  [[gnu::format(printf, 2, 3)]] std::size_t say(const char* format, ...);

  // Why this member cannot go on with its team; kOk: it can.
  Status broken_status();
  // For a team that was seen broken: never kOk, even if a faulty member has since reset Team::breach().
  Status status_of_broken();
  // Breaks the team with that status, caused by `rank`. The caller has written the error text. If the team
  // was broken before, returns the earlier status and writes its text: `rank` may have left because of it.
  // If both are kMismatch, the caller's text stays: it says what this member has seen.
  Status break_team(Status status, std::uint32_t rank);
  // Break the team: that member is lost, or made another call of this number.
  Status lost(std::uint32_t rank);
  Status differ(std::uint64_t number, std::uint64_t mine, std::uint32_t rank, std::uint64_t theirs);
  // For a wait that has timed out: writes the error text and returns kTimeout; the team stays whole. `peer`:
  // the awaited rank, or the number of members plus the number of the awaited shared word.
  Status time_out(std::int64_t waited_ns, std::uint32_t peer);

  // Breaks the team if an earlier or the present call of that rank differs from this member's; else kOk. It
  // compares the calls that it still knows of both. Lengths that may differ (exec/lengths.hpp) are no
  // difference.
  Status compare(std::uint32_t rank);
  // That rank's tag is of another call. Breaks the team, and names the difference if it is known.
  Status met_another_call(std::uint32_t rank);
  // This member has no memory for data that come from another host. Breaks the team.
  Status has_no_memory();
  // This member has waited long (exec/lookout.cpp) in that call. It tells the other hosts, and compares its
  // calls with those that they have told, as compare() does.
  Status compare_abroad(std::uint64_t number, std::uint64_t call);

 private:
  Status name_breach();
  bool is_another(std::uint64_t number, std::uint32_t rank, std::uint64_t theirs);
  bool differs_from(std::uint32_t rank);
  bool differs_now(std::uint32_t rank);
  void name_lost(std::uint32_t rank);
  void name_difference(std::uint64_t number, std::uint64_t mine, std::uint32_t rank, std::uint64_t theirs);

  Seat& seat_;
  const CallLog& log_;
  const RequestQueues& queues_;
  Team& team_;
  std::uint64_t said_ = 0;  // the last call that this member told the other hosts
  char text_[240] = {};
};

}  // namespace fermata::exec
#endif
