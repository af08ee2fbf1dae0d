// Team: the shared segment of one team, and this process's handle on it.
//
// Segment: TeamHeader | StatusLine[members] | DoorLine[members] | compiled plans | model | hosts | regions of slots | table of places. All
// members of a host share one segment: anonymous memory for threads, a memfd for processes, or a place in another team's (exec/places.hpp).
// A team over several hosts has one on each of them, all laid out alike for all its members, so that a slot has the same offset everywhere;
// each process has a port to the others (net/net.hpp).
#ifndef FERMATA_EXEC_TEAM_HPP
#define FERMATA_EXEC_TEAM_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/kind.hpp"
#include "base/line.hpp"
#include "base/status.hpp"
#include "exec/arrivals.hpp"
#include "exec/places.hpp"
#include "exec/program.hpp"
#include "net/net.hpp"
#include "os/os.hpp"
#include "sync/doorbell.hpp"
#include "sync/handover.hpp"
#include "sync/turn.hpp"
#include "sync/wait.hpp"

namespace fermata::exec {

// What blocking needs of the operating system, for doorbells.
struct OsCalls {
  bool shared = false;
  void wake_all(std::atomic<std::uint32_t>& bell) const { os::futex_wake_all(bell, shared); }
  void sleep(std::atomic<std::uint32_t>& bell, std::uint32_t seen, std::int64_t ns) const { os::futex_sleep(bell, seen, ns, shared); }
  template <Site S>
  void heavy_fence(bool full) const {
    if (full) {
      RealAtomics::full_fence<S>();  // order: store-load, between arming and looking; pairs with kRingFence
    } else {
      os::heavy_fence(shared);  // order: the same, on behalf of both sides; pairs with the light kRingFence
    }
  }
};

// Which compiled plan a call uses: its kind, and for data whether 8 bytes do.
enum class PlanSlot : std::uint8_t { kBarrier = 0, kBroadcast8, kBroadcast56, kReduce8, kReduce56, kAllreduce8, kAllreduce56 };
inline constexpr std::uint32_t kPlanSlots = 7;
struct SlotUse {
  Kind kind;
  std::int32_t payload;  // bytes; of a tagged team's barrier 8
};
inline constexpr SlotUse kSlotUses[kPlanSlots] = {{Kind::kBarrier, 0}, {Kind::kBroadcast, 8}, {Kind::kBroadcast, 56}, {Kind::kReduce, 8},
                                                  {Kind::kReduce, 56}, {Kind::kAllreduce, 8}, {Kind::kAllreduce, 56}};
// Can a call of that slot use it?
bool is_for(PlanSlot slot, const ProgramHeader& program, bool tagged);

inline constexpr std::uint32_t kCpuWords = 64;  // 4096 CPUs

enum class MemberState : std::uint32_t { kAbsent = 0, kJoined = 1, kLeft = 2, kJoining = 3 };

// Of a member, seen from a process.
enum class Where : std::uint8_t { kUnknown = 0, kHere, kElsewhere };

// Written by its member alone (but state, claimed at join), read by those who have waited long and by reports.
struct alignas(kMaxLine) StatusLine {
  std::atomic<std::uint64_t> sequence;  // 2 x (number of the call), + 1 once it is over
  std::atomic<std::uint64_t> scratch;   // team_split: colour and key
  std::atomic<std::uint64_t> meeting;   // team_split: a number that nobody else can guess
  std::atomic<std::uint64_t> home;      // with `process`: whose addresses are its own (os::Lender's word)
  std::atomic<std::uint32_t> state;     // MemberState
  std::atomic<std::uint32_t> process;
  std::atomic<std::uint32_t> thread;
  std::atomic<std::uint32_t> tag;
  std::atomic<std::uint32_t> reading;                      // a block that lies in another member's memory (sync/lending.hpp)
  std::uint32_t planned_cpu;                               // 1 + the CPU that the team's plans are for, by who made the team; 0: any
  alignas(kMinLine) std::atomic<std::uint64_t> calls[16];  // the last ones' descriptors, by number (exec/member.hpp)
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

// What a team's creator lays out, once and for all. Each process works by a copy of its own, which was checked: whoever writes over the
// one in the segment changes nothing for others.
struct TeamLayout {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t members = 0;
  std::uint32_t shared = 0;        // between processes
  std::uint32_t tagged = 0;        // the barrier's plan carries tags
  std::uint32_t reproducible = 0;  // folds whose order matters are done in one order, whatever is measured (TeamOptions)
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // over the plans' hashes
  PlanEntry plans[kPlanSlots];
  std::uint64_t rings = 0;       // offset of a ring for each pair of members (exec/blocks.hpp); 0: this team moves no blocks
  std::uint64_t ring_lines = 0;  // of each
  std::uint64_t in_quarter = 0;  // bytes of the longest piece in one
  std::uint64_t heap = 0;        // offset of memory for the rings of persistent operations
  std::uint64_t heap_bytes = 0;
  std::uint64_t hosts = 0;   // offset of uint32 host[members]; 0: all are on this one
  std::uint64_t window = 0;  // offset from which on lines of other hosts land (segment_layout.hpp), the regions last
  std::uint64_t model = 0;   // offset of what members choose schedules of blocks by (plan/block_model.hpp); 0: nothing
  std::uint64_t model_bytes = 0;
  std::uint64_t refresh = 0;        // offset of what a refresh of the team's profile begins with (api/refresh.hpp)
  std::uint64_t refresh_bytes = 0;  // 0: its links are not observed
  double usable_cpus = 0;           // by its members at once: the machine's, or the control group's quota if that is less
  std::uint64_t places = 0;  // offset of a PlaceTable, behind all else; 0: no teams lie in its file (threads, and those that lie there)
};

struct alignas(kMaxLine) TeamHeader {
  TeamLayout layout;
  alignas(kMaxLine) std::atomic<std::uint32_t> full_fence;  // both sides of a doorbell fence in full
  alignas(kMaxLine) std::atomic<std::uint32_t> breach;      // -Status of what broke the team, rank + 1 or 0 of who (sync/handover.hpp)
  std::atomic<std::uint32_t> joined;                        // members so far
  alignas(kMaxLine) Pace pace;
  alignas(kMaxLine) std::atomic<std::uint64_t> cpus[kCpuWords];  // where its members may run: the union of their affinities
};

class Team;

struct TeamOptions {
  std::uint32_t members = 1;
  bool shared = false;
  bool tagged = false;
  bool reproducible = false;  // for members to read: the programs that fold are the fixed ones, and blocks are folded left to right
  bool blocks = false;        // room for operations on blocks: address space, which takes memory only where it is used
  WaitKind wait = WaitKind::kAuto;
  std::int64_t stall_ns = 0;
  const void* programs[kPlanSlots] = {};  // compiled blobs; null: calls of that kind are kUnsupported
  const void* model = nullptr;            // copied in as it is, for all members to read alike
  std::size_t model_bytes = 0;
  const void* refresh = nullptr;  // likewise
  std::size_t refresh_bytes = 0;
  const std::uint32_t* hosts = nullptr;  // of each member; null: one
  std::uint32_t host = 0;                // this one
  const std::int32_t* cpus = nullptr;    // of each member, that the programs are for; null: any
  Team* within = nullptr;                // whose file it lies in; null: its own
};

// A team's hash: its members' number, then each plan's hash in the order of PlanSlot.
inline std::uint64_t with_plan(std::uint64_t hash, std::uint64_t plan) { return (hash ^ plan) * 1099511628211u; }

class Team {
 public:
  // Lays the segment out and copies the programs in. detail: static text on error.
  static Status create(const TeamOptions& options, Team** out, const char** detail);
  // Takes over a descriptor of a segment that another process laid out. Where this process has that team already, it is the same Team
  // once more, whose waiting stays as it was: a process has one, so that its locks live as long as it does.
  static Status attach(std::int32_t fd, WaitKind wait, std::int64_t stall_ns, Team** out, const char** detail);

