// HostTable: on which host each member of a team runs. The table is set once, before other threads see the
// team, and never changes.
#ifndef FERMATA_EXEC_HOST_TABLE_HPP
#define FERMATA_EXEC_HOST_TABLE_HPP

#include <stdlib.h>

#include <cstdint>

#include "base/status.hpp"

namespace fermata::exec {

class TeamSegment;

class HostTable {
 public:
  HostTable() = default;
  ~HostTable() { free(hosts_); }
  HostTable(const HostTable&) = delete;
  HostTable& operator=(const HostTable&) = delete;

  // hosts[members + 1]: the host of each member, then this host. Called at most once. If it is not called,
  // all members are on one host.
  Status copy(const std::uint32_t* hosts, std::uint32_t members);
  // Copies and checks the table in the segment of another process, if it has one.
  Status check(const TeamSegment& segment);

  // True if there is a table, even one that names one host only. A member then joins only with a port.
  bool are_several() const { return hosts_ != nullptr; }
  std::uint32_t of(std::uint32_t rank) const { return are_several() ? hosts_[rank] : 0; }
  std::uint32_t here() const { return are_several() ? hosts_[members_] : 0; }  // this host
  bool is_away(std::uint32_t rank) const { return are_several() && hosts_[rank] != hosts_[members_]; }
  // One more than the largest number of a host.
  std::uint32_t count() const;

 private:
  std::uint32_t* hosts_ = nullptr;  // null: one host
  std::uint32_t members_ = 0;
};

}  // namespace fermata::exec
#endif
