#include "exec/host_notices.hpp"

namespace fermata::exec {

// Does nothing if the rank is on this host.
void HostNotices::tell(std::uint32_t rank, std::uint64_t offset, std::uint64_t word) const {
  net::Line line{.offset = offset, .header = word, .to = rank};
  if (hosts_.is_away(rank)) port_.write(line);
}

// Each process that finds the team broken tells all members on other hosts: it may reach a member that
// another process cannot reach.
void HostNotices::tell_breach(Breach what) {
  // order: relaxed: the thread that comes second has nothing to do
  if (!RealAtomics::compare_exchange_relaxed(told_, 0u, 1u)) return;
  for (std::uint32_t r = 0; r < segment_.members(); ++r)
    tell(r, segment_.layout().window, std::uint64_t{what.culprit} << 8 | what.cause);
}

Breach HostNotices::told_breach() const {
  const Word& abroad = *words(segment_.layout().window);
  const std::uint64_t word = abroad.load(std::memory_order_relaxed);  // order: relaxed: as in told_call()
  return {static_cast<std::uint32_t>(word & 0xff), static_cast<std::uint32_t>(word >> 8)};
}

// For each rank on another host and each member here: 1 once that rank has left.
std::uint64_t HostNotices::left_offset(std::uint32_t rank, std::uint32_t viewer) const {
  const std::uint64_t pair = std::uint64_t{viewer} * segment_.members() + rank;
  return segment_.layout().window + kMaxLine + pair * sizeof(std::uint64_t);
}

void HostNotices::tell_left(std::uint32_t rank) const {
  for (std::uint32_t r = 0; r < segment_.members(); ++r) tell(r, left_offset(rank, r), 1);
}

bool HostNotices::has_left(std::uint32_t rank, std::uint32_t viewer) const {
  const Word& left = *words(left_offset(rank, viewer));
  // order: acquire: the thread that landed this notice has landed all of the rank's signals. Pairs with
  // land()'s kSlotPublish.
  return RealAtomics::load_acquire<Site::kSlotAwait>(left) != 0;
}

// A word holds the call's number in its upper bits, so that the greater word is the newer one. The lower bits
// hold a part of the call's descriptor.
constexpr unsigned kPartBits = 24;
static_assert(kSaidWords * kPartBits >= 64);

std::uint64_t HostNotices::call_offset(std::uint32_t rank, std::uint32_t viewer) const {
  const std::uint32_t members = segment_.members();
  const std::uint64_t pair = std::uint64_t{viewer} * members + rank;
  return segment_.layout().window + kMaxLine + left_bytes(members) +
         pair * kSaidWords * sizeof(std::uint64_t);
}

void HostNotices::tell_call(std::uint32_t rank, std::uint64_t number, std::uint64_t call) const {
  constexpr std::uint64_t kPart = (std::uint64_t{1} << kPartBits) - 1;
  for (std::uint32_t r = 0; r < segment_.members(); ++r)
    for (std::uint64_t i = 0; i < kSaidWords; ++i)
      tell(r, call_offset(rank, r) + i * sizeof(std::uint64_t),
           number << kPartBits | (call >> i * kPartBits & kPart));
}

bool HostNotices::told_call(std::uint32_t rank, std::uint32_t viewer, std::uint64_t* number,
                            std::uint64_t* call) const {
  const Word* const words = this->words(call_offset(rank, viewer));
  *call = 0;
  for (std::uint64_t i = 0; i < kSaidWords; ++i) {
    // order: relaxed: readers use only the word itself
    const std::uint64_t word = words[i].load(std::memory_order_relaxed);
    if (i != 0 && word >> kPartBits != *number) return false;  // the other words have not come yet
    *number = word >> kPartBits;
    *call |= (word << (64 - kPartBits) >> (64 - kPartBits)) << i * kPartBits;
  }
  return *number != 0;
}

}  // namespace fermata::exec
