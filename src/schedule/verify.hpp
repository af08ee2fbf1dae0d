// Proves schedules by symbolic execution. A schedule is verified before it runs.
#ifndef FERMATA_SCHEDULE_VERIFY_HPP
#define FERMATA_SCHEDULE_VERIFY_HPP

#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// An alltoall of this many members has kMaxScheduleChunks chunks.
inline constexpr std::int32_t kMaxAlltoallMembers = 256;
static_assert(kMaxAlltoallMembers * kMaxAlltoallMembers == kMaxScheduleChunks);

struct Verified {};  // has no fields: its existence is the proof

// First checks the structure: vertices, registers and chunks are in range, a word's threshold equals its
// in-edges per episode, no vertex signals itself (it may move data to itself), and so on. Then checks the
// meaning.
//
// Barrier: K_(-1) = I and K_a = K_(a-1) + K_(a-1) S_a over members and words. At the end all member-to-member
// entries must be non-zero (heterogeneous-mpi-barriers, equation 3). A complete word knows all that its
// in-edges knew. An edge between words also carries what its actor knew (schedule.hpp).
//
// Data: the result of each chunk must be as contents.hpp requires. It is the value moved there, or an
// expression tree:
// - with every contribution that belongs to it exactly once, or at least once if op.idempotent and
//   op.commutative, and no other contribution
// - in rank order if not op.commutative
// - the same at every member that folds all contributions, if not op.associative (up to swapped operands if
//   op.commutative)
// - as a serial loop over the ranks folds, if op.left_to_right. Precondition: such an op is not commutative.
//
// An alltoall is proved chunk by chunk, not by symmetry. It has at least members^2 chunks, so it takes at
// most kMaxAlltoallMembers members.
//
// Error: kVerify with a message that names what is wrong, and mostly where: the stage, member or chunk.
Result<Verified> verify(const Schedule& schedule, OpTraits op);

// A hazard is a transfer that may come too early in a later episode. It comes before the receiver has read
// the slot, or while the word still counts the previous episode.
struct Hazard {
  std::int32_t stage = 0;
  std::int32_t transfer = 0;  // index in the stage
  bool operator==(const Hazard&) const = default;
};
// Returns all hazards when the schedule runs back to back with `slots` slots per edge and no credits
// (messages that a slot was read). The transfers of a stage from one member to another, listed next to each
// other, are one message. The result has its first transfer. Preconditions: check_structure passed, and slots
// is at least 1.
//
// The write of episode e + slots must come after the receiver has read the slot in episode e.
// Without data the slots are not checked: headers are monotonic and compared with >=, so a sender may
// overwrite an unread one. The adds to words are checked in either case.
std::vector<Hazard> reuse_hazards(const Schedule& schedule, int slots, bool carries_data);
// The same, with the number of slots that `layouts` has for each stage.
std::vector<Hazard> reuse_hazards(const Schedule& schedule, const Layouts& layouts, bool carries_data);

// Returns the expression that register 0 of the chunk holds at `member` at the end, e.g. "((0+1)+(2+3))"; of
// more than 4,096 contributions only their number; if the register holds no value, a text that begins with
// "nothing". The command `fermata verify` prints it.
std::string result_expression(const Schedule& schedule, std::int32_t member, std::int32_t chunk = 0);

}  // namespace fermata
#endif
