// Sums up what preloaded processes left in the directory of FERMATA_STATS.
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

// One barrier at one call site, with one number of members and one reason.
struct SiteStats {
  std::uint64_t object = 0;
  std::string place;
  std::string plan;    // the barrier's plan, if it differs from the process's; in MPI: kind and communicator
  std::string reason;  // why it was left to the run-time; empty: it was not
  std::uint32_t members = 0;  // arrivals per episode; 0: not known
  std::uint64_t calls = 0;    // of all threads
  std::uint64_t episodes = 0;
  double late_ns = 0;           // from the last but one arrival to the last, on average
  bool timed = false;           // at least one call was timed; else waits and lateness are unknown
  bool late_known = false;      // the last arrival and the one before it are known
  std::uint64_t waited_ns = 0;  // of all threads; an estimate from the timed calls
  std::uint64_t longest_ns = 0;
};

struct ThreadStats {
  std::uint32_t thread = 0;
  std::uint64_t calls = 0, last = 0, waited_ns = 0;
  // how long after all others it came, on average, in the episodes where it came last
  double late_ns = 0;
  bool timed = false, judged = false, late_known = false;  // waited_ns, last and late_ns are known
};

// The parallel regions at one call site, and whether they ran on resident teams.
struct RegionStats {
  std::string place;
  bool resident = false;
  std::uint32_t members = 0;  // the most
  std::uint64_t regions = 0;
  bool timed = false, judged = false;  // the times are known; the waits and last_rank are known
  double took_ns = 0;                  // from the begin to the end, on average
  double waiting = 0;                  // which part of their time members wait for the last one, on average
  std::uint32_t last_rank = 0;         // which came last most often; kMostRank: that one, or a higher one
  double last_share = 0;               // in how many of the regions
};
inline constexpr std::uint32_t kMostRank = 31;

struct Wait {
  double begin_us = 0, length_us = 0;
  std::uint32_t thread = 0;
  bool last = false;
  std::string place;
};

struct ProcessStats {
  std::uint32_t process = 0;
  std::string library, command, plan;
  std::vector<SiteStats> sites;                                  // by waited_ns, the largest first
  std::vector<ThreadStats> threads;                              // by number
  std::vector<RegionStats> regions;                              // by their time in all, the longest first
  std::vector<std::pair<std::string, std::uint64_t>> fell_back;  // reason, episodes
  std::vector<Wait> waits;                                       // if the program ran with --trace
  std::uint64_t episodes = 0;                                    // by Fermata
  std::uint64_t left = 0;         // episodes by the run-time, of more than one thread
  std::uint64_t not_counted = 0;  // calls for which the file had no room
};

// Errors: kParse (not a statistics file of this version). `name` is for messages.
Result<ProcessStats> stats_of(const stats::File& file, const std::string& name);
// Errors: kNotFound (cannot be opened), kParse (as above, or cut short).
Result<ProcessStats> read_stats(const std::string& path);
std::string to_text(const ProcessStats& stats);
nlohmann::ordered_json to_json(const ProcessStats& stats);
// The trace-event format of chrome://tracing and Perfetto, with one track per thread.
nlohmann::ordered_json trace_of(const std::vector<ProcessStats>& all);

}  // namespace fermata::tool
#endif
