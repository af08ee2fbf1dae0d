#include "exec/handoffs.hpp"

#include <stdlib.h>

#include "exec/team.hpp"

namespace fermata::exec {

Handoffs::~Handoffs() {
  for (std::uint32_t r = 0; made_ != nullptr && r < layout_.members; ++r)
    if (made_[r] != nullptr) made_[r]->release();
  free(made_);
}

Status Handoffs::give(std::uint32_t rank, Team* made) {
  if (made != nullptr) made->retain();
  Team* before = made;
  {
    const os::ProcessLock lock;
    if (made_ == nullptr && made != nullptr)
      made_ = static_cast<Team**>(calloc(layout_.members, sizeof *made_));
    if (made_ != nullptr) {
      before = made_[rank];
      made_[rank] = made;
    }
  }
  if (before != nullptr) before->release();
  return before != made || made == nullptr ? Status::kOk : Status::kMemory;
}

Team* Handoffs::take(std::uint32_t rank) const {
  const os::ProcessLock lock;
  Team* const made = made_ != nullptr ? made_[rank] : nullptr;
  if (made != nullptr) made->retain();
  return made;
}

}  // namespace fermata::exec
