// Recorded machines -> simulated times, to the ps. They change only on purpose: tests/golden/simulate/update
// rewrites the text. A change of the planner, of a machine file or of the model shows by how much.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../../golden.hpp"
#include "base/text.hpp"
#include "exec/program.hpp"
#include "plan/plan.hpp"
#include "profile/store.hpp"
#include "sim/simulate.hpp"

namespace fermata {
namespace {

struct Case {
  const char* machine;
  std::vector<std::int32_t> members;
};

// One member per core first. On clusters the members fill host after host.
const Case kCases[] = {
    {"intel-xeon-cascadelake-2vcpu-threads", {2}},
    {"intel-xeon-cascadelake-2vcpu-processes", {2}},
    {"power8-4x6x8", {6, 24, 96}},
    {"knl-72", {72}},
    {"skl-2x18", {18, 36}},
    {"milan-2x64", {12, 64}},
    {"p7ih-node", {32}},
    {"p7ih-drawer", {64}},
    {"p7ih-supernode", {96}},
    {"cluster-8x2x4", {32}},
    {"cluster-10x2x6", {36}},
    {"mesh-64x16", {16, 64}},
};

// Empty: the planner's choice.
constexpr const char* kAlgorithms[] = {"",       "linear", "kary(4)", "dissemination", "extended_butterfly",
                                       "counter"};

Result<Plan> plan_of(const Profile& p, std::int32_t members, Collective collective,
                     const std::string& algorithm) {
  PlanOptions options;
  options.key.members = members;
  options.key.collective = collective;
  options.key.payload = payload_class(collective, collective == Collective::kBarrier ? 0 : 8);
  options.key.cpus = place(p.topology, members, Placement::kCore);
  take_hosts(options.key, p.topology);
  options.algorithm = algorithm;
  if (!algorithm.empty())
    options.layout = p.topology.line_bytes > 64 ? "private+2slots+line128" : "private+2slots";
  return make_plan(p.topology, p, options, nullptr);
}

std::string row(const char* machine, const Profile& p, std::int32_t members, Collective collective,
                const std::string& algorithm) {
  const auto plan = plan_of(p, members, collective, algorithm);
  if (!plan.ok()) return {};  // for example, a counter over hosts
  const auto program = compile_lines(*plan);
  EXPECT_TRUE(program.ok()) << plan->schedule.algorithm;
  std::string text = format("%-38s %4d %-9s %c %-34s %-26s", machine, members, name_of(collective),
                            algorithm.empty() ? '*' : ' ', plan->schedule.algorithm.c_str(),
                            to_string(plan->layout).c_str());
  for (const sim::Quantity quantity : {sim::Quantity::kPeriod, sim::Quantity::kLatency}) {
    const auto outcome =
        sim::simulate(*program, plan->key, p.topology, p, {.quantity = quantity, .episodes = 300});
    EXPECT_TRUE(outcome.ok()) << machine << ' ' << algorithm << ": " << outcome.error().message;
    if (outcome.ok()) text += format(" %12.3f", outcome->ns);
  }
  return text + "\n";
}

TEST(GoldenSimulations, OfTheRecordedMachines) {
  std::string text = format("%-38s %4s %-9s %c %-34s %-26s %12s %12s\n", "machine; *: the planner's choice",
                            "n", "", ' ', "algorithm", "layout", "period_ns", "latency_ns");
  for (const Case& c : kCases) {
    const auto profile =
        load_profile_file(std::string(FERMATA_SOURCE_DIR "/machines/") + c.machine + ".json");
    ASSERT_TRUE(profile.ok()) << c.machine;
    for (const std::int32_t members : c.members) {
      for (const char* algorithm : kAlgorithms)
        text += row(c.machine, *profile, members, Collective::kBarrier, algorithm);
      for (const Collective collective :
           {Collective::kBroadcast, Collective::kReduce, Collective::kAllreduce})
        text += row(c.machine, *profile, members, collective, "");
    }
  }
  test::expect_golden("golden/simulate/times.txt", text);
}

}  // namespace
}  // namespace fermata
