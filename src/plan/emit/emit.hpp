// Writes two plans of a team as source code, with their sequences hard-coded (heterogeneous-mpi-barriers
// VII.C), for programs that want a barrier and an allreduce without a library.
#ifndef FERMATA_PLAN_EMIT_EMIT_HPP
#define FERMATA_PLAN_EMIT_EMIT_HPP

#include <string>

#include "base/result.hpp"
#include "plan/plan.hpp"

namespace fermata {

// Returns a self-contained header for C11, and with GCC or Clang also for C99 and C++11, or later. What it
// defines begins with `name`; macros and enumerators begin with the same in capital letters. The comment at
// its top says how to use it (emit/template.cpp). Errors: those of compile_lines(); kArgument if `name` is
// not an identifier, if `barrier` is not a barrier's plan without a payload (a tag), if `allreduce` is not an
// allreduce's, or if their numbers of members differ; kUnsupported if a plan is for several hosts.
Result<std::string> emit_code(const Plan& barrier, const Plan& allreduce, const std::string& name);

// Is it letters, digits and underscores, with no digit first? Nothing else is checked: not keywords, and not
// the names that C reserves, such as those with two underscores first.
bool is_identifier(const std::string& name);

}  // namespace fermata
#endif
