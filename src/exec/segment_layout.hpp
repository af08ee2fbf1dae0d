// What a team's segment holds, and where.
//
// Segment: TeamHeader | StatusLine[members] | DoorLine[members] | compiled plans | model | refresh | hosts |
// notices | regions of slots | rings and heap | table of places
//
// Only a team over several hosts has `hosts` and notices. The window, where lines from other hosts land, is
// all from its notices to the end.
//
// The segments of a team over several hosts have the same layout, so a slot has the same offset on every
// host.
#ifndef FERMATA_EXEC_SEGMENT_LAYOUT_HPP
#define FERMATA_EXEC_SEGMENT_LAYOUT_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/collective.hpp"
#include "base/line.hpp"
#include "exec/program.hpp"
#include "sync/doorbell.hpp"
#include "sync/fences.hpp"
#include "sync/wait.hpp"

namespace fermata::exec {

// Which compiled plan of a team a call uses: the plan's collective and, with data, whether 8 bytes hold the
// payload. A call of another collective may use it, too (api/together.cpp).
enum class PlanSlot : std::uint8_t {
  kBarrier = 0,
  kBroadcast8,
  kBroadcast56,
  kReduce8,
  kReduce56,
  kAllreduce8,
  kAllreduce56
};
inline constexpr std::uint32_t kPlanSlots = 7;
struct SlotUse {
  Collective collective;
  std::int32_t payload;  // bytes; a tagged team's barrier has 8
};
inline constexpr SlotUse kSlotUses[kPlanSlots] = {{Collective::kBarrier, 0},    {Collective::kBroadcast, 8},
                                                  {Collective::kBroadcast, 56}, {Collective::kReduce, 8},
                                                  {Collective::kReduce, 56},    {Collective::kAllreduce, 8},
                                                  {Collective::kAllreduce, 56}};
// The slot of a call that carries `bytes` bytes on lines. `collective` is the plan's collective: a barrier, a
// broadcast, a reduce or an allreduce.
constexpr PlanSlot slot_for(Collective collective, std::size_t bytes) {
  const bool one_word = bytes <= 8;
  switch (collective) {
    case Collective::kBroadcast: return one_word ? PlanSlot::kBroadcast8 : PlanSlot::kBroadcast56;
    case Collective::kReduce: return one_word ? PlanSlot::kReduce8 : PlanSlot::kReduce56;
    case Collective::kAllreduce: return one_word ? PlanSlot::kAllreduce8 : PlanSlot::kAllreduce56;
    default: return PlanSlot::kBarrier;
  }
}
// True if calls of that slot can use this program.
bool is_for(PlanSlot slot, const ProgramHeader& program, bool tagged);

// A team's hash: the number of members, then each plan's hash in the order of PlanSlot.
inline std::uint64_t with_plan(std::uint64_t hash, std::uint64_t plan) {
  return (hash ^ plan) * 1099511628211u;
}

inline constexpr std::uint32_t kTeamMagic = 0x464d544d;  // "FMTM"
inline constexpr std::uint32_t kTeamVersion = 17;        // of what processes share

inline constexpr std::uint32_t kCpuWords = 64;  // 4096 CPUs

enum class MemberState : std::uint32_t { kAbsent = 0, kJoined = 1, kLeft = 2, kJoining = 3 };

// Only its member writes it, except `state`, which a join claims, and `cpu`, which the creator sets. Other
// members read it seldom: for example after a long wait, in a split, and for reports.
struct alignas(kMaxLine) StatusLine {
  std::atomic<std::uint64_t> sequence;  // 2 x the number of the call, + 1 once it is over
  std::atomic<std::uint64_t> scratch;   // in a split: colour and key; in a review: the CPU
  std::atomic<std::uint64_t> meeting;   // where members make a new team: a number that is hard to guess
  // os::ProcessMemory's word; with `process` it identifies the process whose addresses are valid for this
  // member
  std::atomic<std::uint64_t> home;
  std::atomic<std::uint32_t> state;  // MemberState
  std::atomic<std::uint32_t> process;
  std::atomic<std::uint32_t> thread;
  std::atomic<std::uint32_t> tag;
  std::atomic<std::uint32_t> reading;  // 1 while it reads another member's block (sync/single_copy.hpp)
  std::uint32_t cpu;                   // 1 + the CPU that the plans are for; 0: any; set by the creator
  // descriptors of the last calls, by number (sync/status_line.hpp)
  alignas(kMinLine) std::atomic<std::uint64_t> calls[16];
};
static_assert(sizeof(StatusLine) == 2 * kMaxLine);

struct alignas(kMaxLine) DoorLine {
  Door<RealAtomics> door;
};
static_assert(sizeof(DoorLine) == kMaxLine);

struct PlanEntry {
  std::uint64_t program = 0;  // offset of the blob in the segment; 0: this team has no such plan
  std::uint64_t regions = 0;  // offset of region 0
};

// The layout. The team's creator writes it once. Each process uses its own checked copy, so that a member
// that writes over the segment's copy later does it no harm.
struct TeamLayout {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t members = 0;
  std::uint32_t shared = 0;        // between processes
  std::uint32_t tagged = 0;        // the barrier's plan carries tags
  std::uint32_t reproducible = 0;  // folds whose result depends on the order use a fixed order (TeamOptions)
  std::uint32_t wait = 0;          // WaitKind, for processes that choose none
  std::int64_t stall_ns = 0;       // after such a wait a member reports; 0: each process decides for itself
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // over the number of members and the plans' hashes
  PlanEntry plans[kPlanSlots];
  // offset of the ring buffers, one for each ordered pair of members (exec/blocks.hpp); 0: this team moves no
  // blocks
  std::uint64_t rings = 0;
  std::uint64_t ring_lines = 0;  // of each ring buffer
  std::uint64_t in_quarter = 0;  // bytes of a quarter of a ring's buffer (exec/blocks.hpp)
  std::uint64_t heap = 0;        // offset of the memory for ring buffers of persistent operations
  std::uint64_t heap_bytes = 0;
  // offset of uint32 host[members + 1], the last entry for this host; 0: all members are on one host
  std::uint64_t hosts = 0;
  // offset of the window where lines from other hosts land: it reaches to the segment's end
  std::uint64_t window = 0;
  // offset of the cost model with which members choose schedules of blocks (plan/block_knowledge.hpp); 0:
  // none
  std::uint64_t model = 0;
  std::uint64_t model_bytes = 0;
  // offset of the data with which a refresh of the team's profile starts (team/refresh.hpp)
  std::uint64_t refresh = 0;
  std::uint64_t refresh_bytes = 0;  // 0: the team does not observe its links
  // CPUs that the members can use at once: the machine's, or fewer by the cgroup's quota. A team in another
  // team's file has that team's number.
  double usable_cpus = 0;
  // offset of a PlaceTable, the last part; 0: this team has no file of its own in which other teams could lie
  // (it is of threads, or lies in another team's file)
  std::uint64_t places = 0;
};

struct alignas(kMaxLine) TeamHeader {
  TeamLayout layout;
  alignas(kMaxLine) Fences<RealAtomics> fences;  // of all doorbells
  // 0, or why the team is broken and which member caused it: a packed Breach (sync/handover.hpp)
  alignas(kMaxLine) std::atomic<std::uint32_t> breach;
  std::atomic<std::uint32_t> joined;  // members that have joined so far
  alignas(kMaxLine) Pace pace;
  alignas(kMaxLine) Signs signs;
  alignas(kMaxLine) std::atomic<std::uint64_t> cpus[kCpuWords];  // union of the members' CPU affinities
};
static_assert(sizeof(TeamHeader) == 2560);  // a change needs a new kTeamVersion

inline std::size_t statuses_offset() { return round_up(sizeof(TeamHeader), kMaxLine); }
inline std::size_t doors_offset(std::uint32_t members) {
  return statuses_offset() + members * sizeof(StatusLine);
}
inline std::size_t plans_offset(std::uint32_t members) {
  return doors_offset(members) + members * sizeof(DoorLine);
}

// The window begins with the notices of other hosts (exec/host_notices.hpp): a word that says what broke the
// team; for each ordered pair of members, whether the first has left, as the second is told; and for each
// such pair, the call in which the first has waited long.
inline constexpr std::uint64_t kSaidWords = 3;
inline std::uint64_t left_bytes(std::uint32_t members) {
  return round_up(std::uint64_t{members} * members * sizeof(std::uint64_t), kMaxLine);
}
inline std::uint64_t regions_in_window(std::uint32_t members) {
  return kMaxLine + left_bytes(members) +
         round_up(std::uint64_t{members} * members * kSaidWords * sizeof(std::uint64_t), kMaxLine);
}

}  // namespace fermata::exec
#endif
