#include "profile/pairs.hpp"

#include <algorithm>
#include <map>

#include "profile/statistics.hpp"

namespace fermata {
namespace {

constexpr double kPairsBudget = 150;  // seconds for the signals of all pairs, even those of 128 CPUs
constexpr int kMostRounds = 5;
constexpr double kLeastEach = 0.01;        // seconds per pair and round; less time gives too few repeats
constexpr double kLeastExtra = 0.02;       // seconds of a measurement that is made once per round
constexpr std::size_t kPairsPerLevel = 3;  // with --sample, and for bytes where there are many pairs
constexpr std::size_t kBytePairs = 400;    // with more pairs, bytes are timed for a few pairs per level
constexpr double kBytesShare = 0.5;        // the bytes of a pair get this share of the time of its signals

std::int32_t rows(const Topology& t) { return static_cast<std::int32_t>(t.cpus.size()); }

Level level_of(const Topology& t, std::int32_t i, std::int32_t j) {
  return common_level(t.cpus[static_cast<std::size_t>(i)], t.cpus[static_cast<std::size_t>(j)]);
}

// value(i, j) is 0 if the pair is unknown. Calls set(pair, the known pairs of its level) for each unknown
// pair whose level has known pairs.
template <class Value, class Set>
void fill_from_level(const Topology& t, Value&& value, Set&& set) {
  std::map<Level, std::vector<RowPair>> known;
  std::vector<RowPair> unknown;
  for (std::int32_t i = 0; i < rows(t); ++i)
    for (std::int32_t j = i + 1; j < rows(t); ++j)
      if (value(i, j) > 0) known[level_of(t, i, j)].push_back({i, j});
      else unknown.push_back({i, j});
  for (const RowPair& pair : unknown)
    if (const auto of = known.find(level_of(t, pair.a, pair.b)); of != known.end()) set(pair, of->second);
}

void copy_median(Matrix& m, const RowPair& to, const std::vector<RowPair>& of, double (*round)(double)) {
  m.at(to.a, to.b) = m.at(to.b, to.a) = round(median_of(m, of));
}

}  // namespace

std::vector<RowPair> all_pairs(std::int32_t rows) {
  std::vector<RowPair> pairs;
  for (std::int32_t a = 0; a < rows; ++a)
    for (std::int32_t b = 0; b < rows; ++b)
      if (a != b) pairs.push_back({a, b});
  return pairs;
}

double median_of(const Matrix& m, const std::vector<RowPair>& pairs) {
  std::vector<double> values;
  for (const RowPair& pair : pairs) values.push_back(m.at(pair.a, pair.b));
  return median(std::move(values));
}

LinkCost median_of(const Profile& p, const std::vector<RowPair>& pairs) {
  return {median_of(p.o, pairs), median_of(p.l, pairs), !pairs.empty()};
}

double rounded(double ns) { return static_cast<double>(static_cast<std::int64_t>(ns * 100 + 0.5)) / 100; }
double rounded_share(double share) { return rounded(10 * share) / 10; }
double rounded_byte(double ns) { return rounded(100 * ns) / 100; }

double share_of_pair(double seconds, std::size_t cpus) {
  constexpr double kOnce = 20, kPair = 1.5;
  const auto n = static_cast<double>(cpus);
  return seconds / (kPair * n * (n - 1) / 2 + kOnce);
}

MeasuringPlan measuring_plan(const Topology& topology, const ProfileOptions& options) {
  MeasuringPlan plan;
  std::map<Level, std::vector<RowPair>> levels;
  for (std::int32_t i = 0; i < rows(topology); ++i)
    for (std::int32_t j = i + 1; j < rows(topology); ++j) levels[level_of(topology, i, j)].push_back({i, j});
  for (auto& [level, pairs] : levels) {
    if (options.sample && pairs.size() > kPairsPerLevel)
      pairs = {pairs.front(), pairs[pairs.size() / 2], pairs.back()};
    plan.pairs.insert(plan.pairs.end(), pairs.begin(), pairs.end());
    plan.representatives.push_back(pairs.front());
  }
  for (const auto& [level, pairs] : levels)
    for (std::size_t i = 0; i < pairs.size(); ++i)
      if (plan.pairs.size() <= kBytePairs || i < kPairsPerLevel) plan.byte_pairs.push_back(pairs[i]);
  const double count = std::max<double>(1, static_cast<double>(plan.pairs.size()));
  const std::int32_t n = rows(topology);
  const double extras = n > 1 ? (n > 2 ? 14 : 13) + 4 * static_cast<double>(plan.representatives.size()) : 2;
  const double each = std::min(options.seconds_per_pair, kPairsBudget / count);
  plan.rounds = std::clamp(static_cast<int>(each / kLeastEach), 1, kMostRounds);
  plan.each = each / plan.rounds;
  plan.extra = std::max(options.seconds_per_pair / plan.rounds, kLeastExtra);
  plan.byte_each = kBytesShare * (plan.byte_pairs.size() < plan.pairs.size() ? plan.extra : plan.each);
  plan.self = std::min(0.02, plan.each);
  plan.total =
      plan.rounds * (plan.each * count + plan.byte_each * static_cast<double>(plan.byte_pairs.size()) +
                     plan.extra * extras + plan.self * n);
  return plan;
}

void replicate(Profile& p) {
  fill_from_level(
      p.topology, [&](std::int32_t i, std::int32_t j) { return p.o.at(i, j) + p.l.at(i, j); },
      [&](const RowPair& pair, const std::vector<RowPair>& of) {
        copy_median(p.o, pair, of, rounded);
        copy_median(p.l, pair, of, rounded);
      });
}

void replicate_bytes(Profile& p) {
  fill_from_level(
      p.topology, [&](std::int32_t i, std::int32_t j) { return p.g.at(i, j); },
      [&](const RowPair& pair, const std::vector<RowPair>& of) {
        copy_median(p.g, pair, of, rounded_byte);
        copy_median(p.g_direct, pair, of, rounded_byte);
      });
}

}  // namespace fermata
