// The probes run, but no test depends on a time.
#include "profile/measure.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <map>
#include <set>

#include "profile/pairs.hpp"
#include "profile/statistics.hpp"

namespace fermata {
namespace {

TEST(Measure, OtherMachinesAreRefused) {
  const auto p = measure_profile(*topology_from_synthetic("pack:1 core:2 pu:1"), {});
  ASSERT_FALSE(p.ok());
  EXPECT_EQ(p.error().status, Status::kArgument);
}

TEST(Measure, ACpuThatIsNotOursIsRefused) {
  ProfileOptions options;
  options.cpus = {60000};
  const auto p = measure_profile(*discover_topology(), options);
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.error().message.find("60000"), std::string::npos);
}

// Expects, for every level that two of the CPUs share, an entry for each size of store that this CPU has.
void expect_tears_per_level(const Profile& p) {
  std::set<Level> levels;
  std::map<std::int32_t, std::set<Level>> seen;
  for (const Cpu& a : p.topology.cpus)
    for (const Cpu& b : p.topology.cpus)
      if (a.os_index != b.os_index) levels.insert(common_level(a, b));
  for (const Tearing& tearing : p.tearing) {
    EXPECT_GT(tearing.reads, 0) << tearing.bytes;
    EXPECT_LE(tearing.torn, tearing.reads) << tearing.bytes;
    seen[tearing.bytes].insert(tearing.level);
  }
#if defined(__x86_64__)
  std::size_t sizes = 1;
  if (__builtin_cpu_supports("avx")) ++sizes;
  if (__builtin_cpu_supports("avx512f")) ++sizes;
  EXPECT_EQ(seen.size(), levels.empty() ? 0 : sizes);
#endif
  for (const auto& [bytes, at] : seen) EXPECT_EQ(at, levels) << bytes;
}

class MeasureEngines : public testing::TestWithParam<bool> {};

// At most four CPUs and as little time as possible: the probe works, its result is complete, and it restores
// the affinity.
TEST_P(MeasureEngines, WholeProfileOfAFewCpus) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const Topology topology = *discover_topology();
  ProfileOptions options;
  for (std::size_t i = 0; i < topology.cpus.size() && i < 4; ++i)
    options.cpus.push_back(topology.cpus[i].os_index);
  options.processes = GetParam();
  options.seconds_per_pair = 0.01;
  double last = 0;
  options.progress = [&](double done, const std::string&) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, 1.0);
    last = done;
  };
  const auto p = measure_profile(topology, options);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(last, 1.0);
  EXPECT_EQ(p->engine, GetParam() ? "processes" : "threads");
  EXPECT_EQ(p->o.n, static_cast<std::int32_t>(options.cpus.size()));
  EXPECT_EQ(p->fingerprint, fingerprint(topology));
  if (p->o.n > 1) {
    EXPECT_GT(p->one_way_ns, 0);
    EXPECT_EQ(p->layouts.size(), 10u);
    for (const LayoutCost& layout : p->layouts) EXPECT_GT(layout.period_ns, 0) << layout.layout;
    for (const double ns : p->word_add_ns) EXPECT_GT(ns, 0);
    EXPECT_EQ(p->word_add_ns.size(), options.cpus.size());
    EXPECT_GT(p->g.at(0, 1), 0);
    if (p->g_direct.n > 0) {
      EXPECT_GT(p->g_direct.at(0, 1), 0);
    }
    EXPECT_TRUE(p->g_direct.n > 0 || GetParam());  // only between processes it may be forbidden
    EXPECT_FALSE(p->domains.empty());
  }
  for (std::int32_t i = 0; i < p->o.n; ++i)
    for (std::int32_t j = 0; j < p->o.n; ++j) EXPECT_GT(p->o.at(i, j) + p->l.at(i, j), 0) << i << ", " << j;
  EXPECT_GT(p->fold_byte_ns, 0);
  EXPECT_GT(p->yield_ns, 0);
  EXPECT_GT(p->futex_ns, 0);
  expect_tears_per_level(*p);
  const bool two_cores = std::any_of(p->topology.cpus.begin(), p->topology.cpus.end(), [&](const Cpu& cpu) {
    return cpu.core != p->topology.cpus.front().core;
  });
  // On a busy machine the times may tell nothing.
  EXPECT_TRUE(two_cores || !p->memory.overlap);
  EXPECT_TRUE(two_cores || !p->memory.prefetch);
  const auto back = profile_from_json(to_json(*p));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, *p);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

INSTANTIATE_TEST_SUITE_P(Engine, MeasureEngines, testing::Values(false, true),
                         [](const auto& engine) { return engine.param ? "processes" : "threads"; });

