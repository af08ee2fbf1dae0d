// A segment that is not what its creator laid out: who attaches or joins refuses it, and nothing runs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "exec/program.hpp"
#include "exec/team.hpp"
#include "fermata/fermata.h"
#include "os/os.hpp"

namespace fermata {
namespace {

class Foreign : public testing::Test {
 protected:
  void SetUp() override {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 2;
    config.engine = FERMATA_PROCESSES;
    ASSERT_EQ(fermata_team_create(&config, &team_), FERMATA_OK) << fermata_error_detail();
    ASSERT_TRUE(map()) << "this process has no team's segment";
    program_ = header().layout.plans[0].program;
    plan_bytes_ = reinterpret_cast<const ProgramHeader*>(memory_ + program_)->bytes;
    image_.assign(memory_, program_ + plan_bytes_);
  }
  void TearDown() override {
    if (memory_ != nullptr) munmap(memory_, bytes_);
    fermata_team_destroy(team_);
  }

  const exec::TeamHeader& header() const { return *reinterpret_cast<const exec::TeamHeader*>(memory_); }

  // The only memory of this process that has a team's name.
  bool map() {
    for (int fd = 3; fd < 256; ++fd) {
      char name[64] = {}, target[64] = {};
      std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
      struct stat file;
      if (readlink(name, target, sizeof target - 1) <= 0 || std::strstr(target, "memfd:fermata") == nullptr) continue;
      if (fstat(fd, &file) != 0) continue;
      bytes_ = static_cast<std::size_t>(file.st_size);
      void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (memory == MAP_FAILED) return false;
      memory_ = static_cast<char*>(memory);
      return true;
    }
    return false;
  }

  // A file that begins with `content`.
  static int file_of(const std::string& content, std::size_t bytes) {
    const int file = memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(pwrite(file, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
    EXPECT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return file;
  }

  // Serves such a file as if it were a team's.
  static int attach(const std::string& content, std::size_t bytes) {
    const int file = file_of(content, bytes);
    static int number = 0;
    const std::string name = "foreign." + std::to_string(getpid()) + "." + std::to_string(++number);
    std::thread server([&] { os::serve_fd(name.c_str(), file, 1, 20'000'000'000); });
    fermata_team* team = nullptr;
    const int status = fermata_team_attach(name.c_str(), 20, &team);
    server.join();
    close(file);
    if (status == FERMATA_OK) fermata_team_destroy(team);
    return status;
  }

  std::string with(std::size_t at) const {
    std::string changed = image_;
    changed.at(at) = static_cast<char>(changed.at(at) ^ 1);
    return changed;
  }

  fermata_team* team_ = nullptr;
  char* memory_ = nullptr;
  std::size_t bytes_ = 0, program_ = 0, plan_bytes_ = 0;
  std::string image_;  // up to the first plan's end
};

TEST_F(Foreign, AMemberThatSeesAnotherProgramDoesNotJoin) {
  char& byte = memory_[program_ + plan_bytes_ - 1];
  fermata_member* member = nullptr;
  byte ^= 1;
  EXPECT_EQ(fermata_team_join(team_, 0, &member), FERMATA_ERR_MISMATCH);
  EXPECT_NE(std::string(fermata_error_detail()).find("other plans"), std::string::npos) << fermata_error_detail();
  EXPECT_EQ(member, nullptr);
  byte ^= 1;
  ASSERT_EQ(fermata_team_join(team_, 0, &member), FERMATA_OK) << fermata_error_detail();
  fermata_member_leave(member);
}

TEST_F(Foreign, WhatIsNoTeamsSegmentIsRefused) {
  EXPECT_EQ(attach(std::string(16, 'x'), 16), FERMATA_ERR_MISMATCH);
  EXPECT_EQ(attach(std::string(4096, 'x'), bytes_), FERMATA_ERR_MISMATCH);
  EXPECT_EQ(attach(image_, bytes_ / 2), FERMATA_ERR_MISMATCH);
  EXPECT_EQ(attach(with(offsetof(exec::TeamLayout, version)), bytes_), FERMATA_ERR_MISMATCH);
  EXPECT_EQ(attach(with(offsetof(exec::TeamLayout, members)), bytes_), FERMATA_ERR_MISMATCH);
  EXPECT_EQ(attach(with(offsetof(exec::TeamLayout, hash)), bytes_), FERMATA_ERR_MISMATCH);
}

// The other plans may lie behind the first: a whole copy is attached to, and with any one byte of the program changed it is not.
TEST_F(Foreign, AnotherProgramIsRefused) {
  std::size_t end = image_.size();
  for (const exec::PlanEntry& entry : header().layout.plans)
    if (entry.program != 0) end = std::max(end, entry.program + reinterpret_cast<const ProgramHeader*>(memory_ + entry.program)->bytes);
  image_.assign(memory_, end);
  ASSERT_EQ(attach(image_, bytes_), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(attach(with(program_ + plan_bytes_ - 1), bytes_), FERMATA_ERR_MISMATCH);
  for (std::size_t at = program_; at < program_ + plan_bytes_; ++at) {
    // The stored hash takes no part: it is computed anew.
    if (at - program_ - offsetof(ProgramHeader, hash) < sizeof(ProgramHeader::hash)) continue;
    exec::Team* team = nullptr;
    const char* detail = nullptr;
    const Status status = exec::Team::attach(file_of(with(at), bytes_), WaitKind::kAuto, 0, &team, &detail);
    EXPECT_EQ(status, Status::kMismatch) << "byte " << at - program_ << " of " << plan_bytes_;
    if (status == Status::kOk) team->release();
  }
}

}  // namespace
}  // namespace fermata
