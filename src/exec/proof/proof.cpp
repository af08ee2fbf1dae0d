#include "exec/proof/proof.hpp"

#include <stdio.h>

#include "base/collective.hpp"
#include "exec/proof/locations.hpp"

namespace fermata::exec {

Proof prove_program(const ProgramHeader& program, const ProofTerms& terms) {
  const Collective collective = static_cast<Collective>(program.collective);
  if (collective != Collective::kBarrier && program.payload == 0)
    return {"a collective with data carries no data"};
  if ((has_root(collective) ? program.members : 1) != program.regions)
    return {"it does not have one region per root"};
  if (terms.hosts != nullptr && has_root(collective) && program.roots == 1 && program.members > 1)
    return {"over several hosts it needs a set of programs for each root"};
  for (std::uint32_t root = 0; root < program.roots; ++root) {
    const proof::ProgramSet set(program, root);
    proof::Scratch scratch(terms.most_bytes);
    Proof found = program.payload == 0 ? proof::prove_words(set, terms, scratch)
                                       : proof::prove_data(set, terms, scratch);
    found.root = root;
    if (!found) return found;
  }
  return {};
}

void describe(const Proof& proof, char (&text)[kProofText]) {
  if (proof) snprintf(text, sizeof text, "proved");
  else
    snprintf(text, sizeof text, "member %u, step %u of its program for root %u: %s", proof.member, proof.step,
             proof.root, proof.flaw);
}

}  // namespace fermata::exec
