// The ways to complete outstanding calls.
#ifndef FERMATA_FUZZ_COMPLETION_HPP
#define FERMATA_FUZZ_COMPLETION_HPP

#include <vector>

#include "call.hpp"

namespace fuzz {

// Completes those that are outstanding, in an order and by functions that `own` draws. Frees the requests of
// persistent ones.
void complete(std::vector<Call*> calls, const Off& off, Random& own);

}  // namespace fuzz
#endif
