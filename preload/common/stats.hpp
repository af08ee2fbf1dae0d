// What `fermata run --stats` and `--trace` are told: a file per process and preload library in the directory
// that FERMATA_STATS names, mapped and shared, so that nothing is lost however the process ends. Read by
// tools/fermata/run_stats.cpp.
//
// A record belongs to one thread, barrier and call site, and only its thread writes it. Episodes are counted
// one by one. The first ones are timed and then about one in kSampled, or with FERMATA_TRACE=1 each one. Who
// came last, and how long after the one before, is found by one exchange at a timed arrival. Which episodes
// are timed follows from their number alone, so that all who meet time the same ones; and the numbers are
// spread so that no rhythm of a program escapes them.
//
// Not thread-safe beyond that: every member function is called by the thread that waits. All of it is part of
// a wait: it calls neither the loader nor an allocator, takes no lock, and is no cancellation point
// (docs/waits.md).
#ifndef FERMATA_PRELOAD_COMMON_STATS_HPP
#define FERMATA_PRELOAD_COMMON_STATS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fermata::stats {

inline constexpr std::uint32_t kMagic = 0x46535431;  // "1TSF"
inline constexpr std::uint32_t kVersion = 3;
inline constexpr std::uint32_t kRecords = 16384, kNotes = 64, kEvents = 1u << 20;
inline constexpr std::uint64_t kFirst = 64;  // these are timed, and
// one in so many: two looks at the clock and an exchange cost 150 ns, a barrier 50 to 100
inline constexpr std::uint64_t kSampled = 256;
inline constexpr std::size_t kPlanText = 80;

struct alignas(64) Record {
  std::uint64_t object;  // address of the barrier; 0: one of a team's
  std::uint64_t site;    // return address of the call
  std::uint32_t thread;
  std::uint32_t members;  // arrivals per episode
  std::uint32_t reason;   // 0: ours; else 1 + the note that says why it was left to the run-time
  std::uint32_t padding;
  std::uint64_t calls;
  // that this thread counts; exactly one thread of each does. Ours, and where the run-time tells
  std::uint64_t episodes;
  std::uint64_t timed;  // calls that the timed ones stand for, as do all below
  std::uint64_t waited_ns;
  std::uint64_t judged;    // of which it is known whether this thread came last
  std::uint64_t last;      // and it did
  std::uint64_t measured;  // of those: with the time since the arrival before it
  std::uint64_t late_ns;   // the sum of these times
  std::uint64_t longest_ns;
  char plan[kPlanText];  // what the barrier was made of, where it is not what the file says
  // the call site as text: "+0x1234 (/path/program)", counted from where the object begins in memory
  char place[128];
};

struct Note {
  char text[128];
};

// One timed wait; of a trace.
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
  char plan[128];                      // what the barriers are made of
  std::atomic<std::uint32_t> records;  // taken so far; may exceed kRecords
  std::atomic<std::uint32_t> events;
  std::atomic<std::uint32_t> lost;  // calls that found no record
  Note note[kNotes];
  Record record[kRecords];
  Event event[kEvents];
};

// The latest timed arrival of a barrier's even and odd episodes: the low half of the episode's number, and
// when. Two, because who asks after an episode whether it was the last may find the others in the next one,
// but not in the one behind that.
struct Arrivals {
  std::atomic<std::uint64_t> latest[2];
};

// Opens the file if FERMATA_STATS asks for it, in this process and in its forked children. False: no
// statistics are wanted, or the directory cannot be written.
bool start(const char* library, const char* plan);

struct Meeting {
  const void* object;  // null: the members are all that a report wants to tell apart
  const void* site;
  std::uint32_t members;
  const char* reason;  // why it is left to the run-time, a literal; null: it is ours
};

// Where a thread's calls of a meeting are counted: one table for all threads, since what each would keep in
// its own static memory comes out of every thread's stack, also in programs that ask for no statistics. A
// thread finds its slots without a call: what is done here is paid for by all members. Slots are never freed:
// records aren't.
struct alignas(64) Slot {
  std::atomic<std::uint32_t> owner;  // the thread that wrote the rest; 0: free
  std::uint32_t members;
  const void* object;
  const void* site;  // null: the slot counts the owner's calls for the object
  const char* reason;
  Record* record;
  std::uint64_t* counts;  // this thread's calls for the object, or, without one, at the site
  std::uint64_t number;   // such a count
};
static_assert(sizeof(Slot) == 64);
// a record takes at most three
inline constexpr unsigned kSlotBits = 16;
// written at load
extern Slot* slots __attribute__((visibility("hidden")));
// 0: none of its slots yet
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

// Is this episode timed? Multiples of the golden ratio are spread evenly whatever the stride.
inline bool is_sampled(std::uint64_t number) {
  return number < kFirst || number * 0x9E37'79B9'7F4A'7C15u <= sampled_below;
}

// The first one from this on.
inline std::uint64_t next_sampled(std::uint64_t number) {
  while (!is_sampled(number)) ++number;  // some hundreds at most
  return number;
}

// A wait under observation, from construction to end().
class Wait {
 public:
  // Numbered by this thread's calls at the site; nothing is found out about who came last.
  explicit Wait(const Meeting& meeting) {
    if (find(meeting)) begin((*counts_)++);
  }
  // Numbered by this thread's calls for the object.
  Wait(const Meeting& meeting, Arrivals& arrivals) : arrivals_(&arrivals) {
    if (find(meeting)) begin((*counts_)++);
  }
  // With a number that is the same for all who meet. describe(text, capacity) is called once for each record.
  template <class Describe>
  Wait(const Meeting& meeting, Arrivals& arrivals, std::uint64_t number, Describe&& describe)
      : arrivals_(&arrivals) {
    if (!find(meeting)) return;
    if (record_->calls == 0) [[unlikely]]
      describe(record_->plan, sizeof record_->plan);
    begin(number);
  }
  // This thread came last, or it did not; who did has the episode counted.
  void end(bool last) {
    if (record_ == nullptr) return;
    ++record_->judged;
    record_->last += last;
    record_->episodes += last;
    if (begin_ns_ != 0) [[unlikely]]
      finish(last);
  }
  // Of a barrier that does not tell who came last.
  void end_untold(bool counts) {
    if (record_ == nullptr) return;
    record_->episodes += counts;
    if (begin_ns_ != 0) [[unlikely]]
      finish_untold();
  }
  // It was no wait: nothing is counted.
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
  std::uint64_t number_ = 0;    // this and what follows: if it is timed
  std::uint64_t mine_ = 0;      // what this arrival left in arrivals_
  std::uint64_t before_ = 0;    // what it found there
};

}  // namespace fermata::stats
#endif
