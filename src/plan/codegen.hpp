// Writes a plan as source code, with its sequence hard-coded (heterogeneous-mpi-barriers VII.C), for programs
// that want to run without Fermata.
#ifndef FERMATA_PLAN_CODEGEN_HPP
#define FERMATA_PLAN_CODEGEN_HPP

#include <string>

#include "base/result.hpp"
#include "plan/plan.hpp"

namespace fermata {

// Returns a self-contained C++20 header with namespace `name`: kMembers, kRegionBytes and one function. The
// region is zeroed, 128-byte aligned memory that all members share. Each member calls the function with its
// rank and episode = 1, 2, 3, ...:
//   barrier:  void barrier(unsigned char* region, unsigned rank, std::uint64_t episode)
//   others:   template <class T, class Fold> void allreduce(region, rank, episode, T& value, Fold fold)
//             T is trivially copyable and no larger than the plan's payload; value is the contribution, then
//             the result.
// Waits spin with the CPU's pause instruction, then yield; they neither park nor report. Rooted kinds are for
// root 0.
// Errors: those of compile(); kArgument if `name` is not an identifier; kUnsupported over several hosts.
Result<std::string> emit_code(const Plan& plan, const std::string& name);

}  // namespace fermata
#endif
