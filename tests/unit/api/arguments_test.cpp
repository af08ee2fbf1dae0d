// Calls every function of the C ABI with arguments that it must refuse. It must return an error, leave
// out-pointers and buffers unchanged, and leave the team working. The list of functions is
// tests/abi/symbols.txt: a new function needs a check here. details.txt has the error texts of all functions,
// to be read as a page.
#include <fstream>

#include "../../golden.hpp"
#include "arguments.hpp"
#include "fermata/hosts.h"

namespace fermata::test {
namespace {

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
  for (const auto add :
       {add_plans, add_teams, texts, add_members, add_collectives, add_requests, add_barriers_without_teams})
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
    World world;  // its destructor checks that the team is unchanged
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

// Handles are freed, and then used.
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
  // New teams do not reuse the freed handles at once.
  fermata_team* other = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &other), FERMATA_OK);
  REFUSED(fermata_team_size(team));
  fermata_team_destroy(other);
}

}  // namespace
}  // namespace fermata::test
