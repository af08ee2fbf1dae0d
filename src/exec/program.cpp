// Bounds checks and the hash of compiled programs; shared by the compiler, teams and files.
#include "exec/program.hpp"

#include <stddef.h>

#include "base/kind.hpp"
#include "base/line.hpp"

namespace fermata {

std::uint64_t program_hash(const ProgramHeader& program) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&program);
  const std::size_t first = offsetof(ProgramHeader, hash) + sizeof program.hash;
  std::uint64_t h = 14695981039346656037u;
  for (std::size_t i = first; i < program.bytes; ++i) h = (h ^ bytes[i]) * 1099511628211u;
  return h;
}

namespace {

bool header_is_sound(const ProgramHeader& p, std::size_t available) {
  if (p.magic != kProgramMagic || p.version != kProgramVersion) return false;
  if (p.bytes > available || p.bytes < sizeof(ProgramHeader)) return false;
  if (p.members < 1 || p.members > kMaxMembers || p.kind >= kLineKindCount) return false;
  if (p.payload > kLinePayload || p.registers < 1 || p.registers > kMaxRegisters) return false;
  if (p.regions != 1 && p.regions != p.members) return false;
  if (p.roots != 1 && p.roots != p.regions) return false;
  if (p.line != kMinLine && p.line != kMaxLine) return false;
  if (p.region_bytes % kMaxLine != 0 || p.steps_offset % sizeof(Step) != 0) return false;
  if (p.programs_offset % alignof(MemberProgram) != 0) return false;
  if (std::uint64_t{p.programs_offset} + std::uint64_t{p.members} * p.roots * sizeof(MemberProgram) > p.bytes) return false;
  return std::uint64_t{p.steps_offset} + std::uint64_t{p.steps} * sizeof(Step) <= p.bytes;
}

// Jumps go forwards only: every program ends.
bool step_is_sound(const Step& s, std::uint32_t index, const MemberProgram& m, const ProgramHeader& p) {
  const bool jumps = s.code == Code::kAdd || s.code == Code::kJump;
  if (s.code > Code::kCreditGiveAway || s.reg >= p.registers || s.fold > Fold::kCopy) return false;
  if (jumps && (s.target <= index || s.target >= m.count)) return false;
  if (s.rings > 2 || (s.rings == 1 && s.door >= p.members)) return false;
  if (s.rings == 2 && (s.door % 8 != 0 || std::uint64_t{s.door} + 8 > p.region_bytes)) return false;
  const bool gives = s.code == Code::kCreditGive || s.code == Code::kCreditGiveAway;
  if (gives && (s.threshold == 0 || (s.threshold & (s.threshold - 1)) != 0)) return false;
  const bool waits = s.code == Code::kAwait || s.code == Code::kPoll || s.code == Code::kCreditAwait;
  if (waits && (s.pauses < 1 || s.pauses > kMostPauses)) return false;
  if ((s.code == Code::kSendAway || s.code == Code::kCreditGiveAway) && s.peer >= p.members) return false;
  if (s.code == Code::kEnd || s.code == Code::kJump) return true;
  if ((s.mask & (s.mask + 1)) != 0 || s.offset % 8 != 0 || s.stride % 8 != 0) return false;
  const std::uint64_t slot_bytes = 8 + round_up(p.payload, 8);
  return s.offset + std::uint64_t{s.mask} * s.stride + slot_bytes <= p.region_bytes;
}

}  // namespace

bool program_is_sound(const void* data, std::size_t available) {
  if (data == nullptr || available < sizeof(ProgramHeader)) return false;
  const ProgramHeader& p = *static_cast<const ProgramHeader*>(data);
  if (!header_is_sound(p, available)) return false;
  const auto* base = static_cast<const unsigned char*>(data);
  const auto* programs = reinterpret_cast<const MemberProgram*>(base + p.programs_offset);
  const auto* steps = reinterpret_cast<const Step*>(base + p.steps_offset);
  for (std::uint32_t r = 0; r < p.members * p.roots; ++r) {
    const MemberProgram& m = programs[r];
    if (m.count < 1 || std::uint64_t{m.first} + m.count > p.steps) return false;
    if (steps[m.first + m.count - 1].code != Code::kEnd) return false;
    for (std::uint32_t i = 0; i < m.count; ++i) {
      if (!step_is_sound(steps[m.first + i], i, m, p)) return false;
    }
  }
  return true;
}

namespace {

bool has_any(const ProgramHeader& program, Code one, Code other) {
  const auto* steps = reinterpret_cast<const Step*>(reinterpret_cast<const unsigned char*>(&program) + program.steps_offset);
  for (std::uint32_t i = 0; i < program.steps; ++i)
    if (steps[i].code == one || steps[i].code == other) return true;
  return false;
}

}  // namespace

bool has_words(const ProgramHeader& program) { return has_any(program, Code::kAdd, Code::kFlip); }
bool leaves_host(const ProgramHeader& program) { return has_any(program, Code::kSendAway, Code::kCreditGiveAway); }

}  // namespace fermata
