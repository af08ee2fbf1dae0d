// The compiled form of a plan: position-independent plain data (offsets, no pointers, no virtual calls) that any cursor can
// walk: a thread, a process that maps it, a GPU block. One blob per plan:
//
//   ProgramHeader | MemberProgram[roots x members] | Step[...]
//
// and, elsewhere in the team's segment, `regions` copies of a region of region_bytes that slots, words and doors lie
// in (one copy per root for rooted collectives, else one). Offsets in steps are from the start of a region. On one host a rooted
// collective has one set of programs, which other roots run with ranks exchanged; over several hosts, where it matters who is
// beside whom, it has a set for each root.
#ifndef FERMATA_EXEC_PROGRAM_HPP
#define FERMATA_EXEC_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fermata {

inline constexpr std::uint32_t kProgramMagic = 0x464d5450;  // "FMTP"
inline constexpr std::uint32_t kProgramVersion = 3;

enum class Code : std::uint8_t {
  kEnd = 0,         // the episode is over for this member
  kSend,            // write register `reg` and the header of my slot at the receiver; ring its door
  kAwait,           // the slot has this episode: fold it into register `reg`
  kAdd,             // add 1 to a word; if that completes it go on at `target`, else at the next step
  kPoll,            // the word has reached threshold x episode
  kFlip,            // set a phase word to this episode; ring the word's door
  kCreditAwait,     // the receiver has read episode - slots: the slot that the next kSend writes is free
  kCreditGive,      // tell the sender that this episode was read (every `threshold` episodes, a power of two)
  kJump,            // go on at `target`
  kSendAway,        // kSend to a member on another host: by the process's port (net/net.hpp)
  kCreditGiveAway,  // kCreditGive likewise
};

enum class Fold : std::uint8_t { kNone = 0, kCombineLeft, kCombineRight, kCopy };

inline constexpr std::uint32_t kNoDoor = 0xffffffffu;
inline constexpr std::uint32_t kMostPauses = 64;
inline constexpr std::uint32_t kMostSlots = 1024;

// 32 bytes, so that two share a line and none straddles one.
struct Step {
  Code code;
  std::uint8_t reg;  // register sent from, or folded into
  Fold fold;
  std::uint8_t rings;       // 1: `door` is a member's (its rank); 2: an offset in the region; 0: nobody parks on this
  std::uint32_t offset;     // of the edge's slot 0, the word, or the credit
  std::uint32_t stride;     // bytes from one slot of the edge to the next
  std::uint32_t mask;       // slots - 1
  std::uint32_t threshold;  // kAdd, kPoll: adds per episode; kCreditAwait: slots; kCreditGive: batch
  union {
    std::uint32_t target;  // kAdd, kJump: index of a step of the same member
    std::uint32_t pauses;  // kAwait, kPoll, kCreditAwait: between two looks, at least 1
  };
  std::uint32_t door;
  std::uint32_t peer;  // the other end, a member's rank, or members + word (reports and traces)
};
static_assert(sizeof(Step) == 32 && std::is_trivially_copyable_v<Step>);

struct MemberProgram {
  std::uint32_t first = 0;  // index of the first step in the blob's step array
  std::uint32_t count = 0;
};

struct ProgramHeader {
  std::uint32_t magic = kProgramMagic;
  std::uint32_t version = kProgramVersion;
  std::uint64_t hash = 0;   // of everything behind this field; members compare it before first use
  std::uint32_t bytes = 0;  // of the whole blob
  std::uint32_t members = 0;
  std::uint32_t kind = 0;       // fermata::Kind
  std::uint32_t payload = 0;    // bytes that slots can carry; 0: none
  std::uint32_t registers = 1;  // 1..kMaxRegisters
  std::uint32_t line = 64;
  std::uint32_t region_bytes = 0;  // multiple of 128
  std::uint32_t regions = 1;       // 1, or members for rooted collectives
  std::uint32_t steps = 0;
  std::uint32_t programs_offset = 0;  // of MemberProgram[members]
  std::uint32_t steps_offset = 0;     // of Step[steps], 32-byte aligned
  std::uint32_t idempotent = 0;       // contributions may come more than once: refuse other operators
  std::uint32_t roots = 1;            // sets of programs: 1, or members
  std::uint32_t reserved = 0;         // all bytes are hashed: none is padding
  char algorithm[64] = {};            // for reports
  char layout[32] = {};
};
static_assert(std::is_trivially_copyable_v<ProgramHeader> && std::has_unique_object_representations_v<ProgramHeader>);

inline constexpr std::uint32_t kMaxRegisters = 8;
inline constexpr std::uint32_t kMaxMembers = 4096;

// FNV-1a over a compiled blob behind its hash field; what the compiler writes there. The second one reads no length from the blob, which
// may lie where others write.
std::uint64_t program_hash(const ProgramHeader& program);
std::uint64_t program_hash(const void* blob, std::uint32_t bytes);
// A blob that may come from a file, or lie where others write: every offset, count and index within bounds, every jump forwards. False:
// refuse it. `header` becomes the header as it was checked.
bool program_is_sound(const void* blob, std::size_t available_bytes, ProgramHeader* header = nullptr);
// One member's steps, of a blob with that header, copied out and checked again: whoever writes to the blob changes nothing of what runs.
// index: of its programs. Returns how many there are, 0 if they are not sound; to: null, or has room for as many as were returned before.
std::uint32_t copy_steps(const void* blob, const ProgramHeader& header, std::uint32_t index, Step* to, std::uint32_t room);
// Of a sound one: some of its signals are adds to words, or flips, which carry nothing.
bool has_words(const void* blob, const ProgramHeader& header);
// Of a sound one: some go to other hosts.
bool leaves_host(const void* blob, const ProgramHeader& header);

}  // namespace fermata
#endif