// Differences of two measurements: on a busy machine one may come out as 0, but not repeatedly.
TEST(Measure, AProfileHasWhatFurtherSlotsAndReadersCost) {
  const Topology topology = *discover_topology();
  if (topology.cpus.size() < 2) GTEST_SKIP() << "one CPU";
  ProfileOptions options;
  options.cpus = {topology.cpus[0].os_index, topology.cpus[1].os_index};
  options.seconds_per_pair = 0.01;
  std::map<std::string, double> most;
  const auto all_told = [&] {
    return std::all_of(most.begin(), most.end(), [](const auto& one) { return one.second > 0; });
  };
  for (int i = 0; i < 5 && (most.empty() || !all_told()); ++i) {
    const auto p = measure_profile(topology, options);
    ASSERT_TRUE(p.ok()) << p.error().message;
    for (const auto& [name, ns] : {std::pair{"O of a CPU alone", std::min(p->o.at(0, 0), p->o.at(1, 1))},
                                   {"awaited", p->awaited_ns},
                                   {"reader", p->reader_ns},
                                   {"word read", p->word_read_ns}})
      most[name] = std::max(most[name], ns);
  }
  for (const auto& [name, ns] : most) EXPECT_GT(ns, 0) << name;
}

// The first and the last CPU, or the only one twice.
std::vector<std::int32_t> two_cpus() {
  const Topology topology = *discover_topology();
  return {topology.cpus.front().os_index, topology.cpus.back().os_index};
}

class ProbeEngines : public testing::TestWithParam<bool> {};

TEST_P(ProbeEngines, MembersOfOneCpuFinish) {
  const std::int32_t cpu = two_cpus()[0];
  EXPECT_GT(measure_yield(cpu, GetParam(), 0.01), 0);
  EXPECT_GT(measure_futex(cpu, cpu, GetParam(), 0.01), 0);
}

constexpr int kTries = 200;  // beside load, most times are those of foreign threads

TEST_P(ProbeEngines, FurtherSlotsAndReadersCost) {
  const std::vector<std::int32_t> two = two_cpus(), four = {two[0], two[1], two[0], two[1]};
  for (const auto& cpus : {two, four}) {
    ManyCost most;
    for (int i = 0; i < kTries && (most.awaited <= 0 || most.reader <= 0); ++i) {
      const auto cost = measure_many(cpus, GetParam(), 0.02);
      ASSERT_TRUE(cost.has_value());
      EXPECT_EQ(cost->estimated, cpus.size() == 2);
      most.awaited = std::max(most.awaited, cost->awaited);
      most.reader = std::max(most.reader, cost->reader);
    }
    EXPECT_GT(most.awaited, 0) << cpus.size();
    EXPECT_GT(most.reader, 0) << cpus.size();
  }
}

TEST_P(ProbeEngines, AddsOfSeveralMembersOnEachCpu) {
  const std::vector<std::int32_t> two = two_cpus();
  const auto ns = measure_word_add({two[0], two[1], two[0], two[1], two[0]}, GetParam(), 0.02);
  ASSERT_EQ(ns.size(), 5u);
  for (const double each : ns) EXPECT_GT(each, 0);
}

TEST_P(ProbeEngines, AccessesAndReadersHaveTimes) {
  const std::vector<std::int32_t> two = two_cpus();
  const auto times = measure_accesses(two[0], two[1], 64, GetParam(), 0.02);
  ASSERT_TRUE(times);
  for (const double ns : {times->read, times->read_own, times->add, times->add_own, times->await,
                          times->await_own, times->after_one.at(7), times->after_three.at(7)})
    EXPECT_GT(ns, 0);
  EXPECT_TRUE(measure_readers(two, 64, GetParam(), 0.02).empty());  // one reader tells nothing
  const auto published = measure_readers({two[0], two[1], two[0], two[1]}, 64, GetParam(), 0.02);
  ASSERT_EQ(published.size(), 3u);
  for (const double ns : published) EXPECT_GT(ns, 0);
  const auto beside = measure_self(two[0], 0.01, {two[1]});
  ASSERT_TRUE(beside);
  EXPECT_GE(beside->l, 0);
}

TEST_P(ProbeEngines, AStageAloneAndAReadingOfAWordCost) {
  const std::vector<std::int32_t> two = two_cpus();
  double o = 0, read = 0;
  for (int i = 0; i < kTries && o <= 0; ++i) o = measure_self(two[0], 0.01).value_or(PairCost{}).o;
  for (int i = 0; i < kTries && read <= 0; ++i) read = measure_word_read(two[0], two[1], GetParam(), 0.02);
  EXPECT_GT(o, 0);
  EXPECT_GT(read, 0);
}

