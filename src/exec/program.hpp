// The compiled form of a plan. It is position-independent plain data: offsets, no pointers, no virtual calls.
// Any thread that has it in memory can run it with a cursor (exec/cursor.hpp). Each plan has one blob:
//
//   ProgramHeader | MemberProgram[roots x members] | Step[...]
//
// Slots, words, credits and the doors of words and published lines lie elsewhere in the team's segment: in
// `regions` copies of a region of region_bytes. A rooted collective has one region per root, any other
// collective has one region.
// Offsets in steps count from the start of a region. The doors of members lie outside the regions.
//
// On one host a rooted collective has one set of programs; for other roots two members exchange their ranks.
// Over several hosts it has a set for each root, because the plan depends on which members share a host.
#ifndef FERMATA_EXEC_PROGRAM_HPP
#define FERMATA_EXEC_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fermata {

inline constexpr std::uint32_t kProgramMagic = 0x464d5450;  // "FMTP"
inline constexpr std::uint32_t kProgramVersion = 3;

enum class Code : std::uint8_t {
  kEnd = 0,  // the member's part of the episode is done
  kSend,     // write register `reg` and the header of a slot, then ring the doorbell
  kAwait,    // wait until the slot has this episode; take its payload into register `reg`, as `fold` says
  // add 1 to a word; if that completes the word, ring its doorbell and go on at `target`, else at the next
  // step
  kAdd,
  kPoll,            // wait until the word has reached threshold x episode
  kFlip,            // set a phase word to this episode; ring the word's doorbell
  kCreditAwait,     // wait until the receiver has read episode - slots, so the next kSend has a free slot
  kCreditGive,      // tell the sender that this episode was read, every `threshold` episodes (a power of two)
  kJump,            // go on at `target`
  kSendAway,        // kSend to a member on another host, through the process's port (net/net.hpp)
  kCreditGiveAway,  // kCreditGive to a member on another host
};

// What an await does with the payload. kCombineLeft, kCombineRight: the payload is the left or the right
// operand, and the register the other one.
enum class Fold : std::uint8_t { kNone = 0, kCombineLeft, kCombineRight, kCopy };

inline constexpr std::uint32_t kNoDoor = 0xffffffffu;
inline constexpr std::uint32_t kDoorBytes = 16;  // of a door in a region
inline constexpr std::uint32_t kMostPauses = 64;

// 32 bytes, so that two steps share a cache line and no step straddles two.
struct Step {
  Code code;
  std::uint8_t reg;  // the register that is sent, or folded into
  Fold fold;
  // A step that signals rings the doorbell `door`, and a step that waits parks there. 1: it is the doorbell
  // of the member with this rank; 2: it is at this offset in the region; 0: a signal rings no doorbell, and a
  // wait parks at this offset
  std::uint8_t rings;
  std::uint32_t offset;  // of slot 0 of the edge, of the word or of the credit
  std::uint32_t stride;  // bytes from one slot of the edge to the next
  std::uint32_t mask;    // slots - 1
  union {
    // kAdd, kPoll: adds per episode; kCreditAwait: slots; kCreditGive, kCreditGiveAway: batch
    std::uint32_t threshold;
    // kAwait: about how many CPU cycles a round waits before its first read. 0 in a compiled plan: a member
    // finds it while it runs (exec/poll_interval.hpp).
    std::uint32_t delay;
  };
  union {
    std::uint32_t target;  // kAdd, kJump: index of a step in this member's program
    std::uint32_t pauses;  // kAwait, kPoll, kCreditAwait: CPU pauses between two reads, at least 1
  };
  std::uint32_t door;
  // Rank of the other end, or members + number of the word. kSendAway and kCreditGiveAway send to it. A wait
  // names it in reports, and checks whether that member has left.
  std::uint32_t peer;
};
static_assert(sizeof(Step) == 32 && std::is_trivially_copyable_v<Step>);

struct MemberProgram {
  std::uint32_t first = 0;  // index of the first step in the blob's step array
  std::uint32_t count = 0;
};

