// Messages between two processes of a job.
#include <algorithm>

#include "profile/job_parts.hpp"
#include "profile/statistics.hpp"

namespace fermata {
namespace {

// Repeats of each point, as in section IV.A of heterogeneous-mpi-barriers. The result is the median instead
// of the mean, since machines are shared.
constexpr int kRepeats = 25;
constexpr int kLeastRepeats = 3;
constexpr int kMostLog2Bytes = 20, kLeastLog2Bytes = 6;
constexpr int kLong = 5;
constexpr int kSignalsAtOnce[] = {1, 2, 4, 8, 16, 32};
// One repeat of all points of a pair takes about as long as this many short messages. One point is a long
// message, another is 32 messages at once.
constexpr double kMessagesOfARepeat = 40;

}  // namespace

MessageCost measure_messages(const Job& job, std::int32_t a, std::int32_t b, double seconds) {
  constexpr MessageCost kFailed{.o = -1};
  std::vector<double> x, y;
  double spent = 0;
  // Times one point: `repeats` repeats and one to warm up. Both processes get the same time, so both make the
  // same decisions.
  const auto time = [&](std::size_t bytes, int signals, int repeats) {
    const double ns = job.time(a, b, bytes, signals, repeats);
    spent += (signals > 0 ? 1 : 2) * (repeats + 1) * ns;
    return ns;
  };
  const double one = time(1, 0, kLeastRepeats);
  if (one < 0) return kFailed;
  const int repeats = static_cast<int>(
      std::clamp<double>(seconds * 1e9 / (kMessagesOfARepeat * one), kLeastRepeats, kRepeats));
  for (int k = 0; k <= kMostLog2Bytes && (k <= kLeastLog2Bytes || spent < seconds * 1e9); ++k) {
    const double ns = time(std::size_t{1} << k, 0, repeats);
    if (ns < 0) return kFailed;
    x.push_back(static_cast<double>(std::size_t{1} << k));
    y.push_back(ns);
  }
  const double o = fit_line(x, y).intercept;
  // G needs a long message: the slope over short messages would be noise.
  const double longer = time(kLongBytes, 0, std::min(kLong, repeats));
  if (longer < 0) return kFailed;
  const auto long_bytes = static_cast<double>(kLongBytes);
  const double g = unit_cost((longer - o) / long_bytes, long_bytes, longer);
  x.clear();
  y.clear();
  for (const int signals : kSignalsAtOnce) {
    const double ns = time(0, signals, repeats);
    if (ns < 0) return kFailed;
    x.push_back(signals);
    y.push_back(ns);
  }
  return {o, fit_line(x, y).slope, g, spent};
}

}  // namespace fermata
