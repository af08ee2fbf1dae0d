// What preloaded processes left in the directory of FERMATA_STATS, summed up.
#ifndef FERMATA_TOOLS_RUN_STATS_HPP
#define FERMATA_TOOLS_RUN_STATS_HPP

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace fermata::tool {

struct SiteStats {
  std::uint64_t object = 0;
  std::string place;
  std::uint32_t members = 0;
  std::uint64_t calls = 0;      // of all threads
  std::uint64_t waited_ns = 0;  // of all threads; an estimate from the timed calls
  std::uint64_t longest_ns = 0;
};

struct ThreadStats {
  std::uint32_t thread = 0;
  std::uint64_t calls = 0, last = 0, waited_ns = 0;
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
  std::vector<SiteStats> sites;      // most waited at first
  std::vector<ThreadStats> threads;  // by number
  std::vector<std::pair<std::string, std::uint64_t>> fell_back;
  std::vector<Wait> waits;
  std::uint64_t episodes = 0;        // the times somebody came last
  std::uint64_t not_counted = 0;     // records or events that found no room
};

// Errors: kNotFound, kParse (not such a file, or cut short).
Result<ProcessStats> read_stats(const std::string& path);
std::string to_text(const ProcessStats& stats);
nlohmann::ordered_json to_json(const ProcessStats& stats);
// The trace-event format that chrome://tracing and Perfetto read: a track per thread.
nlohmann::ordered_json trace_of(const std::vector<ProcessStats>& all);

}  // namespace fermata::tool
#endif
