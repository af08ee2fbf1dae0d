// Teams of the API read the environment: FERMATA_WAIT overrides the configuration, the configuration
// overrides FERMATA_STALL_SECONDS.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "team/handles.hpp"

namespace fermata {
namespace {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

struct Taken {
  WaitKind wait;
  std::int64_t stall_ns;
  bool operator==(const Taken&) const = default;
};

Taken taken_by(const fermata_team* team) { return {team->team->wait(), team->team->stall_ns()}; }

Taken configured(int engine, int wait, double stall_seconds) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.engine = engine;
  config.wait = wait;
  config.stall_seconds = stall_seconds;
  fermata_team* team = nullptr;
  EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  const Taken taken = taken_by(team);
  fermata_team_destroy(team);
  return taken;
}

constexpr int kEngines[] = {FERMATA_THREADS, FERMATA_PROCESSES};

TEST(Environment, WaitWinsOverTheConfiguration) {
  const std::pair<const char*, WaitKind> policies[] = {{"auto", WaitKind::kAuto},
                                                       {"spin", WaitKind::kSpin},
                                                       {"yield", WaitKind::kYield},
                                                       {"park", WaitKind::kPark}};
  for (const auto& [name, kind] : policies) {
    const Variable wait("FERMATA_WAIT", name);
    for (const int engine : kEngines)
      for (const int other : {FERMATA_WAIT_AUTO, FERMATA_WAIT_SPIN, FERMATA_WAIT_YIELD, FERMATA_WAIT_PARK})
        EXPECT_EQ(configured(engine, other, 0).wait, kind) << name;
  }
  const Variable wait("FERMATA_WAIT", "sleep");  // not a policy
  EXPECT_EQ(configured(FERMATA_THREADS, FERMATA_WAIT_PARK, 0).wait, WaitKind::kPark);
}

TEST(Environment, StallSecondsYieldToTheConfiguration) {
  for (const int engine : kEngines) {
    EXPECT_EQ(configured(engine, FERMATA_WAIT_AUTO, 0).stall_ns, 0);
    const Variable stall("FERMATA_STALL_SECONDS", "2.5");
    EXPECT_EQ(configured(engine, FERMATA_WAIT_AUTO, 0).stall_ns, 2'500'000'000);
    EXPECT_EQ(configured(engine, FERMATA_WAIT_AUTO, 4).stall_ns, 4'000'000'000);
  }
  const Variable stall("FERMATA_STALL_SECONDS", "soon");
  EXPECT_EQ(configured(FERMATA_THREADS, FERMATA_WAIT_AUTO, 0).stall_ns, 0);
}

TEST(Environment, WhoAttachesTakesItsOwn) {
  const std::string name = "environment." + std::to_string(getpid());
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.engine = FERMATA_PROCESSES;
  config.wait = FERMATA_WAIT_SPIN;
  fermata_team *team = nullptr, *again = nullptr;
  // fork before the team exists: an inherited team would keep the parent's wait policy
  const pid_t child = fork();
  if (child == 0) {
    const Variable wait("FERMATA_WAIT", "yield"), stall("FERMATA_STALL_SECONDS", "3");
    if (fermata_team_attach(name.c_str(), 20, &again) != FERMATA_OK) _exit(1);
    _exit(taken_by(again) == Taken{WaitKind::kYield, 3'000'000'000} ? 0 : 2);
  }
  EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(fermata_team_serve(team, name.c_str(), 1, 20), FERMATA_OK) << fermata_error_detail();
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  EXPECT_EQ(taken_by(team).wait, WaitKind::kSpin);
  fermata_team_destroy(team);
}

// In a process whose environment says nothing, the creator's configuration holds.
TEST(Environment, WhoAttachesTakesTheCreatorsConfiguration) {
  const std::string name = "configured." + std::to_string(getpid());
  const Taken given = {WaitKind::kSpin, 2'000'000'000};
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.engine = FERMATA_PROCESSES;
  config.wait = FERMATA_WAIT_SPIN;
  config.stall_seconds = 2;
  fermata_team *team = nullptr, *again = nullptr;
  const pid_t child = fork();
  if (child == 0) {
    if (fermata_team_attach(name.c_str(), 20, &again) != FERMATA_OK) _exit(1);
    _exit(taken_by(again) == given ? 0 : 2);
  }
  EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(fermata_team_serve(team, name.c_str(), 1, 20), FERMATA_OK) << fermata_error_detail();
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  fermata_team* beside = nullptr;
  std::uint64_t place = 0;
  EXPECT_EQ(fermata_team_create_within(team, &config, &place, &beside), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(fermata_team_attach_within(team, place, &again), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(taken_by(again), given);
  const Variable wait("FERMATA_WAIT", "auto"), stall("FERMATA_STALL_SECONDS", "3");
  fermata_team* third = nullptr;
  EXPECT_EQ(fermata_team_attach_within(team, place, &third), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(taken_by(third), (Taken{WaitKind::kAuto, given.stall_ns}));
  for (fermata_team* t : {third, again, beside, team}) fermata_team_destroy(t);
}

// A sub-team has its parent team's wait policy.
TEST(Environment, SubTeamsTakeTheTeams) {
  const Variable wait("FERMATA_WAIT", "yield"), stall("FERMATA_STALL_SECONDS", "3");
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  fermata_team* team = nullptr;
  fermata_member *member = nullptr, *sub = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  ASSERT_EQ(fermata_team_join(team, 0, &member), FERMATA_OK) << fermata_error_detail();
  ASSERT_EQ(fermata_team_split(member, 0, 0, &sub), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(sub->member->team().wait(), WaitKind::kYield);
  EXPECT_EQ(sub->member->team().stall_ns(), 3'000'000'000);
  fermata_member_leave(sub);
  fermata_member_leave(member);
  fermata_team_destroy(team);
}

}  // namespace
}  // namespace fermata
