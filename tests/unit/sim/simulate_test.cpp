// The simulated machine: times that follow from the model by hand, right results, the same ones in each run.
#include "sim/simulate.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algo/algorithm.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

// A machine whose pairs all cost the same.
struct Flat {
  Topology topology;
  Profile profile;
};

Flat flat(std::int32_t cores, double o, double l) {
  Flat f;
  f.topology = *topology_from_regular({.cores = cores});
  f.profile = estimate_profile(f.topology);
  for (std::int32_t i = 0; i < cores; ++i)
    for (std::int32_t j = 0; j < cores; ++j) {
      f.profile.o.at(i, j) = i == j ? 1 : o;
      f.profile.l.at(i, j) = i == j ? 0 : l;
    }
  return f;
}

Plan plan_on(const Flat& f, std::int32_t members, const std::string& algorithm, const std::string& layout,
             Collective collective = Collective::kBarrier, std::int32_t payload = 0) {
  PlanOptions options;
  options.key.members = members;
  options.key.collective = collective;
  options.key.payload = payload;
  options.key.cpus = place(f.topology, members, Placement::kCore);
  take_hosts(options.key, f.topology);
  options.algorithm = algorithm;
  options.layout = layout;
  auto plan = make_plan(f.topology, f.profile, options, nullptr);
  EXPECT_TRUE(plan.ok()) << algorithm << ": " << plan.error().message;
  return plan.ok() ? *plan : Plan{};
}

sim::Outcome run(const Flat& f, const Plan& plan, const sim::Options& options) {
  const auto program = compile_lines(plan);
  EXPECT_TRUE(program.ok()) << program.error().message;
  const auto outcome = sim::simulate(*program, plan.key, f.topology, f.profile, options);
  EXPECT_TRUE(outcome.ok()) << plan.schedule.algorithm << ": " << outcome.error().message;
  return outcome.ok() ? *outcome : sim::Outcome{};
}

double latency(const Flat& f, const Plan& plan, sim::MemoryCosts costs = {}) {
  return run(f, plan, {.quantity = sim::Quantity::kLatency, .costs = costs}).ns;
}
double period(const Flat& f, const Plan& plan, sim::MemoryCosts costs = {}) {
  return run(f, plan, {.costs = costs}).ns;
}

// Two members that exchange a signal: O + L, of which the work of both ends is a part. Back to back, too.
TEST(Simulate, AnExchangeOfTwoTakesOneSignal) {
  const Flat f = flat(2, 100, 10);
  const Plan plan = plan_on(f, 2, "dissemination", "private+2slots");
  EXPECT_NEAR(latency(f, plan), 110, 0.01);
  EXPECT_NEAR(period(f, plan), 110, 0.01);
  for (const double share : {0.3, 0.7}) EXPECT_NEAR(latency(f, plan, {.miss_share = share}), 110, 0.01);
  for (const double work : {1.0, 20.0}) EXPECT_NEAR(latency(f, plan, {.work_ns = work}), 110, 0.01);
}

// Two members whose flags lie on one line. Each turn of a member takes the line once: a miss and an
// invalidation, a whole signal. In it the member ends two calls, since its copy shows it the other's next
// flag.
TEST(Simulate, AnExchangeOnOneLineEndsACallWithEachMove) {
  const Flat f = flat(2, 100, 10);
  for (const char* layout : {"packed", "packed+2slots"}) {
    const Plan plan = plan_on(f, 2, "dissemination", layout);
    for (const double share : {0.4, 0.5, 0.6}) EXPECT_NEAR(period(f, plan, {.miss_share = share}), 110, 0.01);
  }
}

// What one member more adds to a linear barrier, in ns. A signal takes 100 ns.
double added(const std::string& layout, std::int32_t members, double reader_ns = 0) {
  const sim::MemoryCosts costs{.work_ns = 0};
  Flat f = flat(members + 1, 90, 10);
  f.profile.one_way_ns = 100;
  f.profile.reader_ns = reader_ns;
  return latency(f, plan_on(f, members + 1, "linear", layout), costs) -
         latency(f, plan_on(f, members, "linear", layout), costs);
}

// The root's loads overlap, and its stores follow each other by L: 10 ns each way. A published line serves
// its readers one after the other: each for a miss, half a signal of 100 ns, or for what the profile says.
TEST(Simulate, StoresFollowByLAndALineServesOneReaderAtATime) {
  for (const std::int32_t members : {3, 5, 9}) {
    EXPECT_NEAR(added("private", members), 10 + 10, 0.01) << members;
    EXPECT_NEAR(added("private:published", members), 10 + 50, 0.01) << members;
    EXPECT_NEAR(added("private:published", members, 20), 10 + 20, 0.01) << members;
    EXPECT_NEAR(added("private:published", members, 90), 10 + 50, 0.01) << members;
  }
}

