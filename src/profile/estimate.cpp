// Estimates what a signal costs where nothing was measured: round numbers by level.
#include <algorithm>

#include "profile/levels.hpp"

namespace fermata {

namespace {

// kOneWay: one-way latencies of a cache line on recent server processors, in ns, rounded up.
// kSlopeShare: L is a tenth of a signal in our own measurements: 12 of 125 ns on two CPUs, 22 of 202 on 16
// (machines/intel-*-threads.json, bench/results/cores-16/profile.json). Store and miss buffers hide the rest.
// kReaderShare: readers of a line follow each other by up to a quarter of a signal: 29 of 125 ns and 31 of
// 202.
// These numbers rank levels. They do not predict a time.
constexpr double kOneWay[kLevelCount] = {0, 15, 30, 55, 70, 110, 200, 1500};
constexpr double kSlopeShare = 0.1, kReaderShare = 0.25;

// ns per byte of a copy into shared memory and a copy out of it that overlap. Within a cache: 20 GB/s.
// Through a shared cache: 10 GB/s. Farther levels: less. Network: 10 Gb/s. These numbers, too, rank levels.
constexpr double kByte[kLevelCount] = {0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.8};

}  // namespace

double default_byte_ns(Level level) { return kByte[static_cast<int>(level)]; }

const BlockWay* single_copy_beside(const Profile& p, const BlockWay& ring) {
  const auto at = std::find_if(p.blocks.begin(), p.blocks.end(), [&](const BlockWay& b) {
    return b.way == "lent" && b.both == ring.both && b.bytes == ring.bytes;
  });
  return at != p.blocks.end() ? &*at : nullptr;
}

double byte_ns(const Profile& p, const Matrix& g, std::int32_t a, std::int32_t b) {
  if (a < g.n && b < g.n && g.at(a, b) > 0) return g.at(a, b);
  if (a == b) return default_byte_ns(Level::kSelf);
  return default_byte_ns(common_level(p.topology.cpus[static_cast<std::size_t>(a)],
                                      p.topology.cpus[static_cast<std::size_t>(b)]));
}

Profile estimate_profile(const Topology& topology) {
  LevelCosts costs;
  costs.at[0] = {5, 1, true};
  for (std::size_t level = 1; level < kLevelCount; ++level) {
    const double l = kOneWay[level] * kSlopeShare;
    costs.at[level] = {kOneWay[level] - l, l, true};
  }
  Profile p;
  p.machine = topology.model;
  p.fingerprint = fingerprint(topology);
  p.origin = "estimated";
  p.engine = "threads";
  p.topology = topology;
  p.remarks.push_back("nothing was measured: default costs per level of the declared topology");
  (void)expand_levels(costs, p);  // each level has a cost
  p.topology.cpus.resize(std::min(p.topology.cpus.size(), kMaxExpanded));
  int nearest = kLevelCount - 1;
  for (std::size_t i = 0; i + 1 < p.topology.cpus.size(); ++i) {
    const int level = static_cast<int>(common_level(p.topology.cpus[i], p.topology.cpus[i + 1]));
    if (level > 0 && level < nearest) nearest = level;
  }
  const double line = kOneWay[p.topology.cpus.size() > 1 ? nearest : static_cast<int>(Level::kL3)];
  p.one_way_ns = line;
  p.awaited_ns = line * kSlopeShare;
  p.reader_ns = line * kReaderShare;
  for (int k = 1; k <= 16; ++k) p.word_add_ns.push_back(k == 1 ? 6 : line * 0.5 + 6);
  p.word_read_ns = line;
  // A polled flag moves its line twice: the store takes the reader's copy away, and the reader fetches the
  // line again. Members that share a line see each other's arrival when they write their own.
  p.layouts = {{"private", line}, {"packed", line * 0.7}, {"counter", line * 0.5}};
  for (int stride = 2; stride <= 8; ++stride)
    p.layouts.push_back({"private+stride" + std::to_string(stride), line});
  p.yield_ns = 500;
  p.futex_ns = 5000;
  return p;
}

}  // namespace fermata
