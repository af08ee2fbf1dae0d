// For each field of a compiled program, the last good value is accepted and the first bad one is refused.
#include "exec/program.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/line.hpp"

namespace fermata {
namespace {

constexpr std::uint32_t kMembers = 2, kSteps = 9, kRegion = 4 * kMaxLine;

// The first member has one step of each sort, the second one only its end.
struct Program {
  ProgramHeader header;
  MemberProgram members[kMembers], elsewhere[kMembers + 1];
  alignas(sizeof(Step)) Step steps[kSteps + 1];
};
constexpr std::uint32_t kSend = 0, kAwait = 1, kAdd = 2, kPoll = 3, kFlip = 4, kCreditAwait = 5,
                        kCreditGive = 6, kJump = 7, kEnd = 8;

Program sound() {
  Program p{};
  p.header.bytes = sizeof p;
  p.header.members = kMembers;
  p.header.payload = 8;
  p.header.registers = 2;
  p.header.region_bytes = kRegion;
  p.header.steps = kSteps + 1;
  p.header.programs_offset = offsetof(Program, members);
  p.header.steps_offset = offsetof(Program, steps);
  p.members[0] = {0, kSteps};
  p.members[1] = {kSteps, 1};
  const Code codes[kSteps] = {Code::kSend,        Code::kAwait,      Code::kAdd,  Code::kPoll, Code::kFlip,
                              Code::kCreditAwait, Code::kCreditGive, Code::kJump, Code::kEnd};
  for (std::uint32_t i = 0; i < kSteps; ++i) {
    p.steps[i].code = codes[i];
    p.steps[i].threshold = codes[i] == Code::kAwait ? 0 : 1;
    p.steps[i].pauses = 1;
  }
  p.steps[kAdd].target = kJump;
  p.steps[kJump].target = kEnd;
  return p;
}

bool is_taken(const std::function<void(Program&)>& change, std::size_t available = sizeof(Program)) {
  Program p = sound();
  change(p);
  return program_is_sound(&p, available);
}

struct Bound {
  const char* name;
  std::function<void(Program&)> good, bad;
};
#define BOUND(field, last, first)                                                   \
  Bound {                                                                           \
    #field, [](Program& p) { p.field = last; }, [](Program& p) { p.field = first; } \
  }

TEST(Program, IsTakenUpToItsBounds) {
  ASSERT_TRUE(is_taken([](Program&) {}));
  constexpr std::uint32_t kSlot = 16;  // header and payload
  const std::vector<Bound> bounds = {
      BOUND(header.magic, kProgramMagic, kProgramMagic + 1),
      BOUND(header.version, kProgramVersion, kProgramVersion + 1),
      BOUND(header.bytes, sizeof(Program), sizeof(Program) + 1),
      BOUND(header.collective, kLineCollectiveCount - 1, kLineCollectiveCount),
      BOUND(header.payload, kLinePayload, kLinePayload + 1),
      BOUND(header.registers, kMaxRegisters, kMaxRegisters + 1),
      BOUND(header.registers, 1, 0),
      BOUND(header.regions, kMembers, kMembers + 1),
      BOUND(header.regions, 1, 0),
      BOUND(header.roots, 1, 2),
      BOUND(header.line, kMinLine, kMinLine + 1),
      BOUND(header.line, kMaxLine, kMaxLine + 1),
      BOUND(header.region_bytes, kRegion + kMaxLine, kRegion + kMaxLine / 2),
      BOUND(header.steps, kSteps + 1, kSteps + 2),
      BOUND(header.steps_offset, offsetof(Program, steps), offsetof(Program, steps) + sizeof(Step)),
      BOUND(header.steps_offset, offsetof(Program, steps), offsetof(Program, steps) - 4),
      BOUND(header.programs_offset, offsetof(Program, members), offsetof(Program, members) + 2),
      BOUND(header.programs_offset, offsetof(Program, members), sizeof(Program) - 8),
      BOUND(members[0].count, kSteps, kSteps + 2),
      BOUND(members[1].count, 1, 0),
      BOUND(members[1].first, kSteps, kSteps + 1),
      BOUND(members[0].count, kSteps, kSteps - 1),  // the last step is not an end
      BOUND(steps[kSend].code, Code::kSendAway,
            static_cast<Code>(static_cast<int>(Code::kCreditGiveAway) + 1)),
      BOUND(steps[kSend].reg, 1, 2),
      BOUND(steps[kAwait].fold, Fold::kCopy, static_cast<Fold>(static_cast<int>(Fold::kCopy) + 1)),
      BOUND(steps[kAdd].target, kSteps - 1, kSteps),
      BOUND(steps[kAdd].target, kAdd + 1, kAdd),
      BOUND(steps[kJump].target, kEnd, kJump),
      BOUND(steps[kSend].rings, 2, 3),
      BOUND(steps[kCreditGive].threshold, 2, 3),
      BOUND(steps[kCreditGive].threshold, 1, 0),
      BOUND(steps[kAwait].pauses, kMostPauses, kMostPauses + 1),
      BOUND(steps[kAwait].delay, 0, 1),
      BOUND(steps[kPoll].pauses, kMostPauses, kMostPauses + 1),
      BOUND(steps[kCreditAwait].pauses, 1, 0),
      BOUND(steps[kSend].peer, kMembers - 1, kMembers),
      BOUND(steps[kAwait].mask, 3, 2),
      BOUND(steps[kAwait].offset, kRegion - kSlot, kRegion - kSlot + 8),
      BOUND(steps[kFlip].offset, 8, 4),
      BOUND(steps[kAwait].stride, 8, 4),
  };
  for (const Bound& bound : bounds) {
    EXPECT_TRUE(is_taken(bound.good)) << bound.name;
    EXPECT_FALSE(is_taken(bound.bad)) << bound.name;
  }
}

TEST(Program, IsTakenUpToItsBoundsInSeveralFields) {
  const auto rings = [](std::uint8_t how, std::uint32_t door) {
    return is_taken([=](Program& p) { p.steps[kSend].rings = how, p.steps[kSend].door = door; });
  };
  EXPECT_TRUE(rings(0, kNoDoor) && rings(1, kMembers - 1) && rings(2, kRegion - 16));
  EXPECT_FALSE(rings(1, kMembers) || rings(2, kRegion - 8) || rings(2, kRegion - 20));
  const auto slots = [](std::uint32_t mask, std::uint32_t stride, std::uint32_t offset) {
    return is_taken([=](Program& p) {
      p.steps[kAwait].mask = mask, p.steps[kAwait].stride = stride, p.steps[kAwait].offset = offset;
    });
  };
  EXPECT_TRUE(slots(3, 128, 112));
  EXPECT_FALSE(slots(3, 128, 120) || slots(3, 136, 112) || slots(0xffffffffu, 0xfffffff8u, 0));
  EXPECT_TRUE(slots(kMostSlots - 1, 0, 0));
  EXPECT_FALSE(slots(2 * kMostSlots - 1, 0, 0));  // a proof runs as many episodes
  const auto lies_at = [](std::size_t offset) {
    return is_taken([=](Program& p) {
      std::memcpy(reinterpret_cast<std::byte*>(&p) + offset, p.members, sizeof p.members);
      p.header.programs_offset = static_cast<std::uint32_t>(offset);
    });
  };
  EXPECT_TRUE(lies_at(offsetof(Program, elsewhere)) &&
              lies_at(offsetof(Program, elsewhere) + alignof(MemberProgram)));
  EXPECT_FALSE(lies_at(offsetof(Program, elsewhere) + alignof(MemberProgram) / 2));
  // A set of programs with one for each root needs a region for each root.
  EXPECT_FALSE(is_taken([](Program& p) { p.header.roots = kMembers; }));
  EXPECT_FALSE(is_taken([](Program& p) { p.header.members = 0; }));
  EXPECT_FALSE(is_taken([](Program& p) { p.header.members = kMaxMembers + 1; }));
  // Steps on words have no peer, and neither have jumps and ends.
  for (const std::uint32_t step : {kAdd, kPoll, kFlip, kJump, kEnd})
    EXPECT_TRUE(is_taken([=](Program& p) { p.steps[step].peer = kMembers + 7; })) << step;
  for (const std::uint32_t step : {kSend, kAwait, kCreditAwait, kCreditGive})
    EXPECT_FALSE(is_taken([=](Program& p) { p.steps[step].peer = kMembers; })) << step;
  for (const std::uint32_t step : {kSend, kFlip, kCreditGive})
    EXPECT_TRUE(is_taken([=](Program& p) { p.steps[step].pauses = 0; })) << step;
}

TEST(Program, IsNoLongerThanWhatIsThere) {
  EXPECT_TRUE(is_taken([](Program&) {}, sizeof(Program) + 1));
  EXPECT_FALSE(is_taken([](Program&) {}, sizeof(Program) - 1));
  EXPECT_FALSE(is_taken([](Program&) {}, sizeof(ProgramHeader) - 1));
  EXPECT_FALSE(is_taken([](Program& p) { p.header.bytes = sizeof(ProgramHeader) - 1; }));
  EXPECT_FALSE(program_is_sound(nullptr, sizeof(Program)));
}

TEST(Program, IsCopiedOutAsFarAsThereIsRoom) {
  const Program p = sound();
  Step to[kSteps + 1];
  to[kSteps].offset = 77;
  EXPECT_EQ(copy_steps(&p, p.header, 0, nullptr, 0), kSteps);
  EXPECT_EQ(copy_steps(&p, p.header, 0, to, kSteps), kSteps);
  EXPECT_EQ(memcmp(to, p.steps, kSteps * sizeof(Step)), 0);
  EXPECT_EQ(to[kSteps].offset, 77u);
  EXPECT_EQ(copy_steps(&p, p.header, 0, to, kSteps - 1), 0u);
  EXPECT_EQ(copy_steps(&p, p.header, 1, to, 1), 1u);
}

TEST(Program, SaysWhatItHas) {
  Program p = sound();
  EXPECT_TRUE(has_words(&p, p.header));
  EXPECT_FALSE(leaves_host(&p, p.header));
  for (const std::uint32_t word : {kAdd, kFlip}) {
    Program one = p;
    one.steps[kAdd].code = one.steps[kFlip].code = Code::kEnd;
    EXPECT_FALSE(has_words(&one, one.header));
    one.steps[word].code = p.steps[word].code;
    EXPECT_TRUE(has_words(&one, one.header)) << word;
  }
  for (const Code away : {Code::kSendAway, Code::kCreditGiveAway}) {
    Program one = p;
    one.steps[kSend].code = away;
    EXPECT_TRUE(leaves_host(&one, one.header));
  }
}

}  // namespace
}  // namespace fermata