struct ProgramHeader {
  std::uint32_t magic = kProgramMagic;
  std::uint32_t version = kProgramVersion;
  std::uint64_t hash = 0;   // of all bytes after this field
  std::uint32_t bytes = 0;  // of the whole blob
  std::uint32_t members = 0;
  std::uint32_t collective = 0;    // fermata::Collective
  std::uint32_t payload = 0;       // bytes that a slot can carry; 0: none
  std::uint32_t registers = 1;     // 1..kMaxRegisters
  std::uint32_t line = 64;         // bytes of a cache line in the layout: 64 or 128
  std::uint32_t region_bytes = 0;  // multiple of 128
  std::uint32_t regions = 1;       // 1, or `members` for a rooted collective
  std::uint32_t steps = 0;
  std::uint32_t programs_offset = 0;  // of MemberProgram[roots x members]
  std::uint32_t steps_offset = 0;     // of Step[steps], 32-byte aligned
  std::uint32_t reserved = 0;
  std::uint32_t roots = 1;    // sets of programs: 1, or `members`
  std::uint32_t padding = 0;  // no gap before the names: every byte after `hash` is hashed
  char algorithm[64] = {};    // for reports
  char layout[32] = {};
};
static_assert(std::is_trivially_copyable_v<ProgramHeader> &&
              std::has_unique_object_representations_v<ProgramHeader>);

// The header of a blob that is aligned as the compiler aligns it.
inline const ProgramHeader& program_header(const void* blob) {
  return *static_cast<const ProgramHeader*>(blob);
}

inline constexpr std::uint32_t kMaxRegisters = 8;
inline constexpr std::uint32_t kMaxMembers = 16384;
inline constexpr std::uint32_t kMaxTeamMembers = 4096;  // of teams, which run programs

// FNV-1a over the bytes of a blob after its hash field, which holds it. The second function takes the length
// as an argument: use it if other processes can write to the blob.
std::uint64_t program_hash(const ProgramHeader& program);
std::uint64_t program_hash(const void* blob, std::uint32_t bytes);
// Checks a blob from a file, or from memory to which others can write. True: every offset, count and index is
// within bounds, every jump goes forwards, and every program ends. `header` receives the header that was
// checked.
bool program_is_sound(const void* blob, std::size_t available_bytes, ProgramHeader* header = nullptr);
// Copies the steps of one member's program out of a blob with this header, and checks them again. Later
// writes to the blob do not change the copy. `index`: which of the blob's programs. Returns the number of
// steps, 0 if they are not sound or do not fit. `to` has room for `room` steps; null: they are only checked.
std::uint32_t copy_steps(const void* blob, const ProgramHeader& header, std::uint32_t index, Step* to,
                         std::uint32_t room);
// For a sound blob: true if any signal adds to a word or flips one. Such signals carry no data.
bool has_words(const void* blob, const ProgramHeader& header);
// For a sound blob: true if any signal goes to another host.
bool leaves_host(const void* blob, const ProgramHeader& header);

// A slot's header: the episode, and a tag of the call that wrote it. Members whose calls differ notice it by
// the tag.
struct Header {
  static constexpr unsigned kTagBits = 31;
  std::uint64_t bits = 0;

  static constexpr Header of(std::uint64_t episode, std::uint64_t tag) { return {episode << kTagBits | tag}; }
  // True if the header `seen` is of this episode or a later one, of any call.
  constexpr bool has_come(std::uint64_t seen) const {
    return static_cast<std::int64_t>(seen - (bits >> kTagBits << kTagBits)) >= 0;
  }
  // True if `seen` is of this episode but of another call. One comparison, because a branch on the episode
  // costs a fifth of a barrier's time: it is random whether a peer is an episode ahead.
  constexpr bool is_foreign(std::uint64_t seen) const {
    return (seen ^ bits) - 1 < (std::uint64_t{1} << kTagBits) - 1;
  }
};

}  // namespace fermata
#endif
