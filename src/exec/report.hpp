// Text about a team and its calls. It comes from the status lines in this host's segment. Those of members on
// other hosts stay empty, so reports say that these members have not joined.
#ifndef FERMATA_EXEC_REPORT_HPP
#define FERMATA_EXEC_REPORT_HPP

#include <cstddef>

#include "exec/call.hpp"
#include "exec/team.hpp"

namespace fermata::exec {

// Writes one line per member into text, as far as they fit. Returns the length needed, with the terminating
// zero.
std::size_t report(const Team& team, char* text, std::size_t capacity);

// Writes Fermata's name of a call, e.g. "allreduce(double, sum, 8 bytes)".
void describe(const Call& call, char* text, std::size_t capacity);

// Reports on standard error that `rank` has waited in that call, and which members have not begun the call,
// as the status lines say. False: standard error takes nothing now.
bool report_stall(const Team& team, std::uint32_t rank, std::uint64_t number, std::int64_t waited_ns);

}  // namespace fermata::exec
#endif
