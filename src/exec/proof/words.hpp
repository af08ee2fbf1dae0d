// The proof of a set of programs that carry no data: a barrier of slots and words.
#ifndef FERMATA_EXEC_PROOF_WORDS_HPP
#define FERMATA_EXEC_PROOF_WORDS_HPP

#include "exec/proof/locations.hpp"

namespace fermata::exec::proof {

Proof prove_words(const ProgramSet& set, const ProofTerms& terms, Scratch& scratch);

}  // namespace fermata::exec::proof
#endif
