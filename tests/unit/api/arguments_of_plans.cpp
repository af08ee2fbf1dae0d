// Arguments of topologies, profiles and plans.
#include "arguments.hpp"

namespace fermata::test {
namespace {

void topologies_and_profiles(Checks& all) {
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
}

void plans(Checks& all) {
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
    refused([](fermata_plan_request& r) { r.collective = -1; });
    refused([](fermata_plan_request& r) { r.collective = FERMATA_ALLREDUCE + 1; });
    refused([](fermata_plan_request& r) { r.engine = 2; });
    refused(
        [](fermata_plan_request& r) {
          r.payload = 57;
          r.collective = FERMATA_ALLREDUCE;
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

}  // namespace

void add_plans(Checks& all) {
  topologies_and_profiles(all);
  plans(all);
}

}  // namespace fermata::test
