// The parts of an emitted header that are the same for all plans. They are C99 and C++11 (emit.hpp), except
// that NAME stands for the team's name, and UPPER for the same in capital letters.
#ifndef FERMATA_PLAN_EMIT_TEMPLATE_HPP
#define FERMATA_PLAN_EMIT_TEMPLATE_HPP

namespace fermata::emit {

extern const char* const kUsage;    // the comment at the top: how to use the header
extern const char* const kAtomics;  // includes; atomic accesses, for each compiler of the header
extern const char* const kTeam;     // the structs, init and join
extern const char* const kWaits;    // waits and signals; parking
extern const char* const kFolds;    // NAME_allreduce_sum_double() and so on, for common types and operators

}  // namespace fermata::emit
#endif
