// How long an element of an operator may be.
#ifndef FERMATA_PRELOAD_MPI_LONGEST_ELEMENT_HPP
#define FERMATA_PRELOAD_MPI_LONGEST_ELEMENT_HPP

#include <cstddef>

namespace fermata::preload {

// Bytes, without gaps, of the longest element that the preload gives to Fermata in a team of this size. An
// element must fit into a piece of a ring buffer, and ring buffers are shorter in large teams
// (docs/collectives.md, memory). Some teams could take longer elements than this, such as one of 41 members.
// No team takes an element of more than 4096 bytes.
constexpr std::size_t longest_element(int members) {
  return members <= 40 ? 4096 : members <= 64 ? 1536 : members <= 128 ? 384 : members <= 256 ? 64 : 48;
}

}  // namespace fermata::preload
#endif
