// Team: this process's handle on the shared segment of one team.
//
// Segment: TeamHeader | StatusLine[members] | DoorLine[members] | compiled plans | model | refresh | hosts |
// window (over several hosts) | regions of slots | rings and heap | table of places
//
// All members on a host share one segment: anonymous memory for threads, a memfd for processes, or a place in
// another team's memfd (exec/places.hpp). A team over several hosts has a segment on each host. All of them
// have the same layout, so a slot has the same offset on every host. Each process writes to the other hosts
// through its port (net/net.hpp).
#ifndef FERMATA_EXEC_TEAM_HPP
#define FERMATA_EXEC_TEAM_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/collective.hpp"
#include "base/line.hpp"
#include "base/status.hpp"
#include "exec/link_delays.hpp"
#include "exec/places.hpp"
#include "exec/program.hpp"
#include "net/net.hpp"
#include "os/os.hpp"
#include "sync/biased_lock.hpp"
#include "sync/doorbell.hpp"
#include "sync/handover.hpp"
#include "sync/wait.hpp"

namespace fermata::exec {

// The system calls that doorbells need.
struct OsCalls {
  bool shared = false;
  void wake_all(std::atomic<std::uint32_t>& bell) const { os::futex_wake_all(bell, shared); }
  void sleep(std::atomic<std::uint32_t>& bell, std::uint32_t seen, std::int64_t ns) const {
    os::futex_sleep(bell, seen, ns, shared);
  }
  template <Site S>
  void heavy_fence(bool full) const {
    if (full) {
      // order: store-load, between arming and the check; pairs with kRingFence
      RealAtomics::full_fence<S>();
    } else {
      os::heavy_fence(shared);  // order: store-load, for both sides; pairs with the light kRingFence
    }
  }
};

// Which compiled plan a call uses: by its collective and, with data, whether 8 bytes hold the payload.
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
// True if calls of that slot can use this program.
bool is_for(PlanSlot slot, const ProgramHeader& program, bool tagged);

inline constexpr std::uint32_t kCpuWords = 64;  // 4096 CPUs

enum class MemberState : std::uint32_t { kAbsent = 0, kJoined = 1, kLeft = 2, kJoining = 3 };

// Whether a member lives in this process.
enum class Where : std::uint8_t { kUnknown = 0, kHere, kElsewhere };

// Only its member writes it, except `state`, which a join claims. Members that have waited long read it, and
// reports.
struct alignas(kMaxLine) StatusLine {
  std::atomic<std::uint64_t> sequence;  // 2 x the number of the call, + 1 once it is over
  std::atomic<std::uint64_t> scratch;   // team_split: colour and key
  std::atomic<std::uint64_t> meeting;   // team_split: a number that nobody can guess
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
// that writes over the segment's copy does no harm.
struct TeamLayout {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t members = 0;
  std::uint32_t shared = 0;        // between processes
  std::uint32_t tagged = 0;        // the barrier's plan carries tags
  std::uint32_t reproducible = 0;  // folds that depend on the order use one fixed order (TeamOptions)
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
  // (segment_layout.hpp)
  std::uint64_t window = 0;
  // offset of the cost model with which members choose schedules of blocks (plan/block_model.hpp); 0: none
  std::uint64_t model = 0;
  std::uint64_t model_bytes = 0;
  // offset of the data with which a refresh of the team's profile starts (team/refresh.hpp)
  std::uint64_t refresh = 0;
  std::uint64_t refresh_bytes = 0;  // 0: the team does not observe its links
  // CPUs that the members can use at once: the machine's, or fewer by the cgroup's quota
  double usable_cpus = 0;
  // offset of a PlaceTable, the last part; 0: no teams lie in this team's segment (threads, or this team lies
  // in another team's file)
  std::uint64_t places = 0;
};

struct alignas(kMaxLine) TeamHeader {
  TeamLayout layout;
  alignas(kMaxLine) std::atomic<std::uint32_t> full_fence;  // both sides of a doorbell use a full fence
  // 0, or why the team is broken and which member caused it: a packed Breach (sync/handover.hpp)
  alignas(kMaxLine) std::atomic<std::uint32_t> breach;
  std::atomic<std::uint32_t> joined;  // members that have joined so far
  alignas(kMaxLine) Pace pace;
  alignas(kMaxLine) std::atomic<std::uint64_t> cpus[kCpuWords];  // union of the members' CPU affinities
};

class Team;

struct TeamOptions {
  std::uint32_t members = 1;
  bool shared = false;
  bool tagged = false;
  // programs that fold have a fixed order, and members fold blocks left to right
  bool reproducible = false;
  // reserve address space for block calls; memory is allocated where it is used
  bool blocks = false;
  WaitKind wait = WaitKind::kAuto;
  std::int64_t stall_ns = 0;
  const void* programs[kPlanSlots] = {};  // compiled blobs; null: calls that need it are kUnsupported
  const void* model = nullptr;            // copied into the segment for all members
  std::size_t model_bytes = 0;
  const void* refresh = nullptr;  // copied in the same way
  std::size_t refresh_bytes = 0;
  const std::uint32_t* hosts = nullptr;  // host of each member; null: all on one host
  std::uint32_t host = 0;                // number of this host
  const std::int32_t* cpus = nullptr;    // the CPU for which each member's programs are; null: any
  Team* within = nullptr;                // the team in whose file this one lies; null: its own file
};

// A team's hash: the number of members, then each plan's hash in the order of PlanSlot.
inline std::uint64_t with_plan(std::uint64_t hash, std::uint64_t plan) {
  return (hash ^ plan) * 1099511628211u;
}

class Team {
 public:
  // Lays out the segment and copies the programs into it. detail: static text on error.
  static Status create(const TeamOptions& options, Team** out, const char** detail);
  // Takes ownership of the descriptor of another process's segment. If this process has that team already,
  // returns the same Team with one more reference, and ignores `wait` and `stall_ns`. A process needs one
  // Team per file: if it closed another descriptor of the file, it would lose its record locks.
  static Status attach(std::int32_t fd, WaitKind wait, std::int64_t stall_ns, Team** out,
                       const char** detail);

