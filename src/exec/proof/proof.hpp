// Proves a compiled program (exec/program.hpp) before anybody runs it, from its steps alone: neither the schedule that it was made from,
// nor the compiler, nor a file's hash is trusted.
//
//  payload 0: a barrier of slots and words (words.hpp). Whoever completes which word, nobody waits for ever; at its end each member has
//             heard of every other; nobody adds to a word for an episode before the one before is complete there.
//  payload:   slots and credits, no words (data.hpp). Each member ends with what its kind says: every contribution once, folded in the
//             same order by all that end with it; no slot is written before what it held was read.
//  both:      whatever is awaited is sent in that episode, by one step of one member; slots, words, credits and doors do not overlap;
//             the signal that ends a wait rings the door that the waiting member parks at (places.hpp).
//
// Proofs over all episodes rest on one argument: the steps are the same in each, so what holds in a window of episodes holds in every one.
#ifndef FERMATA_EXEC_PROOF_PROOF_HPP
#define FERMATA_EXEC_PROOF_PROOF_HPP

#include <cstddef>
#include <cstdint>

#include "exec/program.hpp"

namespace fermata::exec {

struct ProofTerms {
  const std::uint32_t* hosts = nullptr;            // of each member; null: all share memory
  std::size_t most_bytes = std::size_t{64} << 20;  // of scratch memory
  bool parks = true;                               // false: members never park, so doors are not looked at
};

struct Proof {
  const char* flaw = nullptr;  // a static text; null: the program is proved
  std::uint32_t root = 0;      // where it was found: the set of programs, the member, and its step
  std::uint32_t member = 0;
  std::uint32_t step = 0;
  explicit operator bool() const { return flaw == nullptr; }
};

inline constexpr std::size_t kProofText = 256;

// Precondition: program_is_sound. Takes memory from malloc and gives it back; no memory, or more than `most_bytes`, is a flaw as well.
Proof prove_program(const ProgramHeader& program, const ProofTerms& terms = {});
// The flaw in a sentence: "member 3, step 5: ...".
void describe(const Proof& proof, char (&text)[kProofText]);

}  // namespace fermata::exec
#endif
