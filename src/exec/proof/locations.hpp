// Where slots, words, credits and doors lie in a region, according to the steps of a set of programs. They
// must not overlap.
#ifndef FERMATA_EXEC_PROOF_LOCATIONS_HPP
#define FERMATA_EXEC_PROOF_LOCATIONS_HPP

#include <cstdint>

#include "exec/program.hpp"
#include "exec/proof/proof.hpp"
#include "exec/proof/scratch.hpp"

namespace fermata::exec::proof {

inline constexpr std::uint32_t kNone = 0xffffffffu;

constexpr bool gives(Code code) { return code == Code::kCreditGive || code == Code::kCreditGiveAway; }

// One set of programs: a program for each member.
struct ProgramSet {
  const ProgramHeader& header;
  const MemberProgram* programs;
  const Step* all_steps;
  std::uint32_t root;

  ProgramSet(const ProgramHeader& program, std::uint32_t of_root)
      : header(program),
        programs(reinterpret_cast<const MemberProgram*>(reinterpret_cast<const std::byte*>(&program) +
                                                        program.programs_offset) +
                 std::size_t{of_root} * program.members),
        all_steps(reinterpret_cast<const Step*>(reinterpret_cast<const std::byte*>(&program) +
                                                program.steps_offset)),
        root(of_root) {}
  const Step* steps(std::uint32_t member) const { return all_steps + programs[member].first; }
  std::uint32_t count(std::uint32_t member) const { return programs[member].count; }
};

struct Location {
  enum class Use : std::uint8_t { kSlot, kWord, kCredit, kDoor };
  Use use = Use::kSlot;
  std::uint8_t rings = 0;
  std::uint32_t offset = 0;
  std::uint32_t stride = 0;
  std::uint32_t mask = 0;
  std::uint32_t threshold = 0;  // of a word; for a credit: its batch
  std::uint32_t door = 0;
  Code code = Code::kEnd;    // of the step that signals here
  std::uint32_t writer = 0;  // the member that signals here (of a word: the first one found), and its step
  std::uint32_t step = 0;
  std::uint32_t peer = 0;     // the receiver, if the signal leaves the host
  std::uint32_t signals = 0;  // steps per episode that signal here: several for a word
  std::uint32_t waits = 0;    // steps that wait here
};

class Locations {
 public:
  Locations(const ProgramHeader& header, const ProofTerms& terms, Scratch& scratch)
      : header_(header), terms_(terms), scratch_(scratch) {}
  // False: no memory. `most`: at least the number of places, including doors.
  bool prepare(std::size_t most);

  std::uint32_t count() const { return count_; }
  Location& operator[](std::uint32_t index) { return locations_[index]; }
  const Location& operator[](std::uint32_t index) const { return locations_[index]; }
  std::uint32_t find(std::uint32_t offset) const;  // or kNone

  // Records a step that signals. The first such step creates its place. Returns null, or why the step is not
  // allowed.
  const char* signal(const Step& step, std::uint32_t member, std::uint32_t index, std::uint32_t* location);
  // Checks a step that waits, with the same result. Call it after all signals are known.
  const char* wait(const Step& step, std::uint32_t member, std::uint32_t* location) const;
  // Checks a step that uses a word. All members that use it must share memory with its first writer.
  const char* use_word(const Step& step, std::uint32_t member) const;

 private:
  bool claim(std::uint64_t offset, std::uint64_t bytes);
  const char* claim_all(const Location& location);
  std::uint32_t add(const Location& location);
  const char* claim_door(const Step& step);
  bool share_memory(std::uint32_t a, std::uint32_t b) const {
    return terms_.hosts == nullptr || terms_.hosts[a] == terms_.hosts[b];
  }

  const ProgramHeader& header_;
  const ProofTerms& terms_;
  Scratch& scratch_;
  std::uint64_t* claimed_ = nullptr;  // a bit for each 8 bytes of the region
  Location* locations_ = nullptr;
  std::uint32_t* table_ = nullptr;  // by offset; holds index + 1
  std::uint32_t count_ = 0;
  std::uint32_t table_mask_ = 0;
};

// The proof of programs that carry data: slots and credits, no branches.
Proof prove_data(const ProgramSet& set, const ProofTerms& terms, Scratch& scratch);
// The proof of programs that carry no data: a barrier of slots and words.
Proof prove_words(const ProgramSet& set, const ProofTerms& terms, Scratch& scratch);

}  // namespace fermata::exec::proof
#endif
