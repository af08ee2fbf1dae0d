// Every function of the C ABI, called with arguments that it must refuse: an error, out-pointers and buffers
// as they were, and a team that goes on as if nothing had been called. The list of functions is
// tests/abi/symbols.txt: a new one needs a check here. What is said of each is in details.txt, to be read as
// a page.
#include <cmath>
#include <fstream>

#include "../../golden.hpp"
#include "arguments.hpp"
#include "fermata/hosts.h"

namespace fermata::test {
namespace {

void topologies_and_plans(Checks& all) {
  all["fermata_topology_discover"] = [](World&) { REFUSED(fermata_topology_discover(nullptr)); };
  all["fermata_topology_load"] = [](World&) {
    fermata_topology* out = nullptr;
    REFUSED(fermata_topology_load(nullptr, &out));
    REFUSED(fermata_topology_load("x", nullptr));
    FAILS(fermata_topology_load("/nowhere", &out), FERMATA_ERR_NOT_FOUND);
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_topology_cpus"] = [](World&) {
    int n = 77;
    REFUSED(fermata_topology_cpus(nullptr, &n));
    fermata_topology* topology = nullptr;
    ASSERT_EQ(fermata_topology_discover(&topology), FERMATA_OK);
    REFUSED(fermata_topology_cpus(topology, nullptr));
    fermata_topology_destroy(topology);
    EXPECT_EQ(n, 77);
  };
  all["fermata_topology_destroy"] = [](World&) { fermata_topology_destroy(nullptr); };
  all["fermata_profile_load"] = [](World&) {
    fermata_profile* out = nullptr;
    REFUSED(fermata_profile_load(nullptr, nullptr));
    FAILS(fermata_profile_load("/nowhere", &out), FERMATA_ERR_NOT_FOUND);
    FAILS(fermata_profile_load("/dev/null", &out), FERMATA_ERR_PARSE);
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_profile_destroy"] = [](World&) { fermata_profile_destroy(nullptr); };
  all["fermata_plan_make"] = [](World&) {
    fermata_plan* out = nullptr;
    const auto refused = [&](auto&& spoil, int status = FERMATA_ERR_ARGUMENT) {
      fermata_plan_request r = FERMATA_PLAN_REQUEST_INIT;
      r.members = 2;
      spoil(r);
      FAILS(fermata_plan_make(&r, &out), status);
      EXPECT_EQ(out, nullptr);
    };
    REFUSED(fermata_plan_make(nullptr, &out));
    const fermata_plan_request one = FERMATA_PLAN_REQUEST_INIT;
    REFUSED(fermata_plan_make(&one, nullptr));
    const int cpus[] = {0, -1};
    refused([](fermata_plan_request& r) { r.size = 0; });
    refused([](fermata_plan_request& r) { r.members = 0; });
    refused([](fermata_plan_request& r) { r.members = -1; });
    refused([](fermata_plan_request& r) { r.members = 4097; });
    refused([](fermata_plan_request& r) { r.kind = -1; });
    refused([](fermata_plan_request& r) { r.kind = FERMATA_ALLREDUCE + 1; });
    refused([](fermata_plan_request& r) { r.engine = 2; });
    refused(
        [](fermata_plan_request& r) {
          r.payload = 57;
          r.kind = FERMATA_ALLREDUCE;
        },
        FERMATA_ERR_UNSUPPORTED);
    refused([&](fermata_plan_request& r) { r.cpus = cpus; });
    refused([](fermata_plan_request& r) { r.algorithm = "nonesuch"; }, FERMATA_ERR_NOT_FOUND);
    refused([](fermata_plan_request& r) { r.algorithm = "kary(0)"; }, FERMATA_ERR_PARSE);
    refused([](fermata_plan_request& r) { r.layout = "nonesuch"; }, FERMATA_ERR_PARSE);
  };
  all["fermata_plan_load"] = [](World&) {
    fermata_plan* out = nullptr;
    REFUSED(fermata_plan_load(nullptr, &out));
    REFUSED(fermata_plan_load("x", nullptr));
    FAILS(fermata_plan_load("/nowhere", &out), FERMATA_ERR_NOT_FOUND);
    FAILS(fermata_plan_load("/dev/null", &out), FERMATA_ERR_PARSE);
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_plan_text"] = [](World&) {
    size_t length = 5;
    char buffer[5] = "none";
    REFUSED(fermata_plan_text(nullptr, buffer, &length));
    const fermata_plan_request r = FERMATA_PLAN_REQUEST_INIT;
    fermata_plan* plan = nullptr;
    ASSERT_EQ(fermata_plan_make(&r, &plan), FERMATA_OK) << fermata_error_detail();
    REFUSED(fermata_plan_text(plan, buffer, nullptr));
    EXPECT_STREQ(buffer, "none");
    EXPECT_EQ(length, 5u);
    EXPECT_EQ(fermata_plan_text(plan, nullptr, &length), FERMATA_OK);
    EXPECT_GT(length, 5u);
    fermata_plan_destroy(plan);
  };
  all["fermata_plan_destroy"] = [](World&) { fermata_plan_destroy(nullptr); };
}

void teams(Checks& all) {
  all["fermata_team_create"] = [](World&) {
    fermata_team* out = nullptr;
    REFUSED(fermata_team_create(nullptr, &out));
    const fermata_team_config good = FERMATA_TEAM_CONFIG_INIT;
    REFUSED(fermata_team_create(&good, nullptr));
    const int cpus[] = {0, -1};
    const auto refused = [&](auto&& spoil) {
      fermata_team_config c = FERMATA_TEAM_CONFIG_INIT;
      c.members = 2;
      spoil(c);
      REFUSED(fermata_team_create(&c, &out));
      EXPECT_EQ(out, nullptr);
    };
    const fermata_plan* none[] = {nullptr};
    fermata_plan_request for_three = FERMATA_PLAN_REQUEST_INIT;
    for_three.members = 3;
    fermata_plan* plan = nullptr;
    ASSERT_EQ(fermata_plan_make(&for_three, &plan), FERMATA_OK);
    const fermata_plan* others[] = {plan};
    refused([](fermata_team_config& c) { c.size = 3; });
    refused([](fermata_team_config& c) { c.members = 0; });
    refused([](fermata_team_config& c) { c.members = 4097; });
    refused([](fermata_team_config& c) { c.engine = -1; });
    refused([](fermata_team_config& c) { c.wait = 4; });
    refused([&](fermata_team_config& c) { c.cpus = cpus; });
    refused([](fermata_team_config& c) { c.plan_count = 1; });
    refused([&](fermata_team_config& c) {
      c.plans = none;
      c.plan_count = 1;
    });
    refused([&](fermata_team_config& c) {
      c.plans = others;
      c.plan_count = 1;
    });
    refused([](fermata_team_config& c) { c.stall_seconds = kNan; });
    refused([](fermata_team_config& c) { c.refresh_seconds = kNan; });
    fermata_plan_destroy(plan);
  };
  all["fermata_team_destroy"] = [](World&) { fermata_team_destroy(nullptr); };
  all["fermata_team_size"] = [](World&) { REFUSED(fermata_team_size(nullptr)); };
  all["fermata_team_serve"] = [](World& w) {
    REFUSED(fermata_team_serve(nullptr, "x", 1, 0.01));
    REFUSED(fermata_team_serve(w.team, nullptr, 1, 0.01));
    REFUSED(fermata_team_serve(w.team, "x", 0, 0.01));
    REFUSED(fermata_team_serve(w.team, "a team of threads", 1, 0.01));
    fermata_team_config c = FERMATA_TEAM_CONFIG_INIT;
    c.engine = FERMATA_PROCESSES;
    fermata_team* processes = nullptr;
    ASSERT_EQ(fermata_team_create(&c, &processes), FERMATA_OK);
    REFUSED(fermata_team_serve(processes, std::string(200, 'x').c_str(), 1, 0.01));
    fermata_team_destroy(processes);
  };
  all["fermata_team_create_within"] = [](World& w) {
    fermata_team_config good = FERMATA_TEAM_CONFIG_INIT;
    good.engine = FERMATA_PROCESSES;
    fermata_team_config threads = FERMATA_TEAM_CONFIG_INIT;
    fermata_team* processes = nullptr;
    fermata_team* out = nullptr;
    uint64_t place = 0;
    ASSERT_EQ(fermata_team_create(&good, &processes), FERMATA_OK);
    REFUSED(fermata_team_create_within(nullptr, &good, &place, &out));
    REFUSED(fermata_team_create_within(processes, nullptr, &place, &out));
    REFUSED(fermata_team_create_within(processes, &good, nullptr, &out));
    REFUSED(fermata_team_create_within(processes, &good, &place, nullptr));
    REFUSED(fermata_team_create_within(processes, &threads, &place, &out));
    REFUSED(fermata_team_create_within(w.team, &good, &place, &out));
    good.members = 0;
    REFUSED(fermata_team_create_within(processes, &good, &place, &out));
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(place, 0u);
    fermata_team_destroy(processes);
  };
  all["fermata_team_attach_within"] = [](World& w) {
    fermata_team_config good = FERMATA_TEAM_CONFIG_INIT;
    good.engine = FERMATA_PROCESSES;
    fermata_team* processes = nullptr;
    fermata_team* inner = nullptr;
    fermata_team* out = nullptr;
    uint64_t place = 0;
    ASSERT_EQ(fermata_team_create(&good, &processes), FERMATA_OK);
    ASSERT_EQ(fermata_team_create_within(processes, &good, &place, &inner), FERMATA_OK);
    REFUSED(fermata_team_attach_within(nullptr, place, &out));
    REFUSED(fermata_team_attach_within(processes, place, nullptr));
    REFUSED(fermata_team_attach_within(processes, place + 1, &out));
    REFUSED(fermata_team_attach_within(processes, 0, &out));
    REFUSED(fermata_team_attach_within(processes, UINT64_MAX, &out));
    REFUSED(fermata_team_attach_within(w.team, place, &out));
    REFUSED(fermata_team_serve(inner, "a team within another", 1, 0.01));
    EXPECT_EQ(out, nullptr);
    fermata_team_destroy(inner);
    fermata_team_destroy(processes);
  };
  all["fermata_team_attach"] = [](World&) {
    fermata_team* out = nullptr;
    REFUSED(fermata_team_attach(nullptr, 0.01, &out));
    REFUSED(fermata_team_attach("x", 0.01, nullptr));
    REFUSED(fermata_team_attach(std::string(200, 'x').c_str(), 0.01, &out));
    FAILS(fermata_team_attach("nobody offers this", 0.01, &out), FERMATA_ERR_TIMEOUT);
    FAILS(fermata_team_attach("nobody offers this", kNan, &out), FERMATA_ERR_TIMEOUT);
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_team_join"] = [](World& w) {
    fermata_member* out = nullptr;
    REFUSED(fermata_team_join(nullptr, 0, &out));
    REFUSED(fermata_team_join(w.team, 0, nullptr));
    REFUSED(fermata_team_join(w.team, -1, &out));
    FAILS(fermata_team_join(w.team, FERMATA_ANY_RANK, &out), FERMATA_ERR_BUSY);
    REFUSED(fermata_team_join(w.team, kMembers, &out));
    FAILS(fermata_team_join(w.team, 1, &out), FERMATA_ERR_BUSY);
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_team_abort"] = [](World&) { fermata_team_abort(nullptr); };
  all["fermata_team_split"] = [](World& w) {
    fermata_member* out = nullptr;
    REFUSED(fermata_team_split(nullptr, 0, 0, &out));
    REFUSED(fermata_team_split(w.member[1], 0, 0, nullptr));
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_team_create_hosts"] = [](World&) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 2;
    const int hosts[] = {0, 1}, far[] = {0, 2}, below[] = {-1, 0};
    fermata_team* out = nullptr;
    REFUSED(fermata_team_create_hosts(nullptr, hosts, 0, &out));
    REFUSED(fermata_team_create_hosts(&config, nullptr, 0, &out));
    REFUSED(fermata_team_create_hosts(&config, hosts, 0, nullptr));
    REFUSED(fermata_team_create_hosts(&config, hosts, 2, &out));
    REFUSED(fermata_team_create_hosts(&config, far, 0, &out));
    REFUSED(fermata_team_create_hosts(&config, below, 0, &out));
    config.members = 0;
    REFUSED(fermata_team_create_hosts(&config, hosts, 0, &out));
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_hosts_plan"] = [](World&) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 2;
    const int hosts[] = {0, 1}, far[] = {0, 2};
    const char* const names[] = {"a", nullptr};
    size_t length = 7;
    REFUSED(fermata_hosts_plan(nullptr, hosts, nullptr, nullptr, nullptr, &length));
    REFUSED(fermata_hosts_plan(&config, nullptr, nullptr, nullptr, nullptr, &length));
    REFUSED(fermata_hosts_plan(&config, hosts, nullptr, nullptr, nullptr, nullptr));
    REFUSED(fermata_hosts_plan(&config, hosts, names, nullptr, nullptr, &length));
    REFUSED(fermata_hosts_plan(&config, far, nullptr, nullptr, nullptr, &length));
    EXPECT_EQ(length, 7u);
  };
  all["fermata_team_create_planned"] = [](World&) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 2;
    const int hosts[] = {0, 1};
    std::vector<char> plans(1 << 20);
    size_t length = plans.size();
    EXPECT_EQ(fermata_hosts_plan(&config, hosts, nullptr, nullptr, plans.data(), &length), FERMATA_OK);
    fermata_team* out = nullptr;
    REFUSED(fermata_team_create_planned(nullptr, hosts, 0, plans.data(), length, &out));
    REFUSED(fermata_team_create_planned(&config, nullptr, 0, plans.data(), length, &out));
    REFUSED(fermata_team_create_planned(&config, hosts, 0, nullptr, length, &out));
    REFUSED(fermata_team_create_planned(&config, hosts, 0, plans.data(), length, nullptr));
    REFUSED(fermata_team_create_planned(&config, hosts, 2, plans.data(), length, &out));
    REFUSED(fermata_team_create_planned(&config, hosts, 0, plans.data(), 3, &out));
    REFUSED(fermata_team_create_planned(&config, hosts, 0, plans.data(), length - 1, &out));
    plans[length - 1] ^= 1;
    REFUSED(fermata_team_create_planned(&config, hosts, 0, plans.data(), length, &out));
    plans[length - 1] ^= 1;
    config.members = 1;
    REFUSED(fermata_team_create_planned(&config, hosts, 0, plans.data(), length, &out));
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_team_connect"] = [](World& w) {
    const fermata_port port = {sizeof port, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
    REFUSED(fermata_team_connect(nullptr, &port));
    REFUSED(fermata_team_connect(w.team, nullptr));
    REFUSED(fermata_team_connect(w.team, &port));
  };
  all["fermata_team_refreshes"] = [](World& w) {
    std::uint64_t refreshes = 1, changes = 1;
    REFUSED(fermata_team_refreshes(nullptr, &refreshes, &changes, nullptr, nullptr));
    EXPECT_EQ(fermata_team_refreshes(w.team, nullptr, nullptr, nullptr, nullptr), FERMATA_OK);
    EXPECT_EQ(fermata_team_refreshes(w.team, &refreshes, &changes, nullptr, nullptr), FERMATA_OK);
    EXPECT_EQ(refreshes + changes, 0u);
  };
  all["fermata_team_hash"] = [](World& w) {
    uint64_t hash = 7;
    REFUSED(fermata_team_hash(nullptr, &hash));
    REFUSED(fermata_team_hash(w.team, nullptr));
    EXPECT_EQ(hash, 7u);
  };
  all["fermata_team_report"] = [](World& w) {
    size_t length = 3;
    char buffer[3] = "no";
    REFUSED(fermata_team_report(nullptr, buffer, &length));
    REFUSED(fermata_team_report(w.team, buffer, nullptr));
    EXPECT_STREQ(buffer, "no");
    EXPECT_EQ(fermata_team_report(w.team, nullptr, &length), FERMATA_OK);
    EXPECT_GT(length, 3u);
  };
  all["fermata_pin"] = [](World&) {
    REFUSED(fermata_pin(-1));
    REFUSED(fermata_pin(1 << 30));
  };
}

void texts(Checks& all) {
  all["fermata_status_string"] = [](World&) {
    EXPECT_STREQ(fermata_status_string(12345), "unknown status");
    EXPECT_STREQ(fermata_status_string(std::numeric_limits<int>::min()), "unknown status");
  };
  all["fermata_error_detail"] = [](World&) {
    REFUSED(fermata_team_size(nullptr));
    EXPECT_STRNE(fermata_error_detail(), "");
  };
  all["fermata_host_id"] = [](World&) { EXPECT_EQ(fermata_host_id(), fermata_host_id()); };
  all["fermata_version"] = [](World&) { EXPECT_STREQ(fermata_version(), "0.2.0"); };
}

TEST(Arguments, BadOnesAreRefusedByEveryFunctionAndChangeNothing) {
  Checks all;
  for (const auto add : {topologies_and_plans, teams, texts, add_members, add_collectives, add_requests,
                         add_barriers_without_teams})
    add(all);
  std::ifstream symbols(FERMATA_SOURCE_DIR "/tests/abi/symbols.txt");
  std::vector<std::string> exported;
  for (std::string line; std::getline(symbols, line);) exported.push_back(line);
  ASSERT_GT(exported.size(), 70u);
  std::string details;
  for (const std::string& name : exported) {
    SCOPED_TRACE(name);
    const auto found = all.find(name);
    if (found == all.end()) {
      ADD_FAILURE() << "no check of " << name;
      continue;
    }
    World world;  // at its end: is the team as it was?
    Details::said.clear();
    found->second(world);
    if (!Details::said.empty()) details += name + "\n";
    for (const std::string& said : Details::said) details += "  " + said + "\n";
    EXPECT_EQ(world.x, std::vector<double>(kRoom, 1.0));
    EXPECT_EQ(world.y, std::vector<double>(kRoom, 2.0));
  }
  EXPECT_EQ(all.size(), exported.size());
  expect_golden("unit/api/details.txt", details);
}

// Each is freed, and then used as if it were there.
TEST(Arguments, FreedHandlesAreRefused) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK);
  fermata_member* m = nullptr;
  ASSERT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK);
  double x[10] = {};
  const fermata_operation o = in_place_sum(x, 10);
  fermata_request* freed = nullptr;
  fermata_request* left = nullptr;
  ASSERT_EQ(fermata_prepare(m, &o, &freed), FERMATA_OK) << fermata_error_detail();
  ASSERT_EQ(fermata_prepare(m, &o, &left), FERMATA_OK) << fermata_error_detail();
  ASSERT_EQ(fermata_request_free(freed), FERMATA_OK);
  const auto is_refused = [&](fermata_request* r) {
    std::size_t index = 7;
    REFUSED(fermata_request_start(r));
    REFUSED(fermata_request_test(r));
    REFUSED(fermata_request_wait(r));
    REFUSED(fermata_request_wait_all(&r, 1));
    REFUSED(fermata_request_wait_any(&r, 1, &index));
    REFUSED(fermata_request_reset(r, x, x));
    REFUSED(fermata_request_set_callback(r, nullptr, nullptr));
    EXPECT_EQ(index, 7u);
  };
  is_refused(freed);
  REFUSED(fermata_request_free(freed));
  fermata_member_leave(m);
  is_refused(left);
  EXPECT_EQ(fermata_request_free(left), FERMATA_OK);
  fermata_team_destroy(team);
  fermata_team_destroy(team);
  fermata_team_abort(team);
  size_t length = 0;
  REFUSED(fermata_team_size(team));
  REFUSED(fermata_team_join(team, 0, &m));
  REFUSED(fermata_team_serve(team, "x", 1, 0.01));
  REFUSED(fermata_team_report(team, nullptr, &length));
  // Others don't take their places at once.
  fermata_team* other = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &other), FERMATA_OK);
  REFUSED(fermata_team_size(team));
  fermata_team_destroy(other);
}

}  // namespace
}  // namespace fermata::test
