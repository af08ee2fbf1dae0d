// The programs of one plan as the cases of a C switch over ranks.
#ifndef FERMATA_PLAN_EMIT_PROGRAM_CODE_HPP
#define FERMATA_PLAN_EMIT_PROGRAM_CODE_HPP

#include <cstddef>
#include <string>
#include <vector>

namespace fermata::emit {

// Returns the statement `switch (me->rank) {...}`. It uses these variables of the function around it:
//   me          the member
//   at, doors   the first cell of the region, and of the members' doors
//   e           the number of the episode
//   r, in       the registers, and room for one more (only if the collective carries data)
//   words, bytes, fold   what one register holds, and the user's function (likewise)
// It calls functions whose names begin with `name` (emit/template.cpp). The blob is a program for one host,
// for root 0, as compile_lines() makes it.
std::string switch_over_ranks(const std::vector<std::byte>& blob, const std::string& name);

}  // namespace fermata::emit
#endif
