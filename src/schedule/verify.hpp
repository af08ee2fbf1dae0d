// Proofs by symbolic execution: a schedule is verified before it is ever run.
#ifndef FERMATA_SCHEDULE_VERIFY_HPP
#define FERMATA_SCHEDULE_VERIFY_HPP

#include <string>
#include <vector>

#include "base/kind.hpp"
#include "base/result.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// members^2 chunks are kMaxScheduleChunks here.
inline constexpr std::int32_t kMaxAlltoallMembers = 256;
static_assert(kMaxAlltoallMembers * kMaxAlltoallMembers == kMaxScheduleChunks);

struct Verified {};  // carries nothing: its existence is the proof

// Structure (vertices, registers, chunks in range; a word's threshold equals its in-edges of an episode;
// nobody awaits itself), then meaning:
//  barrier: K_(-1) = I, K_a = K_(a-1) + K_(a-1) S_a over members and words; all member-to-member entries
//           non-zero at the end (heterogeneous-mpi-barriers, equation 3). A word's completion knows all that
//           its in-edges knew.
//  data:    each chunk's results are what contents.hpp says: the value moved there, or an expression tree with every
//           contribution exactly once (at least once if op.idempotent), in rank order if not op.commutative, the same
//           tree at every member (up to commutativity) if not op.associative and all members end with it, the tree of a
//           serial loop over the ranks if op.left_to_right.
// An alltoall is proved chunk by chunk, not by symmetry: members^2 chunks of members registers each, up to
// kMaxAlltoallMembers.
// Error: kVerify with a message that names stage, members, chunk and what is missing, repeated or out of order.
Result<Verified> verify(const Schedule& schedule, OpTraits op);

// A write of an episode e + slots into a slot that the receiver may not have read for episode e, found by
// unrolling slots + 1 episodes into a graph of events (program order and signals).
struct Hazard {
  std::int32_t stage = 0;
  std::int32_t transfer = 0;  // index in the stage
  bool operator==(const Hazard&) const = default;
};
// All hazards of running the schedule back to back with `slots` slots per edge and no credits. The transfers of a
// stage from one member to another, listed side by side, are one message, named once by its first transfer. `carries_data`
// false: headers are monotonic and compared with >=, so overwriting an unread header is harmless and the
// answer is empty, except that word thresholds are still checked against run-ahead.
std::vector<Hazard> reuse_hazards(const Schedule& schedule, int slots, bool carries_data);
// With as many slots as each stage has.
std::vector<Hazard> reuse_hazards(const Schedule& schedule, const Layouts& layouts, bool carries_data);

// The expression that member's register 0 of the chunk holds at the end, e.g. "((0+1)+(2+3))"; for messages, tests
// and explain.
std::string result_expression(const Schedule& schedule, std::int32_t member, std::int32_t chunk = 0);

}  // namespace fermata
#endif