  // Of a team that was created within that one, or within the one that it lies in: by the number of its place. kArgument: nobody has it
  // any more.
  static Status attach_within(Team& neighbour, std::uint64_t place, WaitKind wait, std::int64_t stall_ns, Team** out, const char** detail);
  Team& ground() { return ground_ != nullptr ? *ground_ : *this; }  // whose file it lies in
  bool is_within() const { return ground_ != nullptr; }
  std::uint64_t place() const { return place_; }
  Places places() const;  // of a ground
  // Of a team of processes: the rank's lock is this process's, until it disclaims it.
  Status claim(std::uint32_t rank, const char** detail);
  void disclaim(std::uint32_t rank);

  void retain();
  void release();  // frees this process's mapping with the last reference

  // What changes; all else is in layout().
  TeamHeader& header() const { return *reinterpret_cast<TeamHeader*>(segment_.base); }
  const TeamLayout& layout() const { return layout_; }
  StatusLine& status(std::uint32_t rank) const { return statuses()[rank]; }
  Door<RealAtomics>& door(std::uint32_t rank) const { return doors()[rank].door; }
  DoorLine* doors() const;
  std::uint32_t members() const { return members_; }
  bool shared() const { return shared_; }
  std::int32_t fd() const { return ground_ != nullptr ? ground_->segment_.fd : segment_.fd; }
  WaitKind wait() const { return wait_; }
  std::int64_t stall_ns() const { return stall_ns_; }
  std::byte* base() const { return segment_.base; }
  bool forked() const { return !shared_ && generation_ != os::fork_generation(); }

