// What a block operation still has to do, for waits and reports.
#include "exec/blocks.hpp"

namespace fermata::exec {

// True if the predicate holds for any open transfer of the present stage.
template <class Predicate>
bool BlockOperation::any_open(Predicate&& holds) const {
  if (over()) return false;
  const BlockStage& stage = program_->stages[stage_];
  for (std::uint32_t t = stage.first; t < stage.first + stage.count; ++t)
    if (!is_done(t) && holds(program_->transfers[t], t)) return true;
  return false;
}

bool BlockOperation::ready() const {
  return over() || any_open([&](const BlockTransfer&, std::uint32_t t) {
           return could_move(program_->stages[stage_], t);
         });
}

bool BlockOperation::works_with(std::uint32_t rank) const {
  return any_open([&](const BlockTransfer& x, std::uint32_t) { return !is_local(x.code) && x.peer == rank; });
}

bool BlockOperation::untouched() const {
  for (std::uint32_t t = 0; t < program_->transfer_count; ++t)
    if (!is_local(program_->transfers[t].code) &&
        (work_[t].announced != 0 || work_[t].done != 0 || work_[t].in_long != 0))
      return false;
  return true;
}

bool BlockOperation::uses_single_copy() const {
  return any_open([&](const BlockTransfer&, std::uint32_t t) { return work_[t].announced != 0; });
}

bool BlockOperation::lacks(std::uint32_t rank) const {
  return any_open([&](const BlockTransfer& x, std::uint32_t t) {
    if (is_local(x.code) || x.peer != rank || !is_next(t) || peer_has_acted(t)) return false;
    return !work_[t].waits_for_long() || lacks_long(t);
  });
}

std::size_t BlockOperation::open_bytes() const {
  std::size_t bytes = 0;
  any_open([&](const BlockTransfer&, std::uint32_t t) {
    bytes += (work_[t].elements - work_[t].done) * call_.element;
    return false;
  });
  return bytes;
}

std::uint32_t BlockOperation::awaited() const {
  std::uint32_t peer = program_->rank;
  any_open([&](const BlockTransfer& x, std::uint32_t) {
    if (!is_local(x.code)) peer = x.peer;
    return !is_local(x.code);
  });
  return peer;
}

}  // namespace fermata::exec
