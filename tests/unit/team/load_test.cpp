// Files that the API loads and then uses: the tool's output, recorded machines and saved plans.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "../../own_folder.hpp"
#include "api/values.hpp"
#include "profile/store.hpp"
#include "team/handles.hpp"
#include "team/machine.hpp"

namespace fermata {
namespace {

const std::string kRoot = FERMATA_SOURCE_DIR;

std::string written(const test::OwnFolder& folder, const std::string& name, const std::string& text) {
  const std::string path = folder.path() / name;
  EXPECT_TRUE(write_file_atomically(path, text).ok());
  return path;
}

std::string text_of(const fermata_plan* plan) {
  char text[8000];
  size_t length = sizeof text;
  EXPECT_EQ(fermata_plan_text(plan, text, &length), FERMATA_OK);
  EXPECT_LE(length, sizeof text);
  return text;
}

TEST(Load, TopologiesOfEveryForm) {
  const test::OwnFolder folder;
  const auto known = topology_from_regular({.packages = 2, .cores = 4, .smt = 2});
  ASSERT_TRUE(known.ok());
  std::vector<std::pair<std::string, Topology>> files = {{written(folder, "text", to_text(*known)), *known},
                                                         {written(folder, "json", to_json(*known)), *known}};
#ifndef FERMATA_TEST_WITHOUT_HWLOC
  const std::string xml = kRoot + "/tests/golden/topo/cascadelake-2vcpu.xml";
  const auto recorded = topology_from_xml(xml);
  ASSERT_TRUE(recorded.ok());
  files.emplace_back(xml, *recorded);
#endif
  for (const auto& [path, expected] : files) {
    fermata_topology* t = nullptr;
    ASSERT_EQ(fermata_topology_load(path.c_str(), &t), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(t->value, expected);
    int cpus = 0;
    EXPECT_EQ(fermata_topology_cpus(t, &cpus), FERMATA_OK);
    EXPECT_EQ(cpus, static_cast<int>(expected.cpus.size()));
    fermata_topology_destroy(t);
  }
}

TEST(Load, ABadTopologyIsRefusedWithPathAndLine) {
  const test::OwnFolder folder;
  const auto known = topology_from_regular({.cores = 2});
  ASSERT_TRUE(known.ok());
  const std::string json = to_json(*known), text = to_text(*known);
  fermata_topology* t = nullptr;
  for (const std::string& half : {json.substr(0, json.size() / 2), text.substr(0, text.size() / 2)}) {
    EXPECT_EQ(fermata_topology_load(written(folder, "half", half).c_str(), &t), FERMATA_ERR_PARSE);
    EXPECT_NE(std::string(fermata_error_detail()).find("half: line "), std::string::npos)
        << fermata_error_detail();
  }
#ifndef FERMATA_TEST_WITHOUT_HWLOC
  EXPECT_EQ(fermata_topology_load(written(folder, "xml", "<topology>").c_str(), &t), FERMATA_ERR_PARSE)
      << fermata_error_detail();
#endif
  EXPECT_EQ(t, nullptr);
}

// There is no profile measured for processes here.
TEST(Load, WhatWasMeasuredForThreadsServesProcessesToo) {
  const test::OwnCache cache;
  const auto here = discover_topology();
  ASSERT_TRUE(here.ok());
  EXPECT_EQ(team::best_known_profile(*here, Engine::kProcesses).origin, "estimated");
  Profile p = estimate_profile(*here);
  p.origin = "measured";
  p.fingerprint = fingerprint(*here);
  ASSERT_TRUE(save_profile(p).ok());
  EXPECT_EQ(team::best_known_profile(*here, Engine::kProcesses).origin, "measured");
}

TEST(Load, ARecordedMachineIsPlannedFor) {
  const std::string path = kRoot + "/machines/power8-4x6x8.json";
  const auto machine = load_profile_file(path);
  ASSERT_TRUE(machine.ok());
  const test::OwnFolder folder;
  fermata_topology* topology = nullptr;
  fermata_profile* profile = nullptr;
  ASSERT_EQ(fermata_topology_load(written(folder, "power8", to_json(machine->topology)).c_str(), &topology),
            FERMATA_OK);
  ASSERT_EQ(fermata_profile_load(path.c_str(), &profile), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(profile->value, *machine);
  const std::vector<int> cpus = place(machine->topology, 24, Placement::kCore);
  fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
  request.members = 24;
  request.cpus = cpus.data();
  request.topology = topology;
  for (const fermata_profile* by :
       {static_cast<const fermata_profile*>(profile), static_cast<const fermata_profile*>(nullptr)}) {
    request.profile = by;
    fermata_plan* plan = nullptr;
    ASSERT_EQ(fermata_plan_make(&request, &plan), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(plan->value.origin, "estimated");  // published figures: not measured here
    EXPECT_EQ(plan->value.key.fingerprint, fingerprint(machine->topology));
    const double one_way = plan->value.bound_ns / static_cast<double>(plan->value.schedule.stages.size());
    EXPECT_EQ(by != nullptr, one_way == machine->one_way_ns) << one_way;
    fermata_plan_destroy(plan);
  }
  fermata_profile_destroy(profile);
  fermata_topology_destroy(topology);
}

TEST(Load, ThisMachinesProfileComesFromTheCache) {
  const test::OwnCache cache;
  fermata_profile* p = nullptr;
  EXPECT_EQ(fermata_profile_load(nullptr, &p), FERMATA_ERR_NOT_FOUND);
  const auto here = discover_topology();
  ASSERT_TRUE(here.ok());
  const Profile saved = estimate_profile(*here);
  ASSERT_TRUE(save_profile(saved).ok());
  ASSERT_EQ(fermata_profile_load(nullptr, &p), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(p->value, saved);
  fermata_profile_destroy(p);
}

// No search gives this plan: if a team runs it, the file was read and used.
fermata_plan* odd_plan(const test::OwnFolder& folder, bool whole) {
  fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
  request.members = 3;
  request.algorithm = "kary(2)";
  request.layout = "private+4slots+stride3";
  fermata_plan* made = nullptr;
  EXPECT_EQ(fermata_plan_make(&request, &made), FERMATA_OK) << fermata_error_detail();
  if (!whole) made->value.schedule.stages.pop_back();
  const std::string path = written(folder, "plan.json", to_json(made->value));
  fermata_plan* plan = nullptr;
  EXPECT_EQ(fermata_plan_load(path.c_str(), &plan), whole ? FERMATA_OK : FERMATA_ERR_VERIFY)
      << fermata_error_detail();
  if (plan != nullptr) {
    EXPECT_EQ(plan->value, made->value);
  }
  fermata_plan_destroy(made);
  return plan;
}

TEST(Load, ATeamRunsASavedPlan) {
  const test::OwnCache cache;
  fermata_plan* plan = odd_plan(cache, true);
  ASSERT_NE(plan, nullptr);
  EXPECT_NE(text_of(plan).find("layout     private+4slots+stride3 (4 slots"), std::string::npos)
      << text_of(plan);
  EXPECT_NE(text_of(plan).find("\nS0\n   0 | . . . |\n   1 | 1 . . |\n   2 | 1 . . |\n"), std::string::npos)
      << text_of(plan);
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 3;
  config.plans = &plan;
  config.plan_count = 1;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  const auto program = compile_lines(plan->value);
  fermata_plan_destroy(plan);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(
      std::memcmp(team->team->programs().blob(exec::PlanSlot::kBarrier), program->data(), program->size()),
      0);
  int turn[3] = {};  // plain: the barrier orders it
  std::vector<std::thread> workers;
  for (int rank = 0; rank < 3; ++rank)
    workers.emplace_back([&, rank] {
      fermata_member* m = nullptr;
      ASSERT_EQ(fermata_team_join(team, rank, &m), FERMATA_OK) << fermata_error_detail();
      fermata_member_set_timeout(m, 30);
      for (int i = 1; i <= 100; ++i) {
        turn[rank] = i;
        ASSERT_EQ(fermata_barrier(m), FERMATA_OK);
        for (const int seen : turn) ASSERT_EQ(seen, i);
        ASSERT_EQ(fermata_barrier(m), FERMATA_OK);
      }
      fermata_member_leave(m);
    });
  for (std::thread& t : workers) t.join();
  fermata_team_destroy(team);
}

TEST(Load, ASavedPlanIsProvedAgain) {
  const test::OwnCache cache;
  EXPECT_EQ(odd_plan(cache, false), nullptr);
}

}  // namespace
}  // namespace fermata
