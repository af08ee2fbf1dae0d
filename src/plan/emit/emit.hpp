// Writes two plans of a team as source code, with their sequences hard-coded (heterogeneous-mpi-barriers
// VII.C), for programs that want a barrier and an allreduce without a library.
#ifndef FERMATA_PLAN_EMIT_EMIT_HPP
#define FERMATA_PLAN_EMIT_EMIT_HPP

#include <string>

#include "base/result.hpp"
#include "plan/plan.hpp"

namespace fermata {

// Returns a self-contained header for C99 and C++11 or later. What it defines begins with `name`; macros and
// enumerators begin with the same in capital letters. The comment at its top says how to use it
// (emit/template.cpp).
// Errors: those of compile_lines(); kArgument if `name` is not an identifier, or if the plans are not those
// of an untagged barrier and an allreduce of the same number of members; kUnsupported over several hosts.
Result<std::string> emit_code(const Plan& barrier, const Plan& allreduce, const std::string& name);

// Can the names of a header begin with it? Keywords of C are not looked for.
bool is_identifier(const std::string& name);

}  // namespace fermata
#endif
