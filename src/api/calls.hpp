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
// Copies as much text as fits, and a terminating zero. *length: in, the capacity; out, the bytes needed.
int copy_text(const std::string& text, char* buffer, std::size_t* length);
// For a blocking call that has returned `status`. kRetracted: makes the call again, with the other members'
// length. If the call is interrupted, fermata_resume may do so. `executes`: the members call fermata_execute.
int settle_lengths(fermata_member* member, const fermata_operation& operation, bool executes, int status);
// For a member with `at_end`: its interrupted call was resumed, with this result.
int end_resumed(fermata_member* member, int status);

}  // namespace fermata::api
#endif
