// Schedules as text: for people (stages, matrices) and for files (round trip).
#ifndef FERMATA_SCHEDULE_PRINT_HPP
#define FERMATA_SCHEDULE_PRINT_HPP

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

std::string to_text(const Schedule& schedule);           // readable and parseable
Result<Schedule> parse_schedule(std::string_view text);  // refuses a bad file whole: kParse, line and reason
std::string to_matrices(const Schedule& schedule);       // the paper's boolean matrices, for small member counts
// A hash of the meaning (not of names) that members compare before first use: FNV-1a over the canonical
// fields.
std::uint64_t hash_of(const Schedule& schedule);

}  // namespace fermata
#endif
