#include "exec/host_table.hpp"

#include <string.h>

#include "exec/team_segment.hpp"

namespace fermata::exec {

Status HostTable::copy(const std::uint32_t* hosts, std::uint32_t members) {
  hosts_ = static_cast<std::uint32_t*>(malloc((members + 1) * sizeof *hosts_));
  if (hosts_ == nullptr) return Status::kMemory;
  memcpy(hosts_, hosts, (members + 1) * sizeof *hosts_);
  members_ = members;
  return Status::kOk;
}

Status HostTable::check(const TeamSegment& segment) {
  const TeamLayout& h = segment.layout();
  if (h.hosts == 0) return Status::kOk;
  const bool whole = h.hosts % sizeof(std::uint32_t) == 0 &&
                     segment.covers(h.hosts, (h.members + 1) * sizeof(std::uint32_t)) &&
                     h.window % kMaxLine == 0 && h.window >= plans_offset(h.members) &&
                     segment.covers(h.window, regions_in_window(h.members));
  if (!whole) return Status::kMismatch;
  const auto* const hosts = reinterpret_cast<const std::uint32_t*>(segment.base() + h.hosts);
  if (const Status copied = copy(hosts, h.members); copied != Status::kOk) return copied;
  TeamSegment::keep_copies();
  for (std::uint32_t r = 0; r <= h.members; ++r)
    if (hosts_[r] >= h.members) return Status::kMismatch;
  return Status::kOk;
}

std::uint32_t HostTable::count() const {
  std::uint32_t last = 0;
  for (std::uint32_t r = 0; r < members_; ++r) last = hosts_[r] > last ? hosts_[r] : last;
  return last + 1;
}

}  // namespace fermata::exec
