// Outstanding calls, and every way to complete them.
#ifndef FERMATA_FUZZ_COMPLETION_HPP
#define FERMATA_FUZZ_COMPLETION_HPP

#include <vector>

#include "call.hpp"

namespace fuzz {

// Completes all of them, in an order and by functions that `own` draws.
void complete(std::vector<Call*> calls, const Off& off, Random& own);

}  // namespace fuzz
#endif
