// TeamPort: a process's end of a transport between hosts, for the lines of one team.
//
// A sub-team uses the port of the port owner, the team from which it was split, directly or not. Its lines
// carry its number, and the receiver's rank in the port owner and in the sub-team. From use_port_of() to
// close() the port owner's Subteams has an entry for this object. So no line lands in the segment after
// close().
#ifndef FERMATA_EXEC_TEAM_PORT_HPP
#define FERMATA_EXEC_TEAM_PORT_HPP

#include <cstdint>

#include "base/status.hpp"
#include "exec/host_table.hpp"
#include "exec/link_delays.hpp"
#include "exec/subteams.hpp"
#include "exec/team_segment.hpp"
#include "net/net.hpp"

namespace fermata::exec {

class TeamPort {
 public:
  TeamPort(const TeamSegment& segment, const HostTable& hosts) : segment_(segment), hosts_(hosts) {}
  ~TeamPort();

  // Opens this process's port. For a team over several hosts, one of this and use_port_of() is called before
  // the first member joins.
  Status connect(const net::Port& port, const char** detail);
  // `owner` is the port owner. It is connected, and outlives this object. owner_ranks[r]: rank r's rank in
  // `owner`. number: above 0; no other sub-team of `owner` has it.
  Status use_port_of(TeamPort& owner, const std::uint32_t* owner_ranks, std::uint32_t number,
                     const char** detail);
  void close();                                                 // before the segment is unmapped
  bool is_connected() const { return port_.write != nullptr; }  // also after close()
  bool is_borrowed() const { return owner_ != nullptr; }        // from the port owner
  std::uint32_t rank_in_owner(std::uint32_t rank) const { return is_borrowed() ? owner_ranks_[rank] : rank; }
  Subteams& subteams() { return subteams_; }  // of a port owner

  // Writes a line to rank line.to of this team.
  void write(net::Line& line, const net::Block* block = nullptr) const;
  // Writes a line without data to that rank's process, which measures the line's delay.
  void probe(std::uint32_t rank) const;
  // The link delays that this process has measured; null: this team measures none.
  const LinkDelays* delays() const { return delays_; }
  // Sends and receives lines. A port may send at once in write(), and flush() and close() send, too.
  void progress() const;
  // Waits until the lines that were written need no further call (net::Port::flush), but for 1 s at most.
  void flush() const;
  // Long messages (net::Port), by ranks of this team. Precondition: has_long().
  bool has_long() const { return port_.send_long != nullptr; }
  std::uint64_t send_long(std::uint32_t to, const std::byte* from, std::size_t bytes,
                          std::uint64_t* number) const;
  std::uint64_t receive_long(std::uint32_t from, std::uint64_t number, std::byte* to,
                             std::size_t bytes) const;
  bool is_over(std::uint64_t id) const { return port_.is_over(port_.self, id) != 0; }
  bool end_long(std::uint64_t id, std::int64_t most_ns) const;
  bool is_gone(std::uint32_t rank) const { return port_.is_gone(port_.self, rank_in_owner(rank)) != 0; }

 private:
  static void land_here(void* self, const net::Line* line, const net::Block* block);
  void land(const net::Line& line, const net::Block* block) const;

  const TeamSegment& segment_;
  const HostTable& hosts_;
  net::Port port_;
  TeamPort* owner_ = nullptr;  // null: the port is this object's own, or there is none
  std::uint32_t* owner_ranks_ = nullptr;
  LinkDelays* delays_ = nullptr;  // the port owner frees it
  Subteams::Entry entry_;         // in the owner's subteams_
  Subteams subteams_;
};

}  // namespace fermata::exec
#endif