  // Attaches to a team, by the number of its place. The team was created within `neighbour` or within the
  // team in whose file `neighbour` lies. kArgument: the team does not exist or has been destroyed.
  static Status attach_within(Team& neighbour, std::uint64_t place, WaitKind wait, std::int64_t stall_ns,
                              Team** out, const char** detail);
  // The owner of the file in which this team's segment lies: this team or another.
  Team& segment_owner() { return segment_owner_ != nullptr ? *segment_owner_ : *this; }
  bool is_within() const { return segment_owner_ != nullptr; }
  std::uint64_t place() const { return place_; }
  Places places() const;  // only for a segment_owner() team
  // For a team of processes: locks the rank for this process until disclaim().
  Status claim(std::uint32_t rank, const char** detail);
  void disclaim(std::uint32_t rank);

  void retain();
  void release();  // the last reference unmaps the segment

  // The fields that change; layout() has the others.
  TeamHeader& header() const { return *reinterpret_cast<TeamHeader*>(segment_.base); }
  const TeamLayout& layout() const { return layout_; }
  StatusLine& status(std::uint32_t rank) const { return statuses()[rank]; }
  Door<RealAtomics>& door(std::uint32_t rank) const { return doors()[rank].door; }
  DoorLine* doors() const;
  std::uint32_t members() const { return members_; }
  bool shared() const { return shared_; }
  std::int32_t fd() const { return segment_owner_ != nullptr ? segment_owner_->segment_.fd : segment_.fd; }
  WaitKind wait() const { return wait_; }
  std::int64_t stall_ns() const { return stall_ns_; }
  std::byte* base() const { return segment_.base; }
  bool forked() const { return !shared_ && generation_ != os::fork_generation(); }

