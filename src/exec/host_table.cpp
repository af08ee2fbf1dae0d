#include "exec/host_table.hpp"

#include <string.h>

namespace fermata::exec {

Status HostTable::copy(const std::uint32_t* hosts, std::uint32_t members) {
  hosts_ = static_cast<std::uint32_t*>(malloc((members + 1) * sizeof *hosts_));
  if (hosts_ == nullptr) return Status::kMemory;
  memcpy(hosts_, hosts, (members + 1) * sizeof *hosts_);
  members_ = members;
  return Status::kOk;
}

std::uint32_t HostTable::count() const {
  std::uint32_t last = 0;
  for (std::uint32_t r = 0; r < members_; ++r) last = hosts_[r] > last ? hosts_[r] : last;
  return last + 1;
}

}  // namespace fermata::exec
