// Single copy between members of one process: a member reads a block directly in the memory of another
// member, its owner. If the team breaks, the owner may free the block. Before that, the owner waits until no
// member reads the block. (Between processes the kernel reads the block, and the owner need not wait.)
//
// This is Dekker's pattern:
// - Reader: set the flag `reading`, fence, check that the team is not broken, read, clear the flag.
// - Owner: break the team or see it broken, fence, check each reader's flag, wait until it is clear.
// The side that comes second sees the other's write. Each member has one flag. A: the atomics policy, which
// names the sites (sync/atomics.hpp).
#ifndef FERMATA_SYNC_SINGLE_COPY_HPP
#define FERMATA_SYNC_SINGLE_COPY_HPP

#include <cstdint>

#include "sync/atomics.hpp"
#include "sync/handover.hpp"

namespace fermata {

template <class A, class Flag>
inline void end_reading(Flag& reading) {
  // order: release: after the reads. Pairs with kReadEndAwait.
  A::template store_release<Site::kReadEnd>(reading, std::uint32_t{0});
}

// Returns false if the team is broken: then the caller must not read. Else the caller must call
// end_reading().
template <class A, class Flag, class Header>
inline bool begin_reading(Flag& reading, const Header& header) {
  // order: relaxed; the fence below orders it before the check.
  A::store_relaxed(reading, std::uint32_t{1});
  // order: store-load, between the flag and the check for a broken team. Pairs with kWithdrawFence.
  A::template full_fence<Site::kReadFence>();
  if (!is_broken<A>(header)) return true;
  end_reading<A>(reading);
  return false;
}

// The owner calls it after it has seen the team broken, and before it calls still_reads() for each reader.
template <class A>
inline void withdraw() {
  // order: store-load, from the team's breach to the checks of the readers' flags. Pairs with kReadFence.
  A::template full_fence<Site::kWithdrawFence>();
}

template <class A, class Flag>
inline bool still_reads(const Flag& reading) {
  // order: acquire: the reader's reads happened before the owner changes or frees the block. Pairs with
  // kReadEnd.
  return A::template load_acquire<Site::kReadEndAwait>(reading) != 0;
}

}  // namespace fermata
#endif
