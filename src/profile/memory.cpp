#include "profile/memory.hpp"

#include <algorithm>

#include "profile/access_loops.hpp"
#include "profile/pairs.hpp"
#include "profile/statistics.hpp"

namespace fermata {
namespace {

// How many lines in a row came along. own: the time of a line that is in the cache.
std::int32_t depth(const std::vector<double>& after, double own, double miss) {
  std::int32_t lines = 0;
  for (const double ns : after) {
    if (ns - own >= miss / 2) break;
    ++lines;
  }
  return lines;
}

}  // namespace

AccessTimes access_times(const std::vector<double>& ns) {
  AccessTimes t;
  double* const each[] = {&t.read, &t.read_own, &t.add, &t.add_own, &t.await, &t.await_own};
  for (int point = 0; point < probe::kAccessPoints; ++point) {
    const double access = ns[static_cast<std::size_t>(point)] / probe::kPages;
    if (point < 6) *each[point] = access;
    else (probe::access_point(point).before == 1 ? t.after_one : t.after_three).push_back(access);
  }
  return t;
}

void deduce_accesses(const AccessTimes& t, MemoryParameters& memory) {
  const double miss = t.read - t.read_own, invalidation = t.add - t.add_own;
  if (miss <= 0) return;
  if (invalidation > 0) memory.miss_share = rounded_share(miss / (miss + invalidation));
  // The first line costs R either way.
  const double further = (probe::kPages * (t.await - t.await_own) - miss) / (probe::kPages - 1);
  memory.overlap = further < miss / 2 ? 2 : 1;
  memory.prefetch = std::max(depth(t.after_one, t.read_own, miss), depth(t.after_three, t.read_own, miss));
}

void deduce_work(const std::vector<double>& own, MemoryParameters& memory) {
  if (own.empty() || own[0] <= 0) return;
  memory.work_ns = rounded(own[0] / 2);
  double sum = 0, squares = 0;
  for (std::size_t k = 1; k < own.size(); ++k) {
    const auto siblings = static_cast<double>(k);
    sum += siblings * (own[k] / own[0] - 1);
    squares += siblings * siblings;
  }
  if (squares > 0) memory.sibling_share = rounded_share(std::max(0.0, sum / squares));
}

void deduce_readers(const std::vector<double>& published, double miss, MemoryParameters& memory) {
  if (published.size() < 2 || miss <= 0) return;
  std::vector<double> readers;
  for (std::size_t k = 1; k <= published.size(); ++k) readers.push_back(static_cast<double>(k));
  const double service = 2 * fit_line(readers, published).slope;
  if (service > 0) memory.line_share = rounded_share(std::min(1.0, service / miss));
}

}  // namespace fermata
