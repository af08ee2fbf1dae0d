// Shared by the checks of arguments: a team with work outstanding, on which a refused call must have no
// effect.
#ifndef FERMATA_TESTS_UNIT_API_ARGUMENTS_HPP
#define FERMATA_TESTS_UNIT_API_ARGUMENTS_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "../../operation.hpp"

namespace fermata::test {

inline constexpr int kMembers = 2;
inline constexpr std::size_t kRoom = 256;
inline const double kNan = std::numeric_limits<double>::quiet_NaN();

// The details of the calls that a function refuses, each text once; the test compares them with details.txt.
class Details {
 public:
  // Replaces the detail, so that the next call's detail is not an earlier call's.
  static void forget() { fermata_pin(INT_MIN); }
  static int note(int status) {
    if (status == FERMATA_OK || status == FERMATA_PENDING) return status;
    std::string now = fermata_error_detail();
    if (now.find("CPU -2147483648") == 0) now = "(nothing)";
    now = now.substr(0, now.find("; there are "));  // the table's algorithms, which may become more
    if (std::find(said.begin(), said.end(), now) == said.end()) said.push_back(now);
    return status;
  }
  static inline std::vector<std::string> said;
};

#define REFUSED(call) EXPECT_EQ((Details::forget(), Details::note(call)), FERMATA_ERR_ARGUMENT) << #call
#define FAILS(call, status) \
  EXPECT_EQ((Details::forget(), Details::note(call)), status) << #call << ": " << fermata_error_detail()

// A team of threads whose two members are used by one thread, and arguments for calls.
struct World {
  fermata_team* team = nullptr;
  fermata_member* member[kMembers] = {};
  fermata_request* idle = nullptr;     // member 0's, over
  fermata_request* running = nullptr;  // member 0's, begun; member 1 has not begun it
  std::vector<double> x = std::vector<double>(kRoom, 1.0), y = std::vector<double>(kRoom, 2.0), data = x;
  size_t counts[kMembers] = {1, 1};
  size_t huge[kMembers] = {SIZE_MAX / 2, 1};

  World() {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = kMembers;
    EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
    for (int r = 0; r < kMembers; ++r) {
      EXPECT_EQ(fermata_team_join(team, r, &member[r]), FERMATA_OK) << fermata_error_detail();
      fermata_member_set_timeout(member[r], 5);
    }
    fermata_request* other = nullptr;
    begin(0, &idle);
    begin(1, &other);
    finish(idle, 0);
    finish(other, 1);
    EXPECT_EQ(fermata_request_free(other), FERMATA_OK);
    begin(0, &running);
  }
  ~World() {
    fermata_request* other = nullptr;
    begin(1, &other);
    finish(running, 0);
    finish(other, 1);
    EXPECT_EQ(fermata_request_free(other), FERMATA_OK);
    EXPECT_EQ(fermata_request_free(running), FERMATA_OK);
    EXPECT_EQ(fermata_request_free(idle), FERMATA_OK);
    for (fermata_member* m : member) fermata_member_leave(m);
    fermata_team_destroy(team);
  }

  fermata_operation good(double* buffer) const {
    fermata_operation o = in_place_sum(buffer, 10);
    o.op = FERMATA_MAX;
    return o;
  }
  void begin(int rank, fermata_request** out) {
    const fermata_operation o = good(data.data() + 20 * rank);
    EXPECT_EQ(fermata_begin(member[rank], &o, out), FERMATA_OK) << fermata_error_detail();
  }
  void finish(fermata_request* request, int rank) {
    int status = FERMATA_PENDING;
    for (int i = 0; i < 1000 && status == FERMATA_PENDING; ++i) {
      fermata_progress(member[1 - rank], 0);
      status = fermata_request_test(request);
    }
    EXPECT_EQ(status, FERMATA_OK) << fermata_error_detail();
  }
};

using Check = std::function<void(World&)>;
using Checks = std::map<std::string, Check>;

// Each adds the checks for one part of the public headers.
void add_plans(Checks& all);
void add_teams(Checks& all);
void add_members(Checks& all);
void add_collectives(Checks& all);
void add_requests(Checks& all);
void add_barriers_without_teams(Checks& all);

}  // namespace fermata::test
#endif
