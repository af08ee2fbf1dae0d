// Self-consistency: no collective should take longer than other calls of the same library with the same
// result (bench/mockups.cpp).
#ifndef FERMATA_BENCH_GUIDELINES_HPP
#define FERMATA_BENCH_GUIDELINES_HPP

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/session.hpp"

namespace fermata::bench {

// Judged by the confidence interval of mock-up / call. kViolated: all of it is below kTolerated. kHolds: the
// median is 1 or more. kClose: neither. kUnknown: too few rounds for an interval.
enum class Finding : std::uint8_t { kHolds = 0, kClose = 1, kViolated = 2, kUnknown = 3 };
constexpr const char* name_of(Finding f) {
  constexpr const char* kNames[] = {"holds", "close", "VIOLATED", "too few rounds"};
  return kNames[static_cast<int>(f)];
}
// Each subject has a process of its own, with another placement of memory. The placement alone can explain
// ratios from this to 1.
inline constexpr double kTolerated = 0.95;

struct Guideline {
  Case what;
  std::string mockup;
  double call_ns = 0, mockup_ns = 0;  // medians of the period
  Ratio ratio;                        // mock-up / call, within rounds
  Finding finding = Finding::kHolds;
  std::string plan;  // the call's plan, if the planner reports it: "butterfly/packed"
};

// Whether there are mock-ups of that collective.
bool has_guidelines(Collective collective);
// Both use `options` for each collective of `collectives`, without floors and rivals. A call and its mock-ups
// form a group. Default payloads are 8 bytes, 4 KiB and 1 MiB; a barrier has none. check_guidelines() returns
// "" or what is wrong with the options. In the outcome, the keys of `plans` begin with the collective.
std::string check_guidelines(Options options, const std::vector<Collective>& collectives);
Outcome run_guidelines(Options options, const std::vector<Collective>& collectives);

std::vector<Guideline> judge(const Outcome& outcome);
std::string guidelines_table(const std::vector<Guideline>& guidelines);
nlohmann::json guidelines_json(const std::vector<Guideline>& guidelines);

}  // namespace fermata::bench
#endif