// Each add moves the line by a whole signal; then the other members read the word one after the other.
TEST(Simulate, AddsToAWordFollowEachOther) {
  const sim::MemoryCosts costs{.work_ns = 0};
  for (const std::int32_t members : {2, 4}) {
    const Flat f = flat(members, 90, 10);
    const double ns = latency(f, plan_on(f, members, "counter", "private"), costs);
    EXPECT_GE(ns, 100 * (members - 1) + 50 * (members - 1)) << members;
    EXPECT_LE(ns, 100 * members + 50 * members) << members;
  }
}

TEST(Simulate, AMessageTakesOPlusLAndTheLinkServesOneAtATime) {
  Flat f;
  f.topology = *topology_from_regular({.hosts = 2, .cores = 3});
  f.profile = estimate_profile(f.topology);
  for (std::int32_t i = 0; i < 6; ++i)
    for (std::int32_t j = 0; j < 6; ++j) {
      f.profile.o.at(i, j) = i == j ? 0 : i / 3 != j / 3 ? 1000 : 90;
      f.profile.l.at(i, j) = i == j ? 0 : i / 3 != j / 3 ? 100 : 10;
    }
  const sim::MemoryCosts costs{.work_ns = 0};
  Plan plan = plan_on(f, 6, "linear", "private+4slots", Collective::kBroadcast, 8);
  ASSERT_EQ(plan.key.hosts, (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1}));
  // Three messages from the root's host, 100 ns after each other. The receivers send credits.
  EXPECT_NEAR(latency(f, plan, costs), 1100 + 2 * 100 + 100, 0.01);
}

// ---- All that ships

TEST(Simulate, EveryAlgorithmGivesRightResults) {
  const Flat f = flat(12, 90, 10);
  int plans = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const Collective collective :
         {Collective::kBarrier, Collective::kBroadcast, Collective::kReduce, Collective::kAllreduce})
      for (const std::int32_t members : {2, 5, 8, 12})
        for (const std::int32_t payload : {8, 56}) {
          PlanOptions options;
          options.key.members = members;
          options.key.collective = collective;
          options.key.payload = payload_class(collective, collective == Collective::kBarrier ? 0 : payload);
          options.key.cpus = place(f.topology, members, Placement::kCore);
          options.algorithm = algorithm.has_degree ? std::string(algorithm.name) + "(3)" : algorithm.name;
          const auto plan = make_plan(f.topology, f.profile, options, nullptr);
          if (!plan) continue;
          const auto program = compile_lines(*plan);
          if (!program) continue;
          for (const sim::Quantity quantity : {sim::Quantity::kPeriod, sim::Quantity::kLatency}) {
            const auto outcome = sim::simulate(*program, plan->key, f.topology, f.profile,
                                               {.quantity = quantity, .episodes = 200});
            ASSERT_TRUE(outcome.ok()) << options.algorithm << " " << name_of(collective) << " " << members
                                      << ": " << outcome.error().message;
            EXPECT_GT(outcome->ns, 0);
            ++plans;
          }
        }
  EXPECT_GT(plans, 300);
}

TEST(Simulate, TheSameInputGivesTheSameResult) {
  const auto p = load_profile_file(std::string(FERMATA_SOURCE_DIR) + "/machines/milan-2x64.json");
  ASSERT_TRUE(p.ok());
  const Flat f{p->topology, *p};
  const Plan plan = plan_on(f, 48, "kary(5)", "packed");
  const sim::Outcome first = run(f, plan, {}), second = run(f, plan, {});
  EXPECT_EQ(first.ns, second.ns);
  EXPECT_EQ(first.events, second.events);
  EXPECT_EQ(first.ends_ns, second.ends_ns);
}

// Once times repeat themselves, the rest is not simulated.
TEST(Simulate, StopsWhereTimesRepeat) {
  const Flat f = flat(16, 90, 10);
  for (const char* algorithm : {"linear", "kary(3)", "dissemination", "counter"}) {
    const Plan plan = plan_on(f, 16, algorithm, "private+2slots");
    const sim::Outcome outcome = run(f, plan, {.episodes = 4000});
    EXPECT_TRUE(outcome.steady) << algorithm;
    EXPECT_LT(outcome.episodes, 1000) << algorithm;
    EXPECT_GT(outcome.stores + outcome.adds, 15) << algorithm;
  }
}

