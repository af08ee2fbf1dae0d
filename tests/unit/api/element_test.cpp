// Opaque elements: the longest that fits a team's ring buffers works; a longer one is refused, and the error
// names the limit.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "../../operation.hpp"

namespace {

int prepared(fermata_member* member, std::size_t element) {
  static char in[4096], out[4096];
  fermata_operation o = fermata::test::operation(FERMATA_ALLREDUCE, in, out, 1, FERMATA_INT8);
  o.element = element;
  o.fold = [](void*, const void*, const void*, std::size_t, void*) {};
  fermata_request* request = nullptr;
  const int status = fermata_prepare(member, &o, &request);
  if (status == FERMATA_OK) {
    EXPECT_EQ(fermata_request_free(request), FERMATA_OK);
  }
  return status;
}

TEST(Element, OfALargeTeamIsShort) {
  for (const int members : {2, 64, 300}) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = members;
    fermata_team* team = nullptr;
    ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
    fermata_member* member = nullptr;
    ASSERT_EQ(fermata_team_join(team, 0, &member), FERMATA_OK) << fermata_error_detail();
    const int longest = prepared(member, 4096);
    EXPECT_EQ(longest == FERMATA_OK, members == 2) << members;
    if (longest != FERMATA_OK) {
      EXPECT_EQ(longest, FERMATA_ERR_UNSUPPORTED);
      const std::string detail = fermata_error_detail(),
                        before = "in a team this large an element has at most ";
      ASSERT_EQ(detail.substr(0, before.size()), before);
      const std::size_t most = std::strtoul(detail.c_str() + before.size(), nullptr, 10);
      EXPECT_GE(most, 48u) << "a line of a ring buffer holds 48 bytes";
      EXPECT_EQ(prepared(member, most), FERMATA_OK) << fermata_error_detail();
      EXPECT_EQ(prepared(member, most + 1), FERMATA_ERR_UNSUPPORTED);
    }
    fermata_member_leave(member);
    fermata_team_destroy(team);
  }
}

}  // namespace
