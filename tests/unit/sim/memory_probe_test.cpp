// The probes of coherent memory, on simulated machines: the loops that ship find the machine's parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "profile/access_loops.hpp"
#include "profile/memory.hpp"
#include "sim/engine.hpp"

namespace fermata {
namespace {

constexpr std::size_t kWordsOfLine = 8;

class Lines {
 public:
  Lines(sim::Engine& engine, std::vector<std::uint64_t>& words) : engine_(engine), words_(words) {}
  // A call of its own: it does not overlap with the load before.
  std::uint64_t read(int line) {
    engine_.begin_call();
    return engine_.load(at(line));
  }
  void write(int line, std::uint64_t value) { engine_.store(at(line), value); }
  std::uint64_t add(int line, std::uint64_t value) { return engine_.add(at(line), value); }
  bool await(int line, std::uint64_t value) {
    while (engine_.load(at(line)) < value) engine_.pause();
    return true;
  }
  double now() {
    engine_.begin_call();
    return sim::to_ns(engine_.time());
  }

 private:
  std::uint64_t& at(int line) { return words_[static_cast<std::size_t>(line) * kWordsOfLine]; }
  sim::Engine& engine_;
  std::vector<std::uint64_t>& words_;
};

constexpr double kProbedO = 150, kProbedL = 6;

sim::Machine machine(std::int32_t members, const sim::MemoryCosts& costs, std::int32_t smt = 1) {
  RegularShape shape;
  shape.cores = members / smt;
  shape.smt = smt;
  const Topology topology = *topology_from_regular(shape);
  Profile profile = estimate_profile(topology);
  for (std::int32_t i = 0; i < members; ++i)
    for (std::int32_t j = 0; j < members; ++j) {
      profile.o.at(i, j) = i == j ? 1 : kProbedO;
      profile.l.at(i, j) = i == j ? 0 : kProbedL;
    }
  PlanKey key;
  key.members = members;
  key.cpus = place(topology, members, Placement::kCpu);
  return sim::machine_of(profile, topology, key, costs);
}

// Runs body(lines, member, episode) for some episodes, and returns the mean of member 0's last results.
template <class Body>
double last_of(const sim::Machine& m, const Body& body, std::uint64_t last = 1) {
  const std::uint64_t episodes = 5 + last;
  std::vector<std::uint64_t> words(static_cast<std::size_t>(probe::line_count(m.members)) * kWordsOfLine);
  probe::make_chains(
      [&](int line, std::uint64_t value) { words[static_cast<std::size_t>(line) * kWordsOfLine] = value; });
  sim::Engine engine(m, words);
  double ns = 0;
  EXPECT_TRUE(engine.run([&](std::int32_t member) {
    Lines lines(engine, words);
    for (std::uint64_t e = 1; e <= episodes; ++e) {
      const double found = body(lines, member, e);
      if (member == 0 && e + last > episodes) ns += found / static_cast<double>(last);
    }
  }));
  return ns;
}

AccessTimes accesses_of(const sim::Machine& m) {
  std::vector<double> ns;
  for (int p = 0; p < probe::kAccessPoints; ++p) {
    const probe::AccessPoint point = probe::access_point(p);
    ns.push_back(last_of(m, [&](Lines& lines, std::int32_t member, std::uint64_t e) {
      if (member == 0) return probe::time_accesses(lines, point, e);
      EXPECT_TRUE(probe::prepare_accesses(lines, point, e));
      return 0.0;
    }));
  }
  return access_times(ns);
}

MemoryParameters found_on(const sim::MemoryCosts& costs) {
  MemoryParameters found;
  deduce_accesses(accesses_of(machine(2, costs)), found);
  return found;
}

TEST(MemoryProbe, FindsTheShareOfAMiss) {
  for (const double share : {0.2, 0.35, 0.5, 0.65, 0.9})
    for (const double work : {0.0, 5.0, 20.0}) {
      const MemoryParameters found = found_on({.miss_share = share, .work_ns = work});
      ASSERT_TRUE(found.miss_share) << share;
      EXPECT_NEAR(*found.miss_share, share, 0.002) << work;
    }
}

TEST(MemoryProbe, FindsWhetherLoadsOverlap) {
  for (const int overlap : {1, 2})
    for (const double share : {0.35, 0.65})
      EXPECT_EQ(found_on({.miss_share = share, .overlap = overlap}).overlap, overlap) << share;
}

TEST(MemoryProbe, FindsTheLinesThatComeAlong) {
  for (const int lines : {0, 1, 2, 3, 4, 7, 8})
    for (const int overlap : {1, 2})
      EXPECT_EQ(found_on({.overlap = overlap, .prefetch = lines}).prefetch, lines);
}

void expect_line_share(double share, double line_share) {
  constexpr std::int32_t kMembers = 9;
  sim::Machine m = machine(kMembers, {.miss_share = share});
  m.served_share = line_share * share;
  std::vector<double> published;
  for (int readers = 1; readers < kMembers; ++readers)
    published.push_back(last_of(
        m,
        [&](Lines& lines, std::int32_t member, std::uint64_t e) {
          return member > readers ? 0.0 : probe::publish(lines, member, readers, e);
        },
        static_cast<std::uint64_t>(readers)));
  const AccessTimes times = accesses_of(machine(2, {.miss_share = share}));
  MemoryParameters found;
  deduce_readers(published, 2 * (times.read - times.read_own), found);  // twice, as a share is 1 at most
  ASSERT_TRUE(found.line_share);
  EXPECT_NEAR(*found.line_share, line_share / 2, 0.02) << share << ", " << line_share;
}

TEST(MemoryProbe, FindsHowLongALineServesAReader) {
  for (const double share : {0.35, 0.5, 0.65})
    for (const double line_share : {0.3, 0.7, 1.0}) expect_line_share(share, line_share);
}

// Member 0 signals to itself, as measure_self() does, while the others of its core spin.
TEST(MemoryProbe, FindsOwnWorkBesideSpinningSiblings) {
  for (const double share : {0.0, 0.3, 1.0}) {
    std::vector<double> own;
    for (std::int32_t members = 1; members <= 8; ++members) {
      const sim::Machine m = machine(members, {.work_ns = 10, .sibling_share = share}, members);
      const auto stage = [&](int slots) {
        return last_of(m, [&](Lines& lines, std::int32_t member, std::uint64_t e) {
          if (member > 0) return lines.await(probe::kGo, e) ? 0.0 : -1.0;
          const double start = lines.now();
          for (int k = 0; k < slots; ++k) lines.write(probe::own(k), e + 100);
          for (int k = 0; k < slots; ++k) lines.await(probe::own(k), e + 100);
          const double ns = lines.now() - start;
          lines.write(probe::kGo, e);
          return ns;
        });
      };
      own.push_back((stage(12) - stage(4)) / 8);
    }
    MemoryParameters found;
    deduce_work(own, found);
    EXPECT_NEAR(found.work_ns.value_or(0), 10, 0.01);
    EXPECT_NEAR(found.sibling_share.value_or(-1), share, 0.002);
  }
}

TEST(MemoryCosts, OptionsWinOverTheProfileAndTheProfileOverDefaults) {
  Profile profile;
  const sim::MemoryCosts defaults;
  EXPECT_EQ(sim::memory_costs(profile).miss_share, defaults.miss_share);
  EXPECT_EQ(sim::memory_costs(profile).sibling_share, defaults.sibling_share);
  profile.memory = {.miss_share = 0.3, .overlap = 1, .work_ns = 2.5, .sibling_share = 0.2, .prefetch = 1};
  sim::MemoryCosts costs = sim::memory_costs(profile);
  EXPECT_EQ(costs.miss_share, 0.3);
  EXPECT_EQ(costs.overlap, 1);
  EXPECT_EQ(costs.work_ns, 2.5);
  EXPECT_EQ(costs.sibling_share, 0.2);
  EXPECT_EQ(costs.prefetch, 1);
  costs = sim::memory_costs(profile, {.overlap = 2, .work_ns = 0.0});
  EXPECT_EQ(costs.overlap, 2);
  EXPECT_EQ(costs.work_ns, 0);
  EXPECT_EQ(costs.miss_share, 0.3);
}

}  // namespace
}  // namespace fermata
