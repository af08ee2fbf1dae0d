// Calls in words.
#ifndef FERMATA_FUZZ_WORDS_HPP
#define FERMATA_FUZZ_WORDS_HPP

#include "call.hpp"

namespace fuzz {

extern const char* const kKindNames[kKinds];
extern const char* const kWrongNames[kWrongs];
extern const char* const kFormNames[kForms];

// Sets call.words. base: the name of the type that all elements consist of.
void describe(Call& call, const char* base);

}  // namespace fuzz
#endif
