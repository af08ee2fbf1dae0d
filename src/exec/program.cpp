// Bounds checks and the hash of compiled programs. The compiler, teams and files share them.
#include "exec/program.hpp"

#include <stddef.h>
#include <string.h>

#include "base/collective.hpp"
#include "base/line.hpp"

namespace fermata {

std::uint64_t program_hash(const ProgramHeader& program) { return program_hash(&program, program.bytes); }

std::uint64_t program_hash(const void* blob, std::uint32_t length) {
  const auto* bytes = static_cast<const unsigned char*>(blob);
  const std::size_t first = offsetof(ProgramHeader, hash) + sizeof(ProgramHeader::hash);
  std::uint64_t h = 14695981039346656037u;
  for (std::size_t i = first; i < length; ++i) h = (h ^ bytes[i]) * 1099511628211u;
  return h;
}

namespace {

// Reads a T from memory to which others can write. The compiler must not read it again after a check.
template <class T>
T read_once(const void* from) {
  T value;
  memcpy(&value, from, sizeof value);
  asm volatile("" : "+m"(value));
  return value;
}

bool header_is_sound(const ProgramHeader& p, std::size_t available) {
  if (p.magic != kProgramMagic || p.version != kProgramVersion) return false;
  if (p.bytes > available || p.bytes < sizeof(ProgramHeader)) return false;
  if (p.members < 1 || p.members > kMaxMembers || p.collective >= kLineCollectiveCount) return false;
  if (p.payload > kLinePayload || p.registers < 1 || p.registers > kMaxRegisters) return false;
  if (p.regions != 1 && p.regions != p.members) return false;
  if (p.roots != 1 && p.roots != p.regions) return false;
  if (p.line != kMinLine && p.line != kMaxLine) return false;
  if (p.region_bytes % kMaxLine != 0 || p.steps_offset % sizeof(Step) != 0) return false;
  if (p.programs_offset % alignof(MemberProgram) != 0) return false;
  if (std::uint64_t{p.programs_offset} + std::uint64_t{p.members} * p.roots * sizeof(MemberProgram) > p.bytes)
    return false;
  return std::uint64_t{p.steps_offset} + std::uint64_t{p.steps} * sizeof(Step) <= p.bytes;
}

// Jumps go only forwards, so every program ends.
bool step_is_sound(const Step& s, std::uint32_t index, std::uint32_t count, const ProgramHeader& p) {
  const bool jumps = s.code == Code::kAdd || s.code == Code::kJump;
  if (s.code > Code::kCreditGiveAway || s.reg >= p.registers || s.fold > Fold::kCopy) return false;
  if (jumps && (s.target <= index || s.target >= count)) return false;
  if (s.rings > 2 || (s.rings == 1 && s.door >= p.members)) return false;
  if (s.rings == 2 && (s.door % 8 != 0 || std::uint64_t{s.door} + kDoorBytes > p.region_bytes)) return false;
  const bool gives = s.code == Code::kCreditGive || s.code == Code::kCreditGiveAway;
  if (gives && (s.threshold == 0 || (s.threshold & (s.threshold - 1)) != 0)) return false;
  const bool waits = s.code == Code::kAwait || s.code == Code::kPoll || s.code == Code::kCreditAwait;
  if (waits && (s.pauses < 1 || s.pauses > kMostPauses)) return false;
  if (s.code == Code::kAwait && s.delay != 0) return false;
  // a wait parks at `door` even if nobody rings it
  if (waits && s.rings == 0 && (s.door % 8 != 0 || std::uint64_t{s.door} + kDoorBytes > p.region_bytes))
    return false;
  const bool has_word = s.code == Code::kAdd || s.code == Code::kPoll || s.code == Code::kFlip;
  if (!has_word && s.code != Code::kEnd && s.code != Code::kJump && s.peer >= p.members) return false;
  if (s.code == Code::kEnd || s.code == Code::kJump) return true;
  if (s.mask >= kMostSlots || (s.mask & (s.mask + 1)) != 0 || s.offset % 8 != 0 || s.stride % 8 != 0)
    return false;
  const std::uint64_t slot_bytes = 8 + round_up(p.payload, 8);
  return s.offset + std::uint64_t{s.mask} * s.stride + slot_bytes <= p.region_bytes;
}

}  // namespace

std::uint32_t copy_steps(const void* blob, const ProgramHeader& p, std::uint32_t index, Step* to,
                         std::uint32_t room) {
  const auto* base = static_cast<const unsigned char*>(blob);
  const auto m =
      read_once<MemberProgram>(base + p.programs_offset + std::size_t{index} * sizeof(MemberProgram));
  if (m.count < 1 || std::uint64_t{m.first} + m.count > p.steps || (to != nullptr && m.count > room))
    return 0;
  const unsigned char* const steps = base + p.steps_offset + std::size_t{m.first} * sizeof(Step);
  Code last = Code::kEnd;
  for (std::uint32_t i = 0; i < m.count; ++i) {
    const auto step = read_once<Step>(steps + std::size_t{i} * sizeof(Step));
    if (!step_is_sound(step, i, m.count, p)) return 0;
    if (to != nullptr) to[i] = step;
    last = step.code;
  }
  return last == Code::kEnd ? m.count : 0;
}

bool program_is_sound(const void* data, std::size_t available, ProgramHeader* header) {
  if (data == nullptr || available < sizeof(ProgramHeader)) return false;
  const auto p = read_once<ProgramHeader>(data);
  if (!header_is_sound(p, available)) return false;
  for (std::uint32_t r = 0; r < p.members * p.roots; ++r)
    if (copy_steps(data, p, r, nullptr, 0) == 0) return false;
  if (header != nullptr) *header = p;
  return true;
}

namespace {

bool has_any(const void* blob, const ProgramHeader& header, Code one, Code other) {
  const auto* steps =
      reinterpret_cast<const Step*>(static_cast<const unsigned char*>(blob) + header.steps_offset);
  for (std::uint32_t i = 0; i < header.steps; ++i)
    if (steps[i].code == one || steps[i].code == other) return true;
  return false;
}

}  // namespace

bool has_words(const void* blob, const ProgramHeader& header) {
  return has_any(blob, header, Code::kAdd, Code::kFlip);
}
bool leaves_host(const void* blob, const ProgramHeader& header) {
  return has_any(blob, header, Code::kSendAway, Code::kCreditGiveAway);
}

}  // namespace fermata
