// The error text of a broken team is that of the status.
#include "exec/diagnosis.hpp"

#include <gtest/gtest.h>

#include <string>

#include "builtin_team.hpp"
#include "exec/member.hpp"

namespace fermata::exec {
namespace {

Member* joined(Team* team, std::uint32_t rank) {
  Member* member = nullptr;
  const char* detail = "";
  EXPECT_EQ(Member::join(team, rank, &member, &detail), Status::kOk) << detail;
  return member;
}

struct DiagnosisOf : testing::Test {
  BuiltinTeam team{2, 2};
  Member* const owner = joined(team.get(), 0);
  Seat seat{*team.get(), 0};
  CallLog log{team->status(0)};
  RequestQueues queues{*owner};
  Diagnosis diagnosis{seat, log, queues};

  DiagnosisOf() { joined(team.get(), 1)->leave(); }
  ~DiagnosisOf() override { owner->leave(); }
};

TEST_F(DiagnosisOf, AnotherCallThatComesLaterDoesNotReplaceTheText) {
  EXPECT_EQ(seat.give_up(diagnosis.lost(1)), Status::kMemberLost);
  const std::string text = diagnosis.text();
  EXPECT_NE(text.find("rank 1"), std::string::npos);
  EXPECT_NE(text.find("has left"), std::string::npos);
  EXPECT_EQ(diagnosis.met_another_call(1), Status::kMemberLost);
  EXPECT_EQ(diagnosis.text(), text);
}

TEST_F(DiagnosisOf, ALostMemberDoesNotReplaceTheTextOfAnAbort) {
  team->break_with(Status::kBroken, 0);
  EXPECT_EQ(diagnosis.lost(1), Status::kBroken);
  EXPECT_STREQ(diagnosis.text(), "the team was aborted");
  seat.give_up(Status::kBroken);
  EXPECT_EQ(diagnosis.lost(1), Status::kBroken);
  EXPECT_STREQ(diagnosis.text(), "the team was aborted");
}

}  // namespace
}  // namespace fermata::exec
