// Writes a line that came from another host into its slot on this host.
#ifndef FERMATA_SYNC_LANDING_HPP
#define FERMATA_SYNC_LANDING_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

// Max-write: the line's header and payload replace the slot's if the line's header is greater. Headers are
// compared by signed difference, because they wrap around. Returns false if the line is a repeat, or a later
// line of the same slot has already landed. One thread at a time lands the lines for one process's slots.
// Exception: all processes of a host land lines for the word that says what broke the team. Any of its values
// will do.
// payload(i) is word i of the slot. bring() writes the block that came with the line, if any, to its place.
template <class A, class Counter, class Payload, class Bring>
inline bool land(Counter& header, Payload&& payload, std::uint64_t newer, std::uint32_t words,
                 const std::uint64_t* from, Bring&& bring) {
  // order: relaxed: only the threads that land lines here write it, and their lock orders them. Where several
  // processes land lines for one word, any of its values will do.
  if (static_cast<std::int64_t>(newer - A::load_relaxed(header)) <= 0) return false;
  for (std::uint32_t i = 0; i < words; ++i) A::plain_store(payload(i), from[i]);
  bring();
  // order: release: a reader of this header sees the payload, the block, and all that the sender knew. Pairs
  // with kSlotAwait.
  A::template store_release<Site::kSlotPublish>(header, newer);
  return true;
}

}  // namespace fermata
#endif
