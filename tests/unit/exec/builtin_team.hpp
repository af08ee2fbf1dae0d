// A team of threads whose barrier is a built-in program.
#ifndef FERMATA_TESTS_UNIT_EXEC_BUILTIN_TEAM_HPP
#define FERMATA_TESTS_UNIT_EXEC_BUILTIN_TEAM_HPP

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "exec/builtin.hpp"
#include "exec/team.hpp"

namespace fermata::exec {

class BuiltinTeam {
 public:
  BuiltinTeam(std::uint32_t members, std::uint32_t cpus, WaitKind wait = WaitKind::kAuto) {
    const std::unique_ptr<ProgramHeader, decltype(&std::free)> barrier(
        make_builtin(builtin_barrier(members, cpus)), &std::free);
    TeamOptions options;
    options.members = members;
    options.wait = wait;
    options.programs[static_cast<int>(PlanSlot::kBarrier)] = barrier.get();
    const char* detail = "";
    EXPECT_EQ(Team::create(options, &team_, &detail), Status::kOk) << detail;
  }
  ~BuiltinTeam() {
    if (team_ != nullptr) team_->release();
  }
  BuiltinTeam(const BuiltinTeam&) = delete;
  BuiltinTeam& operator=(const BuiltinTeam&) = delete;

  Team* get() const { return team_; }  // null: the team could not be made, and the test has failed
  Team* operator->() const { return team_; }

 private:
  Team* team_ = nullptr;
};

}  // namespace fermata::exec
#endif
