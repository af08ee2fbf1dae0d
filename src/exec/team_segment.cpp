#include "exec/team_segment.hpp"

namespace fermata::exec {

void TeamSegment::wake_everybody() const {
  // Members that poll a word park at doors in the regions. These are not woken here: their parks have a time
  // limit.
  const OsCalls with = calls();
  for (std::uint32_t r = 0; r < members(); ++r) fermata::wake<RealAtomics>(door(r), with);
}

Places TeamSegment::places() const {
  return {*reinterpret_cast<PlaceTable*>(base() + layout_.places), memory_.fd(), layout_.bytes};
}

std::uint32_t TeamSegment::usable_cpus() const {
  std::uint32_t cpus = 0;
  for (const auto& word : header().cpus)
    // order: relaxed: a hint
    cpus += static_cast<std::uint32_t>(__builtin_popcountll(word.load(std::memory_order_relaxed)));
  return os::within_quota(cpus);
}

}  // namespace fermata::exec