  // Sets this process's end of a transport, before its first member joins a team over several hosts. The team
  // owns the port, and closes it when the team is freed.
  Status connect(const net::Port& port, const char** detail);
  const net::Port* port() const { return port_.write != nullptr ? &port_ : nullptr; }
  // For a sub-team, which was split from `port_owner`, the port owner: this team uses the port of
  // `port_owner`. Called instead of connect(), before the first member joins. owner_ranks[r]: rank r's rank
  // in `port_owner`. branch: a number that no other sub-team of `port_owner` has. Keeps a reference to
  // `port_owner`. `replaces`: all members of `port_owner` move to this team, so a broken `port_owner` also
  // breaks this team.
  Status use_port_of(Team& port_owner, const std::uint32_t* owner_ranks, std::uint32_t subteam, bool replaces,
                     const char** detail);
  Team& port_owner() { return port_owner_ != nullptr ? *port_owner_ : *this; }
  std::uint32_t rank_in_port_owner(std::uint32_t rank) const {
    return port_owner_ != nullptr ? owner_ranks_[rank] : rank;
  }
  // The next free number for a sub-team: one more than the largest that this process has seen. see_subteam()
  // records a number that the members have agreed to use.
  // order: relaxed: a number
  std::uint32_t next_subteam() const { return subteams_seen_.load(std::memory_order_relaxed) + 1; }
  void see_subteam(std::uint32_t number);
  // Writes a line through the port to rank line.to of this team.
  void write(net::Line& line, const net::Block* block = nullptr) const;
  // The link delays that this process has measured; null: this team measures none.
  const LinkDelays* link_delays() const { return link_delays_; }
  // Writes a line without data to that rank's process, so that the process measures its delay.
  void probe(std::uint32_t rank) const;
  bool is_over_hosts() const { return layout_.hosts != 0; }
  // True if that rank is on another host.
  bool is_away(std::uint32_t rank) const { return is_over_hosts() && hosts()[rank] != host(); }
  std::uint32_t host_of(std::uint32_t rank) const { return is_over_hosts() ? hosts()[rank] : 0; }
  std::uint32_t host() const { return is_over_hosts() ? hosts()[members_] : 0; }  // this host's number
  // Sends and receives lines through the port. If the team is broken on another host, breaks it here too.
  void attend_port();
  // Tells the other hosts once what broke the team.
  void tell_abroad();
  // For a member of this host that has waited long in a call: tells all members on other hosts which call it
  // is. At most once per call.
  void say_abroad(std::uint32_t rank, std::uint64_t number, std::uint64_t call) const;
  // The last call that `rank`, on another host, has told `viewer` by say_abroad(). False: none.
  bool hear(std::uint32_t rank, std::uint32_t viewer, std::uint64_t* number, std::uint64_t* call) const;
  // For a member of this host that leaves: sends all its signals, then the notice that it has left.
  void leave_hosts(std::uint32_t rank);

  // This process's copy of the header; null if this team has no such plan.
  const ProgramHeader* program(PlanSlot slot) const;
  // The whole blob in the segment. Read it only within the bounds of program().
  const std::byte* blob(PlanSlot slot) const {
    return segment_.base + layout_.plans[static_cast<int>(slot)].program;
  }
  // Like fermata::copy_steps(). index: rank, or root * members + rank over several hosts.
  std::uint32_t copy_steps(PlanSlot slot, std::uint32_t index, Step* to, std::uint32_t room) const;
  std::byte* region(PlanSlot slot, std::uint32_t root) const;

  // team_split: stores the new team that this rank has made or attached. Other members in its process get the
  // team by take_handoff(), which returns null if nothing is stored. The next hand_off() replaces it. The
  // stored pointer has a reference, and the caller of take_handoff() gets one.
  Status hand_off(std::uint32_t rank, Team* made);
  Team* take_handoff(std::uint32_t rank) const;

  // Whether this member lives in that process, so that addresses mean the same to both. Known once it has
  // joined.
  Where where_is(std::uint32_t rank, const os::ProcessMemory& process) const;
  // True if no member has ever joined with this rank.
  bool is_free(std::uint32_t rank) const;
  // True if the member has left or its process has died. For a rank on another host, the answer depends on
  // `viewer`: lines from one host reach the processes of another host in any order. So each viewer gets a
  // notice of its own, after the signals for it.
  bool is_gone(std::uint32_t rank, std::uint32_t viewer) const;

  // How many of the members that have joined can run at once: the CPUs in the union of their affinities, or
  // fewer by the cgroup's quota. At least 1.
  std::uint32_t usable_cpus() const;

  // The statuses that break a team.
  static bool breaks(Status status) {
    return status == Status::kMemberLost || status == Status::kMismatch || status == Status::kBroken;
  }
  static Status cause_of(Breach breach) {
    return static_cast<Status>(-static_cast<std::int32_t>(breach.cause));
  }
  static constexpr Breach kAborted{static_cast<std::uint32_t>(-static_cast<std::int32_t>(Status::kBroken)),
                                   0};
  // A value that no correct member writes counts as an abort.
  Breach breach() const {
    const Breach what = breach_of<RealAtomics>(header());
    const bool whole = what.cause == 0 && what.culprit == 0;
    if (whole || (breaks(cause_of(what)) && what.culprit <= members_)) return what;
    return kAborted;
  }
  // Breaks the team and wakes all members that wait or park. Only the first cause is stored; true: this call
  // stored it. Async-signal-safe.
  bool break_with(Status status, std::uint32_t culprit);
  void wake_everybody();

