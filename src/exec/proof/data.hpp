// The proof of a set of programs that carry data: slots and credits, no branches.
#ifndef FERMATA_EXEC_PROOF_DATA_HPP
#define FERMATA_EXEC_PROOF_DATA_HPP

#include "exec/proof/locations.hpp"

namespace fermata::exec::proof {

Proof prove_data(const ProgramSet& set, const ProofTerms& terms, Scratch& scratch);

}  // namespace fermata::exec::proof
#endif
