// The file that `fermata run --stats` and `--trace` read, in the directory that FERMATA_STATS names. Each
// preload library makes one in each process, and another one after each exec. It is a shared mapping, so
// what was counted is there after the process has ended, also after a kill. tools/fermata/run_stats.cpp reads
// it.
//
// A record belongs to one thread, barrier and call site (and one number of members and reason). Only its
// thread writes it. Every call that gets a record is counted. The first kFirst are timed, and then about one
// in kSampled; with FERMATA_TRACE=1 each one is. A call's number decides whether it is timed. The
// constructors of Wait say what the number counts. If all members make the same calls, they time the same
// ones. The timed numbers are spread so that no rhythm of a program escapes them. With Arrivals, one exchange
// at a timed arrival tells how long after the previous one it came, and, where the barrier does not tell it,
// which thread came last.
//
// A Wait is not thread-safe: only the waiting thread calls its functions. All functions but start() are part
// of a wait: they call neither the loader nor an allocator, take no lock, and are no cancellation points
// (docs/waits.md).
#ifndef FERMATA_PRELOAD_COMMON_STATS_HPP
#define FERMATA_PRELOAD_COMMON_STATS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fermata::stats {

inline constexpr std::uint32_t kMagic = 0x46535431;  // "1TSF"
inline constexpr std::uint32_t kVersion = 4;
inline constexpr std::uint32_t kRecords = 16384, kNotes = 64, kEvents = 1u << 20;
inline constexpr std::uint64_t kFirst = 64;  // the first calls, all of them timed
// After them one call in kSampled is timed: two clock reads and an exchange may cost more than the barrier.
inline constexpr std::uint64_t kSampled = 256;
inline constexpr std::size_t kPlanText = 80, kPlaceText = 128;
inline constexpr std::uint32_t kRegions = 2048, kRanks = 32;

struct alignas(64) Record {
  std::uint64_t object;  // Meeting::object
  std::uint64_t site;    // Meeting::site
  std::uint32_t thread;
  std::uint32_t members;  // arrivals per episode; 0: not known
  std::uint32_t reason;   // 0: Fermata's barrier; else 1 + the note that says why it is not
  std::uint32_t padding;
  std::uint64_t calls;
  // Episodes that this thread counts. At most one thread of a process counts an episode, of Fermata's
  // barriers and of those that stay another library's.
  std::uint64_t episodes;
  // Scaled: a timed call counts as the number of calls that it stands for. That is kSampled, and 1 in a trace
  // and for the first kFirst.
  std::uint64_t timed;      // timed calls, scaled
  std::uint64_t waited_ns;  // sum of their waits, scaled
  // Calls of which it is known whether this thread came last, and those in which it came last. Wait::end()
  // counts every call, without scaling. Wait::end_untold() counts timed calls with Arrivals, scaled.
  std::uint64_t judged;
  std::uint64_t last;
  // Timed calls in which this thread came last and the time since the previous arrival is known, scaled.
  std::uint64_t measured;
  std::uint64_t late_ns;     // sum of these times, scaled
  std::uint64_t longest_ns;  // the longest timed wait
  char plan[kPlanText];  // the barrier's plan, if it differs from the file's; in MPI, kind and communicator
  // The call site as text, as describe_place() writes it.
  char place[kPlaceText];
};

// Parallel regions at one call site. Only the thread that begins them writes it. Timed ones are chosen and
// scaled like calls.
struct alignas(64) RegionRecord {
  std::uint32_t members;   // the most
  std::uint32_t resident;  // 1: on resident teams
  std::uint64_t regions;
  std::uint64_t timed;         // scaled, like all below
  std::uint64_t took_ns;       // sum of their times, from the begin to the end at this thread
  std::uint64_t judged;        // timed regions of which the waits and the last member are known
  std::uint64_t waited_ns;     // sum of all members' waits for the last one at the end
  std::uint64_t members_ns;    // sum of the times, each taken as often as the region has members
  std::uint64_t last[kRanks];  // in how many each rank came last; all higher ranks are in the last one
  char place[kPlaceText];      // as in Record
};

