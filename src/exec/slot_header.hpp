#ifndef FERMATA_EXEC_SLOT_HEADER_HPP
#define FERMATA_EXEC_SLOT_HEADER_HPP

#include <cstdint>

namespace fermata {

// A slot's header: the episode, and a tag of the call that wrote it. Members whose calls differ notice it by
// the tag.
struct Header {
  static constexpr unsigned kTagBits = 31;
  std::uint64_t bits = 0;

  static constexpr Header of(std::uint64_t episode, std::uint64_t tag) { return {episode << kTagBits | tag}; }
  // True if it is of this episode or a later one, of any call.
  constexpr bool has_come(std::uint64_t seen) const {
    return static_cast<std::int64_t>(seen - (bits >> kTagBits << kTagBits)) >= 0;
  }
  // True if it is of this episode but of another call. One comparison, because a branch on the episode costs
  // a fifth of a barrier's time: it is random whether a peer is an episode ahead.
  constexpr bool is_foreign(std::uint64_t seen) const {
    return (seen ^ bits) - 1 < (std::uint64_t{1} << kTagBits) - 1;
  }
};

}  // namespace fermata
#endif
