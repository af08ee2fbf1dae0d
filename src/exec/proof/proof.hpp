// Proves a compiled program (exec/program.hpp) before any member runs it. The proof reads only the program's
// header and steps. It does not trust the schedule of the program, the compiler, or the hash of a file.
//
//   payload 0  a barrier of slots and words (words.cpp). Whichever members complete the words, no member
//              waits for ever. At the end each member has heard of every other member. No member adds to a
//              word for an episode before the previous episode is complete there.
//   payload    slots and credits, no words (data.cpp). Each member that gets a result ends with it. In a
//              broadcast that is the root's value, else every contribution once. In a barrier that carries
//              tags, a contribution may come more than once, and in any order. In other folds, all members
//              that get the result use the same order, up to exchanged operands. No slot is written before
//              its last contents were read.
//   both       every awaited slot is written in that episode, by one step of one member, and every word gets
//              as many adds as complete it. Slots, words, credits and doors do not overlap. The signal that
//              ends a wait rings the door where the member parks (locations.hpp).
//
// The steps are the same in every episode. So a property that holds in a window of episodes holds in all.
#ifndef FERMATA_EXEC_PROOF_PROOF_HPP
#define FERMATA_EXEC_PROOF_PROOF_HPP

#include <cstddef>
#include <cstdint>

#include "exec/program.hpp"

namespace fermata::exec {

struct ProofTerms {
  const std::uint32_t* hosts = nullptr;            // host of each member; null: all share memory
  std::size_t most_bytes = std::size_t{64} << 20;  // of scratch memory at most
  bool parks = true;                               // false: members never park, so doors are not checked
};

struct Proof {
  const char* flaw = nullptr;  // static text; null: the program is proved
  std::uint32_t root = 0;      // where the flaw is: set of programs, member and step
  std::uint32_t member = 0;
  std::uint32_t step = 0;
  explicit operator bool() const { return flaw == nullptr; }
};

inline constexpr std::size_t kProofText = 256;

// Precondition: program_is_sound(). Uses malloc, and frees its memory. A lack of memory is a flaw too.
Proof prove_program(const ProgramHeader& program, const ProofTerms& terms = {});
// Writes the flaw, as "member 3, step 5 of its program for root 0: ..."; "proved" if there is none.
void describe(const Proof& proof, char (&text)[kProofText]);

}  // namespace fermata::exec
#endif