struct Note {
  char text[128];
};

// One timed wait of a trace.
struct Event {
  std::uint64_t begin_ns, end_ns;
  std::uint32_t record;
  std::uint32_t last;
};

struct File {
  std::uint32_t magic, version;
  std::uint32_t process;
  std::uint32_t tracing;
  char library[32];
  char command[128];
  char plan[128];                      // the plan of the barriers, and how threads wait
  std::atomic<std::uint32_t> records;  // taken so far; may exceed kRecords
  std::atomic<std::uint32_t> events;
  std::atomic<std::uint32_t> lost;     // calls that got no record
  std::atomic<std::uint32_t> regions;  // taken so far; may exceed kRegions
  Note note[kNotes];
  Record record[kRecords];
  RegionRecord region[kRegions];
  Event event[kEvents];
};

// The latest timed arrivals of a barrier's even and odd episodes: the low 16 bits of the episode's number,
// and the time. There are two words: when a thread looks whether it came last, others may be one episode
// ahead, but not two.
struct Arrivals {
  std::atomic<std::uint64_t> latest[2];
};

// Opens the file if FERMATA_STATS asks for it, in this process and in its forked children. False: no
// statistics are wanted, or they are not possible here.
bool start(const char* library, const char* plan);

struct Meeting {
  // An address that names the barrier. Null: at one site, a report tells such barriers apart by their members
  // and reason alone.
  const void* object;
  const void* site;  // the call's return address, or an address that stands for it
  std::uint32_t members;
  const char* reason;  // why another library does it, valid for ever; null: Fermata does it
};

// Where a thread counts its calls of a meeting. There is one table for all threads: thread-local memory comes
// out of every thread's stack, also in programs that want no statistics. A thread mostly finds its slots
// without a function call, because all members pay for the time that this takes. Slots and records are never
// freed.
struct alignas(64) Slot {
  std::atomic<std::uint32_t> owner;  // `self` of the thread that wrote the rest; 0: free; odd: a site's text
  std::uint32_t members;
  const void* object;
  const void* site;  // null: the slot counts the owner's calls for the object
  const char* reason;
  union {
    Record* record;
    RegionRecord* region;  // of parallel regions
    const char* place;     // of a site's text
  };
  std::uint64_t* counts;  // this thread's calls for the object; without one, those that the record counts
  std::uint64_t number;   // a count to which `counts` of this slot or of others points
};
static_assert(sizeof(Slot) == 64);
// log2 of the number of slots; a record takes at most three slots
inline constexpr unsigned kSlotBits = 16;
// written at load
extern Slot* slots __attribute__((visibility("hidden")));
// The thread's number, which is even. 0: it has none yet.
extern __thread std::uint32_t self __attribute__((tls_model("initial-exec"), visibility("hidden")));

inline std::size_t slot_of(const void* object, const void* site, std::uint32_t owner) {
  const std::uint64_t addresses =
      reinterpret_cast<std::uintptr_t>(object) + reinterpret_cast<std::uintptr_t>(site) * 31;
  const std::uint64_t key = addresses + (std::uint64_t{owner} << 32);
  return key * 0x9E37'79B9'7F4A'7C15u >> (64 - kSlotBits);
}
inline bool fits(const Slot& s, const Meeting& m, std::uint32_t owner) {
  // order: relaxed: a thread's slots are written by itself
  return s.owner.load(std::memory_order_relaxed) == owner && s.site == m.site && s.object == m.object &&
         s.members == m.members && s.reason == m.reason;
}
extern std::uint64_t sampled_below __attribute__((visibility("hidden")));  // written at load

// Is the call of this number timed? Multiples of the golden ratio are spread evenly for any stride.
inline bool is_sampled(std::uint64_t number) {
  return number < kFirst || number * 0x9E37'79B9'7F4A'7C15u <= sampled_below;
}

