// Prints schedules as text for people (stages, matrices) and for files, and reads them back.
#ifndef FERMATA_SCHEDULE_PRINT_HPP
#define FERMATA_SCHEDULE_PRINT_HPP

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

std::string to_text(const Schedule& schedule);           // parse_schedule reads it back
Result<Schedule> parse_schedule(std::string_view text);  // error: kParse with line and reason
// Boolean matrices, one per stage. If members and words are more than 40, one line that says so instead.
std::string to_matrices(const Schedule& schedule);
// Returns a hash of the schedule's fields without its name (FNV-1a). It is the same on every machine.
std::uint64_t hash_of(const Schedule& schedule);

}  // namespace fermata
#endif
