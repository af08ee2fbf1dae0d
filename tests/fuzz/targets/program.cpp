// Compiled programs, which members map from a file. In an accepted program every offset is inside the region,
// every jump target is inside the program, and every walk between two waits ends. A proved program must give
// the right result.
#include <atomic>
#include <cstring>
#include <vector>

#include "../../lockstep.hpp"
#include "../target.hpp"
#include "exec/cursor.hpp"
#include "exec/program.hpp"
#include "exec/proof/proof.hpp"

namespace {

using namespace fermata;

constexpr std::uint32_t kMaxRegion = 1 << 20;
constexpr std::uint32_t kMaxWalked = 64;
constexpr std::uint32_t kMaxExecuted = 16;

// A region that checks every access.
struct CheckedMemory {
  using Counter = std::atomic<std::uint64_t>;
  std::vector<std::uint64_t> words;
  const ProgramHeader* program;

  std::uint64_t* at(std::uint64_t offset) {
    if (offset % 8 != 0 || offset / 8 >= words.size())
      fuzz::fail("a sound program leaves its region", std::to_string(offset));
    return &words[offset / 8];
  }
  Counter& header(std::uint32_t offset) { return *reinterpret_cast<Counter*>(at(offset)); }
  Counter& word(std::uint32_t offset) { return header(offset); }
  Counter& credit(std::uint32_t offset) { return header(offset); }
  std::uint64_t& payload(std::uint32_t slot, std::uint32_t i) {
    return *at(std::uint64_t{slot} + 8 + std::uint64_t{i} * 8);
  }
  void ring(const Step& step) {
    if (step.rings == 1 && step.door >= program->members) fuzz::fail("rings a member that is not", "");
    if (step.rings == 2) (void)at(step.door);
  }
  // Carries to the same region, as if it belonged to the other host.
  void carry(const Step& step, std::uint32_t offset, std::uint64_t bits, std::uint32_t carried,
             const std::uint64_t* from) {
    if (step.peer >= program->members) fuzz::fail("goes to a member that is not", "");
    for (std::uint32_t i = 0; i < carried; ++i) payload(offset, i) = from[i];
    header(offset).store(bits, std::memory_order_relaxed);  // order: one thread
  }
};

Status add(void* to, const std::uint64_t* left, const std::uint64_t* right, std::uint32_t words) {
  for (std::uint32_t i = 0; i < words; ++i) static_cast<std::uint64_t*>(to)[i] = left[i] + right[i];
  return Status::kOk;
}

// Runs a set of programs, one member after the other, as long as any member makes progress. A program that
// nobody can finish is for the proof to find; this walk checks bounds only.
void walk(const unsigned char* blob, const ProgramHeader& program, std::uint32_t root) {
  CheckedMemory memory{std::vector<std::uint64_t>(program.region_bytes / 8), &program};
  const auto* members =
      reinterpret_cast<const MemberProgram*>(blob + program.programs_offset) + root * program.members;
  const auto* steps = reinterpret_cast<const Step*>(blob + program.steps_offset);
  const Carried carried{.words = (program.payload + 7) / 8, .folds = {.line = add}};
  std::uint64_t registers[kMaxRegisters][kPayloadWords] = {};
  std::vector<Cursor<RealAtomics, CheckedMemory>> cursors(program.members);
  for (std::uint64_t episode = 1; episode <= 3; ++episode) {
    std::vector<const Step*> last(program.members, nullptr);
    const auto word = [&](std::uint32_t i) { return registers[0][i]; };
    for (std::uint32_t r = 0; r < program.members; ++r) {
      if (program.payload > 0)
        cursors[r].start<Load::kWords>(memory, steps + members[r].first, episode, episode % 3, carried.words,
                                       word);
      else cursors[r].start<Load::kNothing>(memory, steps + members[r].first, episode, episode % 3, 0, word);
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t r = 0; r < program.members; ++r) {
        const bool done = program.payload > 0
                              ? cursors[r].advance<Load::kWords>(memory, carried, registers, 0)
                              : cursors[r].advance<Load::kNothing>(memory, carried, registers, 0);
        const Step* now = done ? steps + members[r].first + members[r].count : &cursors[r].at();
        moved |= now != last[r] && !done;
        last[r] = now;
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint64_t> aligned((size + 31) / 8 + 4);
  auto* blob = reinterpret_cast<unsigned char*>(aligned.data());
  while (reinterpret_cast<std::uintptr_t>(blob) % 32 != 0) blob += 8;
  if (size > 0) std::memcpy(blob, data, size);
  if (!program_is_sound(blob, size)) return -1;
  const auto& program = *reinterpret_cast<const ProgramHeader*>(blob);
  (void)program_hash(program);
  const bool small = program.region_bytes <= kMaxRegion && program.members <= kMaxWalked;
  for (std::uint32_t root = 0; small && root < program.roots; ++root) walk(blob, program, root);
  if (small && program.members <= kMaxExecuted && exec::prove_program(program)) {
    const test::Wrong wrong = test::execute(reinterpret_cast<const std::byte*>(blob), size, 5, 5);
    if (!wrong.empty()) fuzz::fail("a proved program goes wrong", wrong);
  }
  return 0;
}