INSTANTIATE_TEST_SUITE_P(Engine, ProbeEngines, testing::Values(false, true),
                         [](const auto& engine) { return engine.param ? "processes" : "threads"; });

// With --sample: three pairs of each level are known.
TEST(Replicate, TheMediansOfEachLevelStandForItsOtherPairs) {
  Profile p = estimate_profile(*topology_from_synthetic("pack:2 l3:2 core:4 pu:1"));
  const Matrix known = p.o;
  ProfileOptions options;
  options.sample = true;
  const MeasuringPlan plan = measuring_plan(p.topology, options);
  ASSERT_EQ(plan.pairs.size(), 9u);  // three of each level
  p.o = p.l = p.g = p.g_direct = Matrix(16);
  double step = 1;
  std::map<Level, std::vector<double>> at;
  const auto level = [&](std::int32_t i, std::int32_t j) {
    return common_level(p.topology.cpus[static_cast<std::size_t>(i)],
                        p.topology.cpus[static_cast<std::size_t>(j)]);
  };
  for (const RowPair& pair : plan.pairs) {
    at[level(pair.a, pair.b)].push_back(step);
    for (Matrix* m : {&p.o, &p.l, &p.g, &p.g_direct})
      m->at(pair.a, pair.b) = m->at(pair.b, pair.a) = step * (m == &p.l ? 10 : 1);
    step *= 3;
  }
  ASSERT_EQ(at.size(), 3u);
  const Profile measured = p;
  replicate(p);
  replicate_bytes(p);
  for (std::int32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(p.o.at(i, i), 0);
    for (std::int32_t j = 0; j < 16; ++j) {
      if (i == j) continue;
      const double middle = at.at(level(i, j))[1];
      const bool was = measured.o.at(i, j) > 0;
      EXPECT_EQ(p.o.at(i, j), was ? measured.o.at(i, j) : middle) << i << ", " << j;
      EXPECT_EQ(p.l.at(i, j), was ? measured.l.at(i, j) : 10 * middle) << i << ", " << j;
      EXPECT_EQ(p.g.at(i, j), was ? measured.g.at(i, j) : middle) << i << ", " << j;
      EXPECT_EQ(p.g_direct.at(i, j), was ? measured.g_direct.at(i, j) : middle) << i << ", " << j;
    }
  }
}

TEST(Replicate, ALevelThatWasNotMeasuredStaysUnknown) {
  Profile p = estimate_profile(*topology_from_synthetic("pack:2 l3:1 core:2 pu:1"));
  p.o = p.l = Matrix(4);
  p.o.at(0, 1) = p.o.at(1, 0) = 5;
  replicate(p);
  EXPECT_EQ(p.o.at(2, 3), 5);
  EXPECT_EQ(p.o.at(0, 2) + p.l.at(0, 2), 0);
}

TEST(MeasuringPlan, MinutesAtMostFor128Cpus) {
  constexpr double kMinutes = 180;
  for (const char* spec : {"pack:2 l3:8 core:8 pu:1", "pack:2 numa:4 l3:2 core:4 pu:2", "core:128 pu:1"}) {
    const Topology topology = *topology_from_synthetic(spec);
    ASSERT_EQ(topology.cpus.size(), 128u);
    ProfileOptions options;
    const MeasuringPlan plan = measuring_plan(topology, options);
    EXPECT_EQ(plan.pairs.size(), 128u * 127 / 2) << spec;
    EXPECT_LE(plan.total, kMinutes) << spec;
    EXPECT_GE(plan.total,
              plan.each * 128 * 127 / 2 + plan.byte_each * static_cast<double>(plan.byte_pairs.size()))
        << spec;
    EXPECT_GT(plan.each, 0.01) << spec;  // enough for some repeats
    options.sample = true;
    const MeasuringPlan sampled = measuring_plan(topology, options);
    EXPECT_LE(sampled.pairs.size(), 3u * 8) << spec;
    EXPECT_LT(sampled.total, plan.total / 5) << spec;
  }
}

TEST(Probe, ACpuThatCannotBePinnedFailsInsteadOfHanging) {
  EXPECT_FALSE(measure_pair(60000, 60001, false, 0.01).has_value());
  EXPECT_FALSE(measure_pair(60000, 60001, true, 0.01).has_value());
  EXPECT_FALSE(measure_bytes(60000, 60001, true, 100, 0.01).has_value());
  EXPECT_EQ(measure_domain_bytes({60000, 60001}, false, 0.01), 0);
}

}  // namespace
}  // namespace fermata
