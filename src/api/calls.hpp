// What the functions of the C ABI have in common.
#ifndef FERMATA_API_CALLS_HPP
#define FERMATA_API_CALLS_HPP

#include <cstddef>
#include <string>

#include "fermata/fermata.h"
#include "team/blocks.hpp"
#include "team/errors.hpp"
#include "team/handles.hpp"
#include "team/team.hpp"

namespace fermata::api {

// Checks a configuration and fills `out` from it. Returns an error if it is bad.
int request_of(const fermata_team_config& config, team::TeamRequest& out);
// Copies as much text as fits, and a terminating zero. *length: in, the capacity; out, the bytes needed, with
// the zero. Writes nothing to the buffer if it is null or the capacity is 0. Returns FERMATA_OK always.
int copy_text(const std::string& text, char* buffer, std::size_t* length);
// For a blocking call that has returned `status`. kRetracted: makes the call again, with the other members'
// length. A timeout or the idle hook may have interrupted the first call. Then, if the member's lengths may
// differ, this sets `at_end`: fermata_resume makes the second call if the first one ends with kRetracted. The
// second call may be interrupted, too. Any other status is returned as it is. `executes`: the call is
// fermata_execute, else the function of its collective.
int settle_lengths(fermata_member* member, const fermata_operation& operation, bool executes, int status);
// For a member with `at_end`: its interrupted call was resumed, with this status. Runs `at_end` once, and
// returns its result. If the status says that the call was interrupted again, returns the status and keeps
// `at_end`.
int end_resumed(fermata_member* member, int status);

}  // namespace fermata::api
#endif
