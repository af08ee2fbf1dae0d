// What preloaded processes left in the directory of FERMATA_STATS, summed up.
#ifndef FERMATA_TOOLS_RUN_STATS_HPP
#define FERMATA_TOOLS_RUN_STATS_HPP

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace fermata::stats {
struct File;
}

namespace fermata::tool {

struct SiteStats {
  std::uint64_t object = 0;
  std::string place;
  std::string plan;    // what the barrier is made of, where the process's plan does not say it
  std::string reason;  // why it was left to the run-time; empty: it was not
  std::uint32_t members = 0;
  std::uint64_t calls = 0;  // of all threads
  std::uint64_t episodes = 0;
  double late_ns = 0;           // from the arrival before the last to the last one, on average
  bool timed = false;           // a call of it was: else neither waits nor lateness are known
  bool late_known = false;      // and it is known who came last, and when the one before it
  std::uint64_t waited_ns = 0;  // of all threads; an estimate from the timed calls
  std::uint64_t longest_ns = 0;
};

struct ThreadStats {
  std::uint32_t thread = 0;
  std::uint64_t calls = 0, last = 0, waited_ns = 0;
  // how long after all others it came, where it came last; on average
  double late_ns = 0;
  bool timed = false, judged = false, late_known = false;  // else waited_ns, last and late_ns are not known
};

struct Wait {
  double begin_us = 0, length_us = 0;
  std::uint32_t thread = 0;
  bool last = false;
  std::string place;
};

struct ProcessStats {
  std::uint32_t process = 0;
  std::string library, command, plan;
  std::vector<SiteStats> sites;                                  // most waited at first
  std::vector<ThreadStats> threads;                              // by number
  std::vector<std::pair<std::string, std::uint64_t>> fell_back;  // reason, episodes
  std::vector<Wait> waits;
  std::uint64_t episodes = 0;     // by Fermata
  std::uint64_t left = 0;         // episodes by the run-time, of more than one thread
  std::uint64_t not_counted = 0;  // calls that found no room
};

// Errors: kParse (no statistics of this version). `name` is for messages.
Result<ProcessStats> stats_of(const stats::File& file, const std::string& name);
// Errors: kNotFound, kParse (likewise, or cut short).
Result<ProcessStats> read_stats(const std::string& path);
std::string to_text(const ProcessStats& stats);
nlohmann::ordered_json to_json(const ProcessStats& stats);
// The trace-event format that chrome://tracing and Perfetto read: a track per thread.
nlohmann::ordered_json trace_of(const std::vector<ProcessStats>& all);

}  // namespace fermata::tool
#endif