  // This process's end of a transport, before its first member joins a team over several hosts. Taken over: closed with the team.
  Status connect(const net::Port& port, const char** detail);
  const net::Port* port() const { return port_.write != nullptr ? &port_ : nullptr; }
  // Or, of a team that was split from one with a port, before its first member joins: that one's. trunk_ranks[r]: rank r's there; branch:
  // a number that no other team has that was split from it. The trunk stays as long as it is.
  // `replaces` it: all its members move on to this one, and its abort is this one's.
  Status graft(Team& trunk, const std::uint32_t* trunk_ranks, std::uint32_t branch, bool replaces, const char** detail);
  Team& trunk() { return trunk_ != nullptr ? *trunk_ : *this; }
  std::uint32_t rank_in_trunk(std::uint32_t rank) const { return trunk_ != nullptr ? trunk_ranks_[rank] : rank; }
  // Numbers for branches: one more than all that this process has seen, and one that was agreed on.
  std::uint32_t next_branch() const { return branches_seen_.load(std::memory_order_relaxed) + 1; }  // order: a number
  void see_branch(std::uint32_t number);
  // A line for line.to, as a rank of this team.
  void write(net::Line& line, const net::Block* block = nullptr) const;
  // What this process has seen of its links; null: nobody asked for it.
  const Arrivals* arrivals() const { return arrivals_; }
  // A line to that rank's process that is observed, and no more.
  void probe(std::uint32_t rank) const;
  bool is_over_hosts() const { return layout_.hosts != 0; }
  // It is on another host.
  bool is_away(std::uint32_t rank) const { return is_over_hosts() && hosts()[rank] != host(); }
  std::uint32_t host_of(std::uint32_t rank) const { return is_over_hosts() ? hosts()[rank] : 0; }
  std::uint32_t host() const { return is_over_hosts() ? hosts()[members_] : 0; }  // this one
  // Lines come and go. What broke the team elsewhere breaks it here.
  void attend_port();
  // The others are told what broke the team, once.
  void tell_abroad();
  // A member of this host has waited long in a call: those of other hosts are told which one it is. Once for each call.
  void say_abroad(std::uint32_t rank, std::uint64_t number, std::uint64_t call) const;
  // What that member of another host has told this one in this way, the last time. False: nothing.
  bool hear(std::uint32_t rank, std::uint32_t viewer, std::uint64_t* number, std::uint64_t* call) const;
  // A member of this host leaves: what it signalled goes out, and then that it will signal nothing more.
  void leave_hosts(std::uint32_t rank);

  // This process's copy of the header; null if this team has no such plan.
  const ProgramHeader* program(PlanSlot slot) const;
  // The whole of it in the segment, to be read within the header's bounds.
  const std::byte* blob(PlanSlot slot) const { return segment_.base + layout_.plans[static_cast<int>(slot)].program; }
  // As fermata::copy_steps(). index: rank, or root * members + rank over several hosts.
  std::uint32_t copy_steps(PlanSlot slot, std::uint32_t index, Step* to, std::uint32_t room) const;
  std::byte* region(PlanSlot slot, std::uint32_t root) const;

  // team_split: the new team that this rank has made or fetched, for the other members in its process. Kept with a reference until all
  // have it, or another is handed off. take_handoff(): with a reference of the caller's, or null.
  Status hand_off(std::uint32_t rank, Team* made);
  Team* take_handoff(std::uint32_t rank) const;

  // Does this member live in that process, so that addresses mean the same to both? Known once it has joined.
  Where where_is(std::uint32_t rank, const os::Lender& process) const;
  // Nobody has it, or has had it.
  bool is_free(std::uint32_t rank) const;
  // It has left, or its process has died, and with it all members that it had.
  // To that member's knowledge: lines of one host to two processes of another come in any order, so each hears of it behind its own.
  bool is_gone(std::uint32_t rank, std::uint32_t viewer) const;

  // How many of its members can run at once, as far as they have joined: the CPUs of the union of their affinities (one pinned
  // member says nothing about the others), or less if the control group's quota is less. At least 1.
  std::uint32_t usable_cpus() const;

