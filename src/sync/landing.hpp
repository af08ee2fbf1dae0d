// A line from another host, written into its slot on this one.
#ifndef FERMATA_SYNC_LANDING_HPP
#define FERMATA_SYNC_LANDING_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

// Max-write: a slot's header and payload become the line's if its header is the greater one, by difference,
// since headers wrap around. False: it came twice, or a later one of the same slot was faster. One thread at
// a time lands what is for one process's slots.
// payload(i): the slot's word i. bring(): puts what else comes with the line to its place.
template <class A, class Counter, class Payload, class Bring>
inline bool land(Counter& header, Payload&& payload, std::uint64_t newer, std::uint32_t words, const std::uint64_t* from, Bring&& bring) {
  // order: relaxed: written by those who land here alone, and their lock orders them
  if (static_cast<std::int64_t>(newer - A::load_relaxed(header)) <= 0) return false;
  for (std::uint32_t i = 0; i < words; ++i) A::plain_store(payload(i), from[i]);
  bring();
  // order: release, so that who reads this header sees the payload, what the line brought, and all that the
  // sender knew. Pairs with kSlotAwait.
  A::template store_release<Site::kSlotPublish>(header, newer);
  return true;
}

}  // namespace fermata
#endif
