// The law of a barrier's latency over hosts, by four numbers (remote-store-barriers, section VI): its value,
// and its fit to measured or simulated latencies.
#ifndef FERMATA_SIM_LATENCY_LAW_HPP
#define FERMATA_SIM_LATENCY_LAW_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace fermata::sim {

// How the latency grows with the number of hosts: by its logarithm, as the paper finds, or linearly, for
// comparison.
enum class Growth : std::uint8_t { kLog, kLinear };

// t = (a1 cores + a2) g(hosts) + b1 cores + b2, in us. g is ln, or the number itself. The cores are those of
// each host.
struct LatencyLaw {
  double a1 = 0, a2 = 0, b1 = 0, b2 = 0;
  Growth growth = Growth::kLog;
  double us(double hosts, double cores) const;
};

// Equation 2, fitted to at most 64 nodes of at most 16 cores.
inline constexpr LatencyLaw kPaperLaw{0.0216, 2.4928, 0.0561, 0.377};

struct LawPoint {
  double hosts = 1, cores = 1, us = 0;
  bool operator==(const LawPoint&) const = default;
};

struct LawFit {
  LatencyLaw law;
  double r2 = 0;  // the coefficient of determination over all points
  // The least R2 of the lines that section VI.A fits: one for each number of cores, by itself. Lines through
  // fewer than three numbers of hosts do not count; nullopt: there is no other one.
  std::optional<double> least_r2;
  std::size_t worst = 0;      // the point that is farthest from the law
  double worst_residual = 0;  // by how many us it lies above the law
};

// Least squares, with equal weights. Error: kArgument if the points do not determine the four numbers.
Result<LawFit> fit_law(const std::vector<LawPoint>& points, Growth growth);

// Points as text: the line "hosts,cores,latency_us", then a line with three numbers for each point. Lines
// that are empty or begin with # do not count. Error: kParse, with the line.
Result<std::vector<LawPoint>> points_from_csv(std::string_view text);
std::string to_csv(const std::vector<LawPoint>& points);

}  // namespace fermata::sim
#endif