  // What a team is broken with.
  static bool breaks(Status status) { return status == Status::kMemberLost || status == Status::kMismatch || status == Status::kBroken; }
  static Status cause_of(Breach breach) { return static_cast<Status>(-static_cast<std::int32_t>(breach.cause)); }
  static constexpr Breach kAborted{static_cast<std::uint32_t>(-static_cast<std::int32_t>(Status::kBroken)), 0};
  // A word that no member writes is an abort.
  Breach breach() const {
    const Breach what = breach_of<RealAtomics>(header());
    const bool whole = what.cause == 0 && what.culprit == 0;
    if (whole || (breaks(cause_of(what)) && what.culprit <= members_)) return what;
    return kAborted;
  }
  // First cause wins; everybody who waits, or parks, is told. True: it was this one. Async-signal-safe.
  bool break_with(Status status, std::uint32_t culprit);
  void wake_everybody();

 private:
  StatusLine* statuses() const;
  // Of each member; behind them, this one.
  const std::uint32_t* hosts() const { return hosts_; }
  std::atomic<std::uint64_t>& abroad() const { return *reinterpret_cast<std::atomic<std::uint64_t>*>(base() + layout_.window); }
  // Of those elsewhere that have left: 1, for each member here.
  std::uint64_t left_offset(std::uint32_t rank, std::uint32_t viewer) const {
    return layout_.window + kMaxLine + (std::uint64_t{viewer} * members_ + rank) * sizeof(std::uint64_t);
  }
  std::uint64_t said_offset(std::uint32_t rank, std::uint32_t viewer) const;
  void tell(std::uint32_t rank, std::uint64_t offset, std::uint64_t word) const;
  void land(std::uint32_t rank, const net::Line& line, const net::Block* block);
  void leave_trunk();
  bool port_says_gone(std::uint32_t rank) const { return port_.is_gone(port_.self, rank_in_trunk(rank)) != 0; }
  static void land_here(void* self, const net::Line* line, const net::Block* block);
  void close_port();
  void list();
  void keep(std::int32_t fd);
  void free_segment();
  std::uint64_t lock_of(std::uint32_t rank) const { return offset_ + rank; }  // byte of the file
  bool is_in_child() const { return generation_ != os::fork_generation(); }
  // Memory within a ground: mapped, and where.
  struct Lot {
    os::Segment segment;
    std::uint64_t place = 0, offset = 0;
  };
  static Status take_lot(Team& ground, std::size_t bytes, std::size_t front, Lot* lot);
  void settle_in(Team& ground, const Lot& lot);
  static Team* adopt(const os::Segment& segment, WaitKind wait, std::int64_t stall_ns);
  // The layout, the programs' headers and the hosts become this process's.
  Status check_segment(const char** detail);
  Status check_programs();
  Status check_hosts();

  os::Segment segment_;
  TeamLayout layout_;
  ProgramHeader programs_[kPlanSlots];
  std::uint32_t* hosts_ = nullptr;  // null: one
  Team** handoffs_ = nullptr;       // of each member; null: no split yet
  std::uint32_t members_ = 0;
  bool shared_ = false;
  WaitKind wait_ = WaitKind::kAuto;
  std::int64_t stall_ns_ = 0;
  std::uint32_t generation_ = 0;
  net::Port port_;
  Team* trunk_ = nullptr;  // whose port it is, if it is another's
  std::uint32_t* trunk_ranks_ = nullptr;
  std::uint32_t branch_ = 0;
  bool replaces_ = false;         // the trunk
  Arrivals* arrivals_ = nullptr;  // the trunk's
  std::atomic<std::uint32_t> branches_seen_{0};
  // Of a trunk: what was split from it in this process, changed and landed in with the turn.
  Turn<RealAtomics> branches_turn_;
  Team* branches_ = nullptr;
  Team* next_branch_ = nullptr;
  std::atomic<std::uint32_t> told_{0};
  std::atomic<std::uint32_t> references_{1};
  // Of teams of processes, changed under os::ProcessLock.
  static Team* listed_;  // all of this process
  Team* next_ = nullptr;
  os::FileId file_;
  Team* ground_ = nullptr;         // whose file this one lies in, if not in its own
  std::uint64_t place_ = 0;        // there
  std::uint64_t offset_ = 0;       // likewise, of the segment
  std::int32_t* spare_ = nullptr;  // further descriptors of the segment: closing one would drop this process's record locks
  std::uint32_t spares_ = 0;
};

}  // namespace fermata::exec
#endif
