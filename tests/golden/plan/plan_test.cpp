// Recorded machines -> the plan and its predicted cost; the papers' machines -> the model's ranking. Both
// change only on purpose: tests/golden/plan/update rewrites the texts.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "../../golden.hpp"
#include "algo/algorithm.hpp"
#include "base/text.hpp"
#include "exec/program.hpp"
#include "plan/cluster.hpp"
#include "plan/plan.hpp"
#include "profile/store.hpp"
#include "schedule/print.hpp"

namespace fermata {
namespace {

const std::string kRoot = FERMATA_SOURCE_DIR;

void expect_golden(const std::string& name, const std::string& text) {
  test::expect_golden("golden/plan/" + name, text);
}

Profile machine(const std::string& name) {
  auto profile = load_profile_file(kRoot + "/machines/" + name + ".json");
  EXPECT_TRUE(profile.ok()) << profile.error().message;
  return *profile;
}

PlanKey key_of(const Profile& p, Collective collective, std::int32_t members, std::int32_t bytes,
               Placement placement) {
  PlanKey key;
  key.collective = collective;
  key.members = members;
  key.payload = payload_class(collective, bytes);
  key.cpus = place(p.topology, members, placement);
  take_hosts(key, p.topology);
  return key;
}

// ---- Plans

struct Case {
  const char* machine;
  std::int32_t members;
  Placement placement;
};

constexpr Case kCases[] = {
    {"power8-4x6x8", 6, Placement::kCpu},      {"power8-4x6x8", 24, Placement::kCore},
    {"power8-4x6x8", 192, Placement::kCore},   {"p7ih-node", 32, Placement::kCore},
    {"p7ih-drawer", 256, Placement::kCore},    {"p7ih-supernode", 1024, Placement::kCore},
    {"knl-72", 72, Placement::kCore},          {"skl-2x18", 36, Placement::kCore},
    {"skl-2x18", 144, Placement::kCore},       {"milan-2x64", 128, Placement::kCore},
    {"cluster-8x2x4", 64, Placement::kCore},   {"cluster-8x2x4", 64, Placement::kRoundRobin},
    {"cluster-10x2x6", 120, Placement::kCore}, {"mesh-64x16", 1024, Placement::kCore},
    {"torus-4x4x4", 64, Placement::kCore},     {"torus-4x4x4", 64, Placement::kRandom},
    {"p7ih-system", 128, Placement::kCore},
};

std::string plan_line(const Profile& p, const Case& c, Collective collective, std::int32_t bytes) {
  PlanOptions options;
  options.key = key_of(p, collective, c.members, bytes, c.placement);
  const auto plan = make_plan(p.topology, p, options, nullptr);
  EXPECT_TRUE(plan.ok()) << c.machine << ": " << plan.error().message;
  if (!plan.ok()) return {};
  EXPECT_TRUE(compile_lines(*plan).ok()) << plan->schedule.algorithm;
  return format("%-15s %4d %-11s %-9s %2d  %-42s %-28s %d  %-18s %9.0f %9.0f\n", c.machine, c.members,
                c.placement == Placement::kCore     ? "core"
                : c.placement == Placement::kCpu    ? "cpu"
                : c.placement == Placement::kRandom ? "random"
                                                    : "round-robin",
                name_of(collective), options.key.payload, plan->schedule.algorithm.c_str(),
                to_string(plan->layout).c_str(), plan->credit_batch, shape_text(plan->levels).c_str(),
                plan->predicted_period_ns, plan->predicted_latency_ns);
}

TEST(GoldenPlans, OfTheRecordedMachines) {
  std::string text = "machine      members placement   collective B  algorithm" + std::string(34, ' ') +
                     "layout                       credits  levels    period_ns latency_ns\n";
  for (const Case& c : kCases) {
    const Profile p = machine(c.machine);
    text += plan_line(p, c, Collective::kBarrier, 0);
    if (c.members > 256) continue;
    for (const Collective collective : {Collective::kBroadcast, Collective::kReduce, Collective::kAllreduce})
      text += plan_line(p, c, collective, 8);
    text += plan_line(p, c, Collective::kAllreduce, 56);
  }
  expect_golden("plans.txt", text);
}

// A measured plan as `fermata explain` prints it, for four cores on each of two chips. A table replaces the
// measurement and makes one of the plans with levels win.

Result<double> made_up_period(const std::vector<std::byte>& program, const PlanKey&, int repeat) {
  const ProgramHeader& header = *reinterpret_cast<const ProgramHeader*>(program.data());
  const bool levels = std::string(header.algorithm).find('/') != std::string::npos;
  return (levels && std::string(header.layout) == "private+stride5+line128" ? 250.0 : 300.0) + repeat % 2;
}

TEST(GoldenPlans, TextOfAMeasuredPlan) {
  const Profile p = machine("power8-4x6x8");
  PlanOptions options;
  options.key.members = 8;
  options.key.cpus = {0, 8, 16, 24, 96, 104, 112, 120};
  options.measure_best = 12;
  auto plan = make_plan(p.topology, p, options, made_up_period);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const std::string text = explain(*plan, false);
  // The recorded text must contain these parts even after an update.
  EXPECT_NE(text.find(format("measured   %.0f ns per episode", plan->measured_period_ns)), std::string::npos);
  EXPECT_NE(text.find(format("bound      %.0f ns (%zu stages",
                             165.0 * static_cast<double>(plan->schedule.stages.size()),
                             plan->schedule.stages.size())),
            std::string::npos);
  EXPECT_NE(text.find("\n" + to_matrices(plan->schedule) + "\n"), std::string::npos);
  EXPECT_NE(text.find("  measured 1.2x"), std::string::npos);
  EXPECT_NE(text.find("costs      from a profile; the best few were timed\n"), std::string::npos);
  expect_golden("explain.txt", text);
}

// The text has the matrices by default up to 8 members, and on request up to 16.
TEST(GoldenPlans, MatricesOfSmallTeams) {
  const Profile p = machine("power8-4x6x8");
  for (const std::int32_t members : {8, 9, 16, 17}) {
    PlanOptions options;
    options.key = key_of(p, Collective::kBarrier, members, 0, Placement::kCore);
    options.algorithm = "linear";
    const auto plan = make_plan(p.topology, p, options, nullptr);
    ASSERT_TRUE(plan.ok());
    const auto has = [&](bool asked) { return explain(*plan, asked).find("\nS0\n") != std::string::npos; };
    EXPECT_EQ(has(false), members <= 8) << members;
    EXPECT_EQ(has(true), members <= 16) << members;
  }
}

// ---- The papers' own comparisons. Each flag has its own line, and prefetching does not disturb it, as in
// the papers: the layout that the machine's O and L are of.

double period(const Profile& p, const std::string& algorithm, const std::vector<std::int32_t>& cpus) {
  const auto name = parse_algorithm(algorithm);
  EXPECT_TRUE(name.ok()) << algorithm;
  PlanKey key;
  key.members = static_cast<std::int32_t>(cpus.size());
  key.cpus = cpus;
  const Request request{.collective = Collective::kBarrier,
                        .half = Half::kWhole,
                        .members = key.members,
                        .root = 0,
                        .degree = name->degree};
  if (!name->algorithm->applicable(request)) return 0;
  take_hosts(key, p.topology);
  const auto lines = parse_layouts(p.base_layout);
  EXPECT_TRUE(lines.ok()) << p.base_layout;
  return period_cost(name->algorithm->build(request), cost_model(p, p.topology, key), *lines);
}

std::vector<std::int32_t> per_core(const Profile& p, std::int32_t members) {
  return place(p.topology, members, Placement::kCore);
}

std::string power8_degrees(const Profile& p) {
  std::string text =
      "POWER8, 24 members, one per core; ns per barrier\nk-ary tree by degree (Figure 2: best at 5, 7 or "
      "8)\n";
  for (std::int32_t k = 2; k <= 23; ++k)
    text += format("  kary(%d)%s %6.0f%s", k, k < 10 ? " " : "",
                   period(p, format("kary(%d)", k), per_core(p, 24)), k % 6 == 1 ? "\n" : "");
  text += "\nother algorithms (Figure 6: k-ary best, dissemination worse)\n";
  for (const char* a :
       {"kary(5)", "linear", "tournament(2)", "tournament(5)", "binomial_high", "binomial", "dissemination"})
    text += format("  %-14s %6.0f\n", a, period(p, a, per_core(p, 24)));
  return text;
}

std::string power8_scaling(const Profile& p) {
  std::string text =
      "kary(5) by members, one per core (Figure 5: a jump from 6 to 7, little growth from 7 to 24)\n";
  for (std::int32_t n = 2; n <= 24; ++n)
    text += format("  %2d %6.0f%s", n, period(p, "kary(5)", per_core(p, n)), n % 8 == 1 ? "\n" : "");
  text += "\n7th member on another chip (Table IV: B 810, C 900, D 930)\n";
  for (int chip = 1; chip < 4; ++chip) {
    std::vector<std::int32_t> cpus = per_core(p, 24);
    cpus[6] = cpus[static_cast<std::size_t>(6 * chip)];
    cpus.resize(7);
    text += format("  %c %6.0f", 'A' + chip, period(p, "kary(5)", cpus));
  }
  constexpr int kTableV[] = {1050, 1410, 1850, 2100, 2550, 3060, 3480, 4070};
  text +=
      "\nmore members per core (Table V: kary(5); Figure 7: centralized falls behind from 3 per core)\n"
      "  members  kary(5)  Table V   linear  binomial_high\n";
  for (int smt = 1; smt <= 8; ++smt) {
    const std::vector<std::int32_t> cpus = per_core(p, 24 * smt);
    text += format("  %7d  %7.0f  %7d  %7.0f  %13.0f\n", 24 * smt, period(p, "kary(5)", cpus),
                   kTableV[smt - 1], period(p, "linear", cpus), period(p, "binomial_high", cpus));
  }
  return text;
}

// Round-robin over as many hosts as the members need, as the schedulers of both clusters placed them (section
// VI.A).
std::vector<std::int32_t> over_hosts(const Profile& p, std::int32_t members, std::int32_t cores) {
  const std::int32_t hosts = (members + cores - 1) / cores;
  std::vector<std::int32_t> cpus;
  for (std::int32_t r = 0; r < members; ++r)
    cpus.push_back(p.topology.cpus[static_cast<std::size_t>((r % hosts) * cores + r / hosts)].os_index);
  return cpus;
}

std::string cluster_text(const char* name, std::int32_t hosts, std::int32_t cores) {
  const Profile p = machine(name);
  std::string text =
      format("%s, round-robin; us per barrier\n members  linear  binomial  dissemination   planned\n", name);
  for (std::int32_t n = cores / 2; n <= hosts * cores; n += n >= cores && n < 2 * cores ? 1 : cores / 2) {
    const std::vector<std::int32_t> cpus = over_hosts(p, n, cores);
    PlanOptions options;
    options.key.members = n;
    options.key.cpus = cpus;
    take_hosts(options.key, p.topology);
    const auto plan = make_plan(p.topology, p, options, nullptr);
    EXPECT_TRUE(plan.ok());
    text += format("  %6d  %6.1f  %8.1f  %13.1f  %8.1f  %s\n", n, period(p, "linear", cpus) / 1e3,
                   period(p, "binomial", cpus) / 1e3, period(p, "dissemination", cpus) / 1e3,
                   plan->predicted_period_ns / 1e3, plan->schedule.algorithm.c_str());
  }
  return text;
}

TEST(GoldenPlans, RankingsOfThePapersMachines) {
  const Profile power8 = machine("power8-4x6x8");
  expect_golden("papers.txt", power8_degrees(power8) + "\n" + power8_scaling(power8) + "\n" +
                                  cluster_text("cluster-8x2x4", 8, 8) + "\n" +
                                  cluster_text("cluster-10x2x6", 10, 12));
}

}  // namespace
}  // namespace fermata
