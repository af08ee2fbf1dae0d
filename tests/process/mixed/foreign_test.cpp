// A segment differs from the one that its creator laid out. A process that attaches or joins refuses it, and
// nothing runs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/line.hpp"
#include "exec/program.hpp"
#include "exec/segment_layout.hpp"
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

  // Finds the only memory of this process that has a team's name.
  bool map() {
    for (int fd = 3; fd < 256; ++fd) {
      char name[64] = {}, target[64] = {};
      std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
      struct stat file;
      if (readlink(name, target, sizeof target - 1) <= 0 || std::strstr(target, "memfd:fermata") == nullptr)
        continue;
      if (fstat(fd, &file) != 0) continue;
      bytes_ = static_cast<std::size_t>(file.st_size);
      void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (memory == MAP_FAILED) return false;
      memory_ = static_cast<char*>(memory);
      return true;
    }
    return false;
  }

  // Makes a file that begins with `content`.
  static int file_of(const std::string& content, std::size_t bytes) {
    const int file = memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(pwrite(file, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
    EXPECT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return file;
  }

  // Serves such a file as if it were a team's segment.
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

  // Whether such a file is accepted as a team's segment.
  Status try_out(const std::string& content) const { return try_out(content, bytes_); }
  Status try_out(const std::string& content, std::size_t bytes) const {
    exec::Team* team = nullptr;
    const char* detail = nullptr;
    const Status status = exec::Team::attach(file_of(content, bytes), nullptr, 0, &team, &detail);
    if (status == Status::kOk) team->release();
    return status;
  }

  // The other plans may lie after the first.
  void take_all_plans() {
    std::size_t end = image_.size();
    for (const exec::PlanEntry& entry : header().layout.plans)
      if (entry.program != 0)
        end = std::max(
            end, entry.program + reinterpret_cast<const ProgramHeader*>(memory_ + entry.program)->bytes);
    image_.assign(memory_, end);
  }

  // Sets the hash to the hash of a team with the image's plans.
  static void rehash(std::string& image) {
    auto& layout = *reinterpret_cast<exec::TeamLayout*>(image.data());
    layout.hash = layout.members;
    for (const exec::PlanEntry& entry : layout.plans)
      if (entry.program != 0)
        layout.hash = exec::with_plan(
            layout.hash, program_hash(*reinterpret_cast<const ProgramHeader*>(image.data() + entry.program)));
  }

  std::string with(std::size_t at) const {
    std::string changed = image_;
    changed.at(at) = static_cast<char>(changed.at(at) ^ 1);
    return changed;
  }

  fermata_team* team_ = nullptr;
  char* memory_ = nullptr;
  std::size_t bytes_ = 0, program_ = 0, plan_bytes_ = 0;
  std::string image_;  // up to the end of the first plan
};

TEST_F(Foreign, AMemberThatSeesAnotherProgramDoesNotJoin) {
  char& byte = memory_[program_ + plan_bytes_ - 1];
  fermata_member* member = nullptr;
  byte ^= 1;
  EXPECT_EQ(fermata_team_join(team_, 0, &member), FERMATA_ERR_MISMATCH);
  EXPECT_NE(std::string(fermata_error_detail()).find("plans in the team's segment have changed"),
            std::string::npos)
      << fermata_error_detail();
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

// A whole copy is accepted. A copy with any one byte of the program changed is refused.
TEST_F(Foreign, AnotherProgramIsRefused) {
  take_all_plans();
  ASSERT_EQ(attach(image_, bytes_), FERMATA_OK) << fermata_error_detail();
  EXPECT_EQ(attach(with(program_ + plan_bytes_ - 1), bytes_), FERMATA_ERR_MISMATCH);
  for (std::size_t at = program_; at < program_ + plan_bytes_; ++at) {
    // The check computes the hash anew and ignores the stored one.
    if (at - program_ - offsetof(ProgramHeader, hash) < sizeof(ProgramHeader::hash)) continue;
    EXPECT_EQ(try_out(with(at)), Status::kMismatch) << "byte " << at - program_ << " of " << plan_bytes_;
  }
}

struct Change {
  const char* what;
  std::function<void(exec::TeamLayout&)> of;
  Status expected = Status::kMismatch;
};

// Offsets and sizes in the image of the test below.
struct Measures {
  std::size_t most;         // bytes of the segment
  std::size_t regions;      // bytes of the first program's regions
  std::size_t window;       // where slots for other hosts begin, if there are any
  std::size_t copy, askew;  // copies of the first program; the second is not aligned to a line
};

std::vector<Change> changes_of_plans(const Measures& of) {
  return {
      {"nothing", [](exec::TeamLayout&) {}, Status::kOk},
      {"its magic number", [](auto& l) { ++l.magic; }},
      {"its version", [](auto& l) { ++l.version; }},
      {"no members", [](auto& l) { l.members = 0; }},
      {"too many members", [](auto& l) { l.members = kMaxTeamMembers + 1; }},
      {"other bytes", [](auto& l) { l.bytes += 4096; }},
      {"the program lies elsewhere", [=](auto& l) { l.plans[0].program = of.copy; }, Status::kOk},
      {"and not at a line", [=](auto& l) { l.plans[0].program = of.askew; }},
      {"it is outside", [=](auto& l) { l.plans[0].program = round_up(of.most, kMaxLine); }},
      {"it wraps", [](auto& l) { l.plans[0].program = ~std::uint64_t{0} - kMaxLine + 1; }},
      {"the last place for regions",
       [=](auto& l) { l.plans[0].regions = (of.most - of.regions) / kMaxLine * kMaxLine; }, Status::kOk},
      {"one line further",
       [=](auto& l) { l.plans[0].regions = (of.most - of.regions) / kMaxLine * kMaxLine + kMaxLine; }},
      {"regions not at a line", [](auto& l) { l.plans[0].regions += 8; }},
      {"regions that wrap", [](auto& l) { l.plans[0].regions = ~std::uint64_t{0} - kMaxLine + 1; }},
      {"a model at the end", [=](auto& l) { l.model = of.most - l.model_bytes; }, Status::kOk},
      {"and behind it", [=](auto& l) { l.model = of.most - l.model_bytes + 1; }},
      {"a refresh behind it", [=](auto& l) { l.refresh = of.most, l.refresh_bytes = 1; }},
  };
}

std::vector<Change> changes_of_memory(const Measures& of) {
  return {
      {"a wait policy that does not exist", [](auto& l) { l.wait = 4; }},
      {"the last one", [](auto& l) { l.wait = 3; }, Status::kOk},
      {"a negative time until a report", [](auto& l) { l.stall_ns = -1; }},
      {"no CPUs", [](auto& l) { l.usable_cpus = 0; }},
      {"CPUs that are no number", [](auto& l) { l.usable_cpus = std::numeric_limits<double>::quiet_NaN(); }},
      {"places elsewhere", [](auto& l) { l.places -= 4096; }},
      {"places not at a page", [](auto& l) { l.places += 8; }},
      {"places outside", [=](auto& l) { l.places = of.most + 4096; }},
      {"rings not at a page", [](auto& l) { l.rings += 8; }},
      {"rings elsewhere", [](auto& l) { l.rings += 4096; }},
      {"rings outside", [=](auto& l) { l.rings = of.most + 4096; }},
      {"rings of more lines", [](auto& l) { l.ring_lines *= 2; }},
      {"of a number of lines that is no power of two", [](auto& l) { l.ring_lines = 3; }},
      {"of very many lines", [](auto& l) { l.ring_lines = std::uint64_t{1} << 40; }},
      {"quarters of another size", [](auto& l) { l.in_quarter += 64; }},
      {"another heap", [](auto& l) { l.heap += 4096; }},
      {"a longer heap", [](auto& l) { l.heap_bytes += 4096; }},
      // Without rings, which are longer over several hosts.
      {"hosts not at a word", [](auto& l) { l.rings = 0, l.hosts = 2; }},
      {"hosts outside", [=](auto& l) { l.rings = 0, l.hosts = of.most; }},
      {"hosts without a window", [=](auto& l) { l.rings = 0, l.hosts = of.copy, l.window = 0; }},
      {"hosts at the end",
       [=](auto& l) { l.rings = 0, l.hosts = of.most - (l.members + 1) * 4, l.window = of.window; },
       Status::kOk},
      {"hosts one further",
       [=](auto& l) { l.rings = 0, l.hosts = of.most - l.members * 4, l.window = of.window; }},
      {"a window not at a line", [=](auto& l) { l.rings = 0, l.hosts = of.copy, l.window = of.most - 8; }},
      {"rings of one host in a team of several", [=](auto& l) { l.hosts = of.copy, l.window = of.window; }},
  };
}

// Each impossible offset or size is refused, though every program is whole.
TEST_F(Foreign, ALayoutThatCannotBeIsRefused) {
  take_all_plans();
  const std::string program = image_.substr(program_, plan_bytes_);
  const exec::TeamLayout& laid = header().layout;
  const auto* plan = reinterpret_cast<const ProgramHeader*>(memory_ + program_);
  Measures of{bytes_, std::size_t{plan->region_bytes} * plan->regions,
              round_up(exec::plans_offset(laid.members), kMaxLine), round_up(image_.size(), kMaxLine), 0};
  of.askew = round_up(of.copy + plan_bytes_, kMaxLine) + 8;
  image_.resize(of.askew + plan_bytes_);
  for (const std::size_t at : {of.copy, of.askew}) image_.replace(at, plan_bytes_, program);
  ASSERT_TRUE(laid.rings != 0 && laid.places != 0 && laid.heap_bytes != 0 && laid.model_bytes != 0);
  for (const auto& changes : {changes_of_plans(of), changes_of_memory(of)})
    for (const Change& change : changes) {
      std::string changed = image_;
      auto layout = laid;
      change.of(layout);
      memcpy(changed.data(), &layout, sizeof layout);
      EXPECT_EQ(try_out(changed), change.expected) << change.what;
    }
}

// A segment without a plan does not say how many members it is for. It must have room for their states at
// least.
TEST_F(Foreign, MoreMembersThanThereIsRoomForAreRefused) {
  exec::TeamLayout layout = header().layout;
  layout.members = kMaxTeamMembers;
  layout.hash = layout.members;
  layout.rings = layout.model = layout.model_bytes = layout.refresh = layout.refresh_bytes = 0;
  for (exec::PlanEntry& entry : layout.plans) entry.program = 0;
  const std::size_t enough = round_up(exec::plans_offset(kMaxTeamMembers), std::size_t{4096});
  for (const std::size_t bytes : {enough, enough - 4096}) {
    layout.bytes = bytes;
    layout.places = bytes - round_up(sizeof(exec::PlaceTable), std::size_t{4096});
    std::string changed = image_.substr(0, sizeof(exec::TeamHeader));
    memcpy(changed.data(), &layout, sizeof layout);
    EXPECT_EQ(try_out(changed, bytes), bytes == enough ? Status::kOk : Status::kMismatch) << bytes;
  }
}

// Programs that send to other hosts are refused in a team of one host, even with a valid hash.
TEST_F(Foreign, AProgramThatLeavesTheHostIsRefused) {
  take_all_plans();
  std::string changed = image_;
  auto* const program = reinterpret_cast<ProgramHeader*>(changed.data() + program_);
  auto* const steps = reinterpret_cast<Step*>(changed.data() + program_ + program->steps_offset);
  ASSERT_EQ(steps[0].code, Code::kSend);
  rehash(changed);
  EXPECT_EQ(try_out(changed), Status::kOk);
  steps[0].code = Code::kSendAway;
  rehash(changed);
  EXPECT_EQ(try_out(changed), Status::kMismatch);
}

// A slot is refused if its program is for another collective or payload, even if that program is valid.
TEST_F(Foreign, AProgramOfAnotherSlotIsRefused) {
  take_all_plans();
  for (std::uint32_t a = 0; a < exec::kPlanSlots; ++a)
    for (std::uint32_t b = 0; b < exec::kPlanSlots; ++b) {
      std::string changed = image_;
      auto& plans = reinterpret_cast<exec::TeamLayout*>(changed.data())->plans;
      ASSERT_NE(plans[b].program, 0u) << b;
      plans[a].program = plans[b].program;
      rehash(changed);
      // A program for the larger payload of the same collective also carries the smaller one.
      const exec::SlotUse &wanted = exec::kSlotUses[a], &has = exec::kSlotUses[b];
      const bool serves = wanted.collective == has.collective && wanted.payload <= has.payload;
      if (a == b || !serves) {
        EXPECT_EQ(try_out(changed), a == b ? Status::kOk : Status::kMismatch) << a << ", " << b;
      }
    }
}

}  // namespace
}  // namespace fermata
