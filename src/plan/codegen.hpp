// A plan as source code: the sequence of one plan hard-coded (heterogeneous-mpi-barriers VII.C), for programs that want
// no library at run time.
#ifndef FERMATA_PLAN_CODEGEN_HPP
#define FERMATA_PLAN_CODEGEN_HPP

#include <string>

#include "base/result.hpp"
#include "plan/plan.hpp"

namespace fermata {

// A self-contained C++20 header with namespace `name`: kMembers, kRegionBytes (zeroed, 128-byte aligned memory that all
// members share), and one function, called by each member with its rank and episode = 1, 2, 3, ...:
//   barrier:  void barrier(unsigned char* region, unsigned rank, std::uint64_t episode)
//   others:   template <class T, class Fold> void allreduce(region, rank, episode, T& value, Fold fold)
//             T trivially copyable and at most the plan's payload; value is the contribution, then the result.
// Waits spin with the CPU's pause, then yield: no parking, no reports. Rooted kinds are for root 0.
// Errors: those of compile(); kArgument if name is no identifier; kUnsupported over several hosts.
Result<std::string> emit_code(const Plan& plan, const std::string& name);

}  // namespace fermata
#endif
