// The outcome of a run as JSON and as a table.
#ifndef FERMATA_BENCH_REPORT_HPP
#define FERMATA_BENCH_REPORT_HPP

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/session.hpp"

namespace fermata::bench {

inline constexpr int kTableWidth = 100;

// The origin of the numbers: CPU, kernel, compiler, flags, commit, affinity, plans, versions, command line,
// date, and some settings.
nlohmann::json machine_json(const Options& options, const Outcome& outcome, const std::string& command_line);

// {"unit", "samples", "median", "p10", "p90", "min"}; the caller adds to it.
nlohmann::json samples_json(const std::vector<double>& samples, const char* unit);

// {"version": 1, "machine": {...}, "results": [...], "left_out": [...]}. Times are in ns per episode. The
// bound, the ratios and their intervals can be null. `samples` has one entry per round, null if the subject
// did not run.
nlohmann::json to_json(const Options& options, const Outcome& outcome, const std::string& command_line);

// The text of a result file: a line for each row of a table, and else for each value of an object. An array
// without objects, such as samples, takes one line. scripts/compact_json.py writes the same.
std::string file_text(const nlohmann::json& json);

// Lines of at most kTableWidth columns: one block per (n, bytes, quantity, engine), one for the probes of a
// group, and what was left out.
std::string to_table(const Outcome& outcome);
std::string left_out_table(const Outcome& outcome);  // the last part of the table

// "31.2", "1234", "12.3k", "4.56M": up to five characters below 9.995e11, plus a sign.
std::string short_number(double value);
// "0.95", "12.3", "1234", "12.3k"; "0.95-1.05", or "" if there is no interval
std::string short_ratio(double value);
std::string short_interval(const std::optional<Interval>& interval);
nlohmann::json interval_json(const std::optional<Interval>& interval);  // [low, high], or null

}  // namespace fermata::bench
#endif