 private:
  StatusLine* statuses() const;
  // The host of each member; the last entry is this host.
  const std::uint32_t* hosts() const { return hosts_; }
  std::atomic<std::uint64_t>& abroad() const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(base() + layout_.window);
  }
  // For each rank on another host and each member here: 1 once that rank has left.
  std::uint64_t left_offset(std::uint32_t rank, std::uint32_t viewer) const {
    return layout_.window + kMaxLine + (std::uint64_t{viewer} * members_ + rank) * sizeof(std::uint64_t);
  }
  std::uint64_t said_offset(std::uint32_t rank, std::uint32_t viewer) const;
  void tell(std::uint32_t rank, std::uint64_t offset, std::uint64_t word) const;
  void land(std::uint32_t rank, const net::Line& line, const net::Block* block);
  void leave_port_owner();
  bool port_says_gone(std::uint32_t rank) const {
    return port_.is_gone(port_.self, rank_in_port_owner(rank)) != 0;
  }
  static void land_here(void* self, const net::Line* line, const net::Block* block);
  void close_port();
  void list();
  void keep(std::int32_t fd);
  void free_segment();
  // the byte of the file that the rank locks
  std::uint64_t lock_of(std::uint32_t rank) const { return offset_ + rank; }
  bool is_in_child() const { return generation_ != os::fork_generation(); }
  // A place in the file of another team, mapped.
  struct SegmentPart {
    os::Segment segment;
    std::uint64_t place = 0, offset = 0;
  };
  static Status get_segment(const TeamOptions& options, std::size_t bytes, std::size_t front,
                            SegmentPart* part);
  static Status take_part(Team& segment_owner, std::size_t bytes, std::size_t front, SegmentPart* part);
  void settle_in(Team& segment_owner, const SegmentPart& part);
  static Team* adopt(const os::Segment& segment, WaitKind wait, std::int64_t stall_ns);
  // Checks the segment and copies its layout, program headers and hosts into this object.
  Status check_segment(const char** detail);
  Status check_programs();
  Status check_hosts();

  os::Segment segment_;
  TeamLayout layout_;
  ProgramHeader programs_[kPlanSlots];
  std::uint32_t* hosts_ = nullptr;  // null: one host
  Team** handoffs_ = nullptr;       // one per member; null: no split yet
  std::uint32_t members_ = 0;
  bool shared_ = false;
  WaitKind wait_ = WaitKind::kAuto;
  std::int64_t stall_ns_ = 0;
  std::uint32_t generation_ = 0;
  net::Port port_;
  Team* port_owner_ = nullptr;  // the port owner; null: this team
  std::uint32_t* owner_ranks_ = nullptr;
  std::uint32_t subteam_ = 0;
  bool replaces_ = false;              // it replaces the port owner
  LinkDelays* link_delays_ = nullptr;  // belongs to the port owner
  std::atomic<std::uint32_t> subteams_seen_{0};
  // For a port owner: its sub-teams in this process. The lock protects the list, also while a line lands in a
  // sub-team.
  BiasedLock<RealAtomics> subteams_lock_;
  Team* subteams_ = nullptr;
  Team* next_subteam_ = nullptr;
  std::atomic<std::uint32_t> told_{0};
  std::atomic<std::uint32_t> references_{1};
  // For teams of processes, under os::ProcessLock.
  static Team* listed_;  // all teams of this process that own a file
  Team* next_ = nullptr;
  os::FileId file_;
  Team* segment_owner_ = nullptr;  // the owner of the file in which this team lies; null: this team
  std::uint64_t place_ = 0;        // this team's place in that file
  std::uint64_t offset_ = 0;       // of the segment in the file
  // Further descriptors of the segment: closing one would drop this process's record locks.
  std::int32_t* spare_ = nullptr;
  std::uint32_t spares_ = 0;
};

}  // namespace fermata::exec
#endif