// The first timed number from this one on.
inline std::uint64_t next_sampled(std::uint64_t number) {
  while (!is_sampled(number)) ++number;  // a few hundred steps at most
  return number;
}

// One observed wait, from construction to end() or end_untold().
class Wait {
 public:
  // Numbered by this thread's calls for the object; without one, by those that the record counts. It does not
  // find out which thread came last: only end() may say so.
  explicit Wait(const Meeting& meeting) {
    if (find(meeting)) begin((*counts_)++);
  }
  // Numbered in the same way.
  Wait(const Meeting& meeting, Arrivals& arrivals) : arrivals_(&arrivals) {
    if (find(meeting)) begin((*counts_)++);
  }
  // `number` is the same for all members that meet. describe(text, capacity) is called for the first call
  // that the record counts.
  template <class Describe>
  Wait(const Meeting& meeting, Arrivals& arrivals, std::uint64_t number, Describe&& describe)
      : arrivals_(&arrivals) {
    if (!find(meeting)) return;
    if (record_->calls == 0) [[unlikely]]
      describe(record_->plan, sizeof record_->plan);
    begin(number);
  }
  // last: this thread came last, and counts the episode.
  void end(bool last) {
    if (record_ == nullptr) return;
    ++record_->judged;
    record_->last += last;
    record_->episodes += last;
    if (begin_ns_ != 0) [[unlikely]]
      finish(last);
  }
  // For a barrier that does not tell which thread came last. counts: this thread counts the episode.
  void end_untold(bool counts) {
    if (record_ == nullptr) return;
    record_->episodes += counts;
    if (begin_ns_ != 0) [[unlikely]]
      finish_untold();
  }
  // There was no wait: the record does not count it. Its number is not used again.
  void cancel() {
    if (record_ != nullptr) --record_->calls;
  }
  Record* record() const { return record_; }  // null: nothing is counted

 private:
  bool find(const Meeting& m) {
    const Slot& s = slots[slot_of(m.object, m.site, self)];
    if (!fits(s, m, self)) [[unlikely]]
      return find_slowly(m);
    record_ = s.record;
    counts_ = s.counts;
    return true;
  }
  void begin(std::uint64_t number) {
    ++record_->calls;
    if (is_sampled(number)) [[unlikely]]
      time(number);
  }
  bool find_slowly(const Meeting& meeting);
  void time(std::uint64_t number);
  void finish(bool last);
  void finish_untold();
  std::uint64_t weight() const;

  Record* record_ = nullptr;
  std::uint64_t* counts_ = nullptr;
  Arrivals* arrivals_ = nullptr;
  std::uint64_t begin_ns_ = 0;  // 0: not timed
  std::uint64_t number_ = 0;    // this and the fields below are valid if the wait is timed
  std::uint64_t mine_ = 0;      // the word that this arrival left in arrivals_
  std::uint64_t before_ = 0;    // the word that it found there
};

// What the members of a parallel region leave for the thread that has begun it.
class alignas(64) Join {
 public:
  // The region begins. site: an address in its function, after the first byte.
  void begin(const void* site, bool resident);
  // That member's part is over.
  void arrive(std::uint32_t rank) {
    if (begin_ns_ != 0) [[unlikely]]
      note(rank);
  }
  // Of the region's first thread.
  void set_members(std::uint32_t members) { members_ = members; }
  // The region has ended.
  void end() {
    if (record_ != nullptr) finish();
  }

 private:
  void note(std::uint32_t rank);
  void finish();

  static constexpr unsigned kRankBits = 5;
  static_assert(kRanks == 1u << kRankBits);

  RegionRecord* record_ = nullptr;
  std::uint64_t begin_ns_ = 0;  // 0: not timed
  std::uint64_t weight_ = 0;
  std::uint32_t members_ = 0;
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint64_t> sum_ns_{0};  // of the times from the begin to each arrival
  std::atomic<std::uint64_t> latest_{0};  // the last one's, and its rank in the low kRankBits
};
static_assert(sizeof(Join) == 64);

}  // namespace fermata::stats
#endif
