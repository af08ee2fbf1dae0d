// Team: a process's handle on one team. It is made of parts with one job each. Team itself does what needs
// several parts: it creates, attaches and frees the team, and it knows whether members are gone and whether
// the team is broken.
//
// All members on a host share one segment: anonymous memory for threads, a memfd for processes, or a place in
// another team's memfd (exec/places.hpp). A team over several hosts has a segment on each host. Each process
// writes to the other hosts through its port (net/net.hpp).
#ifndef FERMATA_EXEC_TEAM_HPP
#define FERMATA_EXEC_TEAM_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "exec/handoffs.hpp"
#include "exec/host_notices.hpp"
#include "exec/host_table.hpp"
#include "exec/team_port.hpp"
#include "exec/team_programs.hpp"
#include "exec/team_segment.hpp"
#include "os/os.hpp"
#include "sync/handover.hpp"
#include "sync/wait.hpp"

namespace fermata::exec {

// Whether a member lives in the process that is asked about.
enum class Where : std::uint8_t { kUnknown = 0, kHere, kElsewhere };

struct TeamOptions {
  std::uint32_t members = 1;
  bool shared = false;
  bool tagged = false;
  // Members fold blocks left to right. With an associative operator they may fold in any order, because the
  // result has the same bits. The caller then passes programs with a fixed order of folds.
  bool reproducible = false;
  // Reserve address space for block calls, if there are at most kMostBlockMembers members. Memory is
  // allocated where it is used.
  bool blocks = false;
  WaitKind wait = WaitKind::kAuto;
  std::int64_t stall_ns = 0;
  // Members wait for work, and stay awake for so long (AutoWait); 0: they do not. Not for shared teams.
  std::uint32_t awake_us = 0;
  // Threads that use the same CPUs, and are no members: members wait as in a team that is larger by so many.
  std::uint32_t beside = 0;
  const void* programs[kPlanSlots] = {};  // compiled blobs; null: calls that need it are kUnsupported
  const void* model = nullptr;            // copied into the segment for all members
  std::size_t model_bytes = 0;
  const void* refresh = nullptr;  // copied in the same way
  std::size_t refresh_bytes = 0;
  const std::uint32_t* hosts = nullptr;  // host of each member; null: all on one host
  std::uint32_t host = 0;                // number of this host
  const std::int32_t* cpus = nullptr;    // the CPU for which each member's programs are; null: any
  // The new team lies in the same file as this one. Null: in a file of its own (shared), or in anonymous
  // memory.
  Team* within = nullptr;
};

class Team {
 public:
  // Checks and proves the programs, lays out the segment, and copies the programs into it. detail: static
  // text on error.
  static Status create(const TeamOptions& options, Team** out, const char** detail);
  // Takes ownership of the descriptor of another process's segment. wait: this process's policy; null: the
  // creator's. stall_ns: used only if the creator's is 0. If this process has that team already, returns the
  // same Team with one more reference, and ignores `wait` and `stall_ns`.
  static Status attach(std::int32_t fd, const WaitKind* wait, std::int64_t stall_ns, Team** out,
                       const char** detail);
  // Attaches to a team in the same file as `neighbour`, by the number of the team's place. kArgument: the
  // team does not exist or has been destroyed.
  static Status attach_within(Team& neighbour, std::uint64_t place, const WaitKind* wait,
                              std::int64_t stall_ns, Team** out, const char** detail);
  // For a sub-team, which was split from `port_owner` or from one of its sub-teams: this team uses the port
  // of `port_owner` and keeps a reference to it (TeamPort::use_port_of()). `replaces`: all members of
  // `port_owner` move to this team, so a broken `port_owner` also breaks this team.
  Status use_port_of(Team& port_owner, const std::uint32_t* owner_ranks, std::uint32_t subteam, bool replaces,
                     const char** detail);
  void retain();
  void release();  // the last reference closes the port and unmaps the segment

  // The team that owns the file in which this team's segment lies, and the team that owns its port. Each is
  // this team or another.
  Team& segment_owner() { return segment_owner_ != nullptr ? *segment_owner_ : *this; }
  Team& port_owner() { return port_owner_ != nullptr ? *port_owner_ : *this; }

  TeamSegment& segment() { return segment_; }
  const TeamSegment& segment() const { return segment_; }
  const TeamPrograms& programs() const { return programs_; }
  const HostTable& hosts() const { return hosts_; }
  TeamPort& port() { return port_; }
  const TeamPort& port() const { return port_; }
  const HostNotices& notices() const { return notices_; }
  Handoffs& handoffs() { return handoffs_; }
  Subteams& subteams() { return port_owner().port_.subteams(); }  // of the port owner