// A broadcast with 16 slots: receivers give credits in every eighth call, and no slot is used again before
// the 17th. So the first calls, which are faster, are not taken for all.
TEST(Simulate, StreamsCountTheirCredits) {
  const Flat f = flat(8, 90, 10);
  const Plan plan = plan_on(f, 8, "linear", "private+16slots", Collective::kBroadcast, 8);
  ASSERT_EQ(plan.credit_batch, 8);
  const sim::Outcome outcome = run(f, plan, {.episodes = 4000});
  EXPECT_TRUE(outcome.steady);
  EXPECT_GE(outcome.episodes, 2 * 16);
  EXPECT_NEAR(outcome.stores, 7 + 7.0 / 8, 1e-9);
}

// A plan whose members pause several times between two looks, two of them on each core.
TEST(Simulate, SeveralPausesLoseNoSignal) {
  const auto p = load_profile_file(std::string(FERMATA_SOURCE_DIR) + "/machines/power8-4x6x8.json");
  ASSERT_TRUE(p.ok());
  const Flat f{p->topology, *p};
  for (const char* layout : {"private+line128+2pauses", "packed+line128+5pauses"})
    EXPECT_GT(period(f, plan_on(f, 48, "kary(5)", layout)), 0) << layout;
}

TEST(Simulate, RefusesWhatItCannotRun) {
  const Flat f = flat(4, 90, 10);
  const Plan plan = plan_on(f, 4, "linear", "private");
  const auto program = compile_lines(plan);
  ASSERT_TRUE(program.ok());
  const auto status = [&](auto change, const sim::Options& options = {}) {
    PlanKey key = plan.key;
    std::vector<std::byte> blob = *program;
    change(key, blob);
    const auto outcome = sim::simulate(blob, key, f.topology, f.profile, options);
    return outcome.ok() ? Status::kOk : outcome.error().status;
  };
  EXPECT_EQ(status([](PlanKey&, auto&) {}), Status::kOk);
  EXPECT_EQ(status([](PlanKey& key, auto&) { key.cpus.clear(); }), Status::kArgument);
  EXPECT_EQ(status([](PlanKey& key, auto&) { key.cpus[1] = 9; }), Status::kArgument);
  EXPECT_EQ(status([](PlanKey& key, auto&) { key.cpus[1] = key.cpus[0]; }), Status::kUnsupported);
  EXPECT_EQ(status([](PlanKey& key, auto&) { key.members = 5; }), Status::kArgument);
  EXPECT_EQ(status([](PlanKey&, auto& blob) { blob.resize(40); }), Status::kArgument);
  EXPECT_EQ(status([](PlanKey&, auto&) {}, {.episodes = 0}), Status::kArgument);
}

// A barrier stores once for each signal, however its members wait (remote-store-barriers, section IV.C): to
// memory of its host, or as a message.
TEST(Simulate, StoresAreTheSignals) {
  Flat f;
  f.topology = *topology_from_regular({.hosts = 4, .cores = 4});
  f.profile = estimate_profile(f.topology);
  for (const char* algorithm : {"linear/linear", "kary(2)/linear", "dissemination"}) {
    const Plan plan = plan_on(f, 16, algorithm, "private");
    int within = 0, between = 0;
    for (const Stage& stage : plan.schedule.stages)
      for (const Transfer& t : stage.transfers) ++(t.from / 4 == t.to / 4 ? within : between);
    const sim::Outcome outcome = run(f, plan, {});
    EXPECT_EQ(outcome.stores, within) << algorithm;
    EXPECT_EQ(outcome.messages, between) << algorithm;
    EXPECT_GT(between, 0) << algorithm;
  }
}

// ---- The papers' orders (power8-barriers, Table IV and sections VI.B, VI.F, VI.G)

TEST(Simulate, OrdersOfPower8) {
  const auto p = load_profile_file(std::string(FERMATA_SOURCE_DIR) + "/machines/power8-4x6x8.json");
  ASSERT_TRUE(p.ok());
  const Flat f{p->topology, *p};
  const sim::MemoryCosts costs{.work_ns = 10};
  const auto of = [&](const std::string& algorithm, const std::string& layout) {
    return period(f, plan_on(f, 24, algorithm, layout), costs);
  };
  const double tree = of("kary(5)", "private+line128");
  EXPECT_LT(tree, of("dissemination", "private+line128"));
  EXPECT_LT(1.5 * tree, of("kary(5)", "packed+line128"));
  std::vector<double> seventh;  // the seventh member on chip B, C, D
  for (int chip = 1; chip < 4; ++chip) {
    Plan plan = plan_on(f, 7, "kary(5)", "private+line128");
    const std::vector<std::int32_t> cores = place(f.topology, 24, Placement::kCore);
    plan.key.cpus[6] = cores[static_cast<std::size_t>(6 * chip)];
    seventh.push_back(period(f, plan, costs));
  }
  EXPECT_LT(seventh[0], seventh[1]);
  EXPECT_LT(seventh[1], seventh[2]);
}

}  // namespace
}  // namespace fermata
