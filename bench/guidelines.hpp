// Self-consistency: no collective should take longer than what does the same by other calls of the same
// library (bench/mockups.cpp).
#ifndef FERMATA_BENCH_GUIDELINES_HPP
#define FERMATA_BENCH_GUIDELINES_HPP

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/session.hpp"

namespace fermata::bench {

// By the interval of mock-up / call: violated where all of it lies below kTolerated; holds where the median
// is 1 or more; else close. unknown: too few rounds for an interval.
enum class Finding : std::uint8_t { kHolds = 0, kClose = 1, kViolated = 2, kUnknown = 3 };
constexpr const char* name_of(Finding f) {
  constexpr const char* kNames[] = {"holds", "close", "VIOLATED", "too few rounds"};
  return kNames[static_cast<int>(f)];
}
// Subjects live in processes of their own, whose memory may lie differently: what is below it is no accident
// of that.
inline constexpr double kTolerated = 0.95;

struct Guideline {
  Case what;
  std::string mockup;
  double call_ns = 0, mockup_ns = 0;  // medians of the period
  Ratio ratio;                        // mock-up / call, within rounds
  Finding finding = Finding::kHolds;
  std::string plan;  // what the call ran, where the planner says it: "butterfly/packed"
};

// Whether mock-ups of that kind exist.
bool has_guidelines(Kind kind);
// `options` with `collective` of each of `kinds`, each call with its mock-ups in a group of its own.
// Payloads: of options, else 8 bytes, 4 KiB and 1 MiB; a barrier has none. "" or what is wrong with the
// options.
std::string check_guidelines(Options options, const std::vector<Kind>& kinds);
Outcome run_guidelines(Options options, const std::vector<Kind>& kinds);

std::vector<Guideline> judge(const Outcome& outcome);
std::string guidelines_table(const std::vector<Guideline>& guidelines);
nlohmann::json guidelines_json(const std::vector<Guideline>& guidelines);

}  // namespace fermata::bench
#endif