  TeamHeader& header() const { return segment_.header(); }
  const TeamLayout& layout() const { return segment_.layout(); }
  StatusLine& status(std::uint32_t rank) const { return segment_.status(rank); }
  std::byte* base() const { return segment_.base(); }
  std::uint32_t members() const { return segment_.members(); }
  bool shared() const { return segment_.memory().is_shared(); }
  WaitKind wait() const { return wait_; }
  std::int64_t stall_ns() const { return stall_ns_; }
  std::uint32_t awake_us() const { return awake_us_; }
  std::uint32_t beside() const { return beside_; }
  // True for a team of threads in a forked child: no member can join it there. False for a team of processes.
  bool forked() const { return !shared() && segment_.memory().is_in_child(); }

  // Sends and receives lines through the port. If the team is broken on another host, or replaces a port
  // owner that is broken, breaks it here too.
  void attend_port();
  // In a broken team: tells the other hosts what broke it, if this process has not done so yet.
  void tell_abroad();
  // For a member of this host that leaves: flushes its signals (TeamPort::flush()), then sends the notice
  // that it has left. In a broken team it only tells what broke the team.
  void leave_hosts(std::uint32_t rank);

  // Whether this member lives in that process, so that addresses mean the same to both. Known once it has
  // joined. kUnknown for a rank of another host.
  Where where_is(std::uint32_t rank, const os::ProcessMemory& process) const;
  // For a rank of this host. False if a member has ever joined with it, or is joining.
  bool is_free(std::uint32_t rank) const;
  // True if the member has left or its process has died. For a rank on another host: also if its process does
  // not answer any more, and the answer depends on the asking rank, `viewer` (exec/host_notices.hpp).
  bool is_gone(std::uint32_t rank, std::uint32_t viewer) const;

  // The statuses that break a team.
  static bool breaks(Status status) {
    return status == Status::kMemberLost || status == Status::kMismatch || status == Status::kBroken;
  }
  static Status cause_of(Breach breach) {
    return static_cast<Status>(-static_cast<std::int32_t>(breach.cause));
  }
  static constexpr Breach kAborted{static_cast<std::uint32_t>(-static_cast<std::int32_t>(Status::kBroken)),
                                   0};
  // A value that no correct member writes counts as an abort.
  Breach breach() const {
    const Breach what = breach_of<RealAtomics>(header());
    const bool whole = what.cause == 0 && what.culprit == 0;
    if (whole || (breaks(cause_of(what)) && what.culprit <= members())) return what;
    return kAborted;
  }
  // Breaks the team and wakes parked members (TeamSegment::wake_everybody()). Only the first cause is stored;
  // true: this call stored it. culprit: a rank; UINT32_MAX: none. (A Breach stores 1 + the rank.)
  // Async-signal-safe.
  bool break_with(Status status, std::uint32_t culprit);

 private:
  explicit Team(const SegmentMemory& memory) : segment_(memory) {}
  // Takes over the memory, and keeps a reference to the owner of the file in which it is a place (null: it is
  // no place). Null: malloc failed, and the memory is unmapped.
  static Team* adopt(SegmentMemory memory, Team* segment_owner, const char** detail);
  // Also checks the segment, which another process has created.
  static Status adopt_checked(const SegmentMemory& memory, Team* segment_owner, const WaitKind* wait,
                              std::int64_t stall_ns, Team** out, const char** detail);
  void list();
  void close();
  void destroy();
  void break_as(Breach elsewhere);

  // The parts refer to each other, so a Team never moves.
  TeamSegment segment_;
  TeamPrograms programs_{segment_};
  HostTable hosts_;
  TeamPort port_{segment_, hosts_};
  HostNotices notices_{segment_, hosts_, port_};
  Handoffs handoffs_{segment_.layout()};
  WaitKind wait_ = WaitKind::kAuto;
  std::int64_t stall_ns_ = 0;
  std::uint32_t awake_us_ = 0, beside_ = 0;
  std::atomic<std::uint32_t> references_{1};
  Team* segment_owner_ = nullptr;  // another team, with a reference; null: this team
  Team* port_owner_ = nullptr;     // as above
  bool replaces_ = false;          // it replaces the port owner
  // All teams of this process that own a file, under os::ProcessLock.
  static Team* listed_;
  Team* next_ = nullptr;
};

}  // namespace fermata::exec
#endif
