// Lending: a member reads a block where it lies in another one's memory, until the lender takes it back because the team is broken: then
// its owner may free the block, so nobody may be reading it.
//
// Dekker's pattern. Reader: say that it reads; fence; look whether the team is broken; read; say that it has. Lender: see (or make) the
// team broken; fence; look whether anybody reads, and wait for it. Whichever comes second sees the other's write.
#ifndef FERMATA_SYNC_LENDING_HPP
#define FERMATA_SYNC_LENDING_HPP

#include <cstdint>

#include "sync/atomics.hpp"
#include "sync/handover.hpp"

namespace fermata {

template <class A, class Flag>
inline void end_reading(Flag& reading) {
  // order: release: after the reads. Pairs with kReadEndAwait.
  A::template store_release<Site::kReadEnd>(reading, std::uint32_t{0});
}

// False: the team is broken, and nothing may be read. Else end_reading() follows.
template <class A, class Flag, class Header>
inline bool begin_reading(Flag& reading, const Header& header) {
  // order: relaxed; the fence orders it before the look.
  A::store_relaxed(reading, std::uint32_t{1});
  // order: store-load, between that and the look whether the team is broken. Pairs with kWithdrawFence.
  A::template full_fence<Site::kReadFence>();
  if (!is_broken<A>(header)) return true;
  end_reading<A>(reading);
  return false;
}

// By who has seen the team broken, before it asks still_reads() of each reader.
template <class A>
inline void withdraw() {
  // order: store-load, between the team's being broken and the looks at the readers. Pairs with kReadFence.
  A::template full_fence<Site::kWithdrawFence>();
}

template <class A, class Flag>
inline bool still_reads(const Flag& reading) {
  // order: acquire: its reads happened before what the lender's owner does to the block now. Pairs with kReadEnd.
  return A::template load_acquire<Site::kReadEndAwait>(reading) != 0;
}

}  // namespace fermata
#endif
