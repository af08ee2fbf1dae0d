// HostNotices: what the hosts of a team tell each other beside signals: what broke the team, which members
// have left, and which call a member waits in. Each notice is one word or kSaidWords words, at the start of
// the team's window (exec/segment_layout.hpp).
//
// Lines from one host reach the processes of another host in any order. So each member that is told, the
// viewer, gets a notice of its own that a member has left or waits. What broke the team is one word for all
// members of a host. A notice that a member has left follows all its signals to that viewer, because the
// member flushes the port before. If the flush reaches its time limit (TeamPort::flush()), some signals may
// come after the notice.
#ifndef FERMATA_EXEC_HOST_NOTICES_HPP
#define FERMATA_EXEC_HOST_NOTICES_HPP

#include <atomic>
#include <cstdint>

#include "exec/host_table.hpp"
#include "exec/team_port.hpp"
#include "exec/team_segment.hpp"
#include "sync/handover.hpp"

namespace fermata::exec {

// Only for a team over several hosts.
class HostNotices {
 public:
  HostNotices(const TeamSegment& segment, const HostTable& hosts, const TeamPort& port)
      : segment_(segment), hosts_(hosts), port_(port) {}

  // Tells the members on other hosts what broke the team. Each process does so once.
  void tell_breach(Breach what);
  // What another host has told, unchecked; both fields 0: nothing.
  Breach told_breach() const;
  // For a member of this host that leaves, after the port was flushed: so the notice follows its signals.
  void tell_left(std::uint32_t rank) const;
  // True if `viewer` has the notice that `rank`, on another host, has left.
  bool has_left(std::uint32_t rank, std::uint32_t viewer) const;
  // For a member of this host that has waited long in a call: tells all members on other hosts which call it
  // is, by its number (the lower 40 bits) and Call::packed(). The caller does this at most once per call.
  void tell_call(std::uint32_t rank, std::uint64_t number, std::uint64_t call) const;
  // The last call that `rank`, on another host, has told `viewer`. False: none, or only a part of it has
  // come.
  bool told_call(std::uint32_t rank, std::uint32_t viewer, std::uint64_t* number, std::uint64_t* call) const;

 private:
  using Word = std::atomic<std::uint64_t>;
  Word* words(std::uint64_t offset) const { return reinterpret_cast<Word*>(segment_.base() + offset); }
  std::uint64_t left_offset(std::uint32_t rank, std::uint32_t viewer) const;
  std::uint64_t call_offset(std::uint32_t rank, std::uint32_t viewer) const;
  void tell(std::uint32_t rank, std::uint64_t offset, std::uint64_t word) const;

  const TeamSegment& segment_;
  const HostTable& hosts_;
  const TeamPort& port_;
  std::atomic<std::uint32_t> told_{0};  // 1: the breach was told
};

}  // namespace fermata::exec
#endif
