// What two kinds of plan files have in common: plans on lines, whose data are on the signals' cache lines,
// and plans for blocks of longer data. They share header, team, origin, candidates, and the place in the
// cache. For src/plan only. Functions that read complain to their reader, and return values that mean nothing
// after that.
#ifndef FERMATA_PLAN_PLAN_FILE_HPP
#define FERMATA_PLAN_PLAN_FILE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "json/reader.hpp"
#include "plan/plan.hpp"
#include "profile/store.hpp"

namespace fermata {

inline constexpr double kMostNs = 1e15;  // no time in a file is longer

struct FileFormat {
  const char* name;
  int version;
};
// Begins a file of this format: an open object with its format and version.
std::string header_text(const FileFormat& format);
// Complains about a file of another format or version.
void check_header(const JsonNode& root, const FileFormat& format, ObjectReader& reader);

std::string list_text(const std::vector<std::int32_t>& values);
// Reads a list of numbers from 0 to `most`, inclusive. An absent or empty list gives no numbers.
//   entry    what each is the number of, for complaints: "CPU"
//   members  the length of a list that is not empty; 0: any length
std::vector<std::int32_t> read_numbers(const JsonNode* node, const std::string& entry, std::int32_t most,
                                       std::int32_t members, ObjectReader& reader);

// Reads the fields fingerprint, engine, members and cpus. More than `most_members` members are refused.
void read_team(const JsonNode& node, std::int32_t most_members, ObjectReader& reader, TeamKey& team);
// Reads the field layout.
Layouts read_layout(const JsonNode& node, ObjectReader& reader);

// How a format writes a candidate.
struct CandidateForm {
  const char* algorithm;  // the key of its algorithm
  bool lines;             // plans on lines: there are layouts, and times of simulated machines
};
// What chose the plan: estimated costs (no measured profile, or for blocks one without costs per byte),
// predicted costs (from a measured profile), or times that were simulated or measured. Returns "estimated",
// "predicted", "simulated" (plans on lines) or "measured".
std::string read_origin(const JsonNode& node, CandidateForm form, ObjectReader& reader);
std::string candidates_text(const std::vector<Candidate>& candidates, CandidateForm form,
                            const std::string& indent);
std::vector<Candidate> read_candidates(const JsonNode* node, CandidateForm form, ObjectReader& outer);

// Returns PREFIX-<hash of key>.json in the cache directory; empty if there is no cache directory.
std::string cached_path(const char* prefix, const std::string& key);

}  // namespace fermata
#endif
