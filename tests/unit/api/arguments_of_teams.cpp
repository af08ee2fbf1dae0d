// Arguments of the creation of teams, and of queries about a team.
#include "arguments.hpp"
#include "fermata/hosts.h"

namespace fermata::test {
namespace {

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
    fermata_plan *plan = nullptr, *unused = nullptr;
    ASSERT_EQ(fermata_plan_make(&for_three, &plan), FERMATA_OK);
    for_three.payload = 8;  // with tags: this team has no use for it
    ASSERT_EQ(fermata_plan_make(&for_three, &unused), FERMATA_OK);
    const fermata_plan* others[] = {plan, unused};
    refused([](fermata_team_config& c) { c.size = 3; });
    refused([](fermata_team_config& c) { c.members = 0; });
    refused([](fermata_team_config& c) { c.members = 4097; });
    refused([](fermata_team_config& c) { c.engine = -1; });
    refused([](fermata_team_config& c) { c.wait = 4; });
    refused([&](fermata_team_config& c) { c.cpus = cpus; });
    refused([](fermata_team_config& c) { c.plan_count = 1; });
    for (const fermata_plan** plans : {none, others, others + 1})
      refused([&](fermata_team_config& c) {
        c.plans = plans;
        c.plan_count = 1;
      });
    refused([](fermata_team_config& c) { c.stall_seconds = kNan; });
    refused([](fermata_team_config& c) { c.refresh_seconds = kNan; });
    fermata_plan_destroy(plan);
    fermata_plan_destroy(unused);
  };
  all["fermata_team_destroy"] = [](World&) { fermata_team_destroy(nullptr); };
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
}

void teams_that_are_served(Checks& all) {
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
  all["fermata_team_attach"] = [](World&) {
    fermata_team* out = nullptr;
    REFUSED(fermata_team_attach(nullptr, 0.01, &out));
    REFUSED(fermata_team_attach("x", 0.01, nullptr));
    REFUSED(fermata_team_attach(std::string(200, 'x').c_str(), 0.01, &out));
    FAILS(fermata_team_attach("nobody offers this", 0.01, &out), FERMATA_ERR_TIMEOUT);
    FAILS(fermata_team_attach("nobody offers this", kNan, &out), FERMATA_ERR_TIMEOUT);
    EXPECT_EQ(out, nullptr);
  };
}

void teams_within_others(Checks& all) {
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
}

void teams_over_hosts(Checks& all) {
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
}

void teams_in_use(Checks& all) {
  all["fermata_team_size"] = [](World&) { REFUSED(fermata_team_size(nullptr)); };
  all["fermata_team_connect"] = [](World& w) {
    fermata_port port = {};
    port.size = sizeof port;
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

}  // namespace

void add_teams(Checks& all) {
  teams(all);
  teams_that_are_served(all);
  teams_within_others(all);
  teams_over_hosts(all);
  teams_in_use(all);
}

}  // namespace fermata::test
