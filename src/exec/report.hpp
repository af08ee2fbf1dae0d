// Text about a team and its calls. For members on this host it comes from the status lines. Of a member on
// another host, it says only what that host has told: that the member has left, or has waited long in a call.
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

// Reports on standard error that `rank` has waited in that call, which members of this host have not begun
// the call, and how many members on other hosts may not have. False: standard error has not taken all of it.
bool report_stall(const Team& team, std::uint32_t rank, std::uint64_t number, std::int64_t waited_ns);

}  // namespace fermata::exec
#endif
