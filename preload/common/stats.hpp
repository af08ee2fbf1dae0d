// What `fermata run --stats` and `--trace` are told: a file per process and preload library in the directory that FERMATA_STATS
// names, mapped and shared, so that nothing is lost however the process ends. Read by tools/fermata/run_stats.cpp.
//
// A record belongs to one thread, barrier and call site, and only its thread writes it. Episodes are counted one by one; one in
// kSampled is timed, or with FERMATA_TRACE=1 each one. Not thread-safe beyond that: every member function is called by the
// thread that waits.
#ifndef FERMATA_PRELOAD_COMMON_STATS_HPP
#define FERMATA_PRELOAD_COMMON_STATS_HPP

#include <atomic>
#include <cstdint>

namespace fermata::stats {

inline constexpr std::uint32_t kMagic = 0x46535431;  // "1TSF"
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kRecords = 16384, kNotes = 64, kEvents = 1u << 20;
inline constexpr std::uint64_t kSampled = 16;  // a clock costs 20 ns, a barrier 100: timing each one would be a quarter of it

struct Record {
  std::uint64_t object;    // address of the barrier, or of the team
  std::uint64_t site;      // return address of the call
  std::uint32_t thread;
  std::uint32_t members;   // arrivals per episode
  std::uint64_t episodes;
  std::uint64_t last;      // episodes in which this thread came last
  std::uint64_t sampled;   // of the episodes: timed ones
  std::uint64_t waited_ns; // in those
  std::uint64_t longest_ns;
  char place[128];         // the call site as text: "symbol+0x12 (program)"
};

struct Note {
  std::uint64_t times;
  char text[120];
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
  char plan[128];  // what the barriers are made of
  std::atomic<std::uint32_t> records;  // taken so far; may exceed kRecords: what did not fit
  std::atomic<std::uint32_t> notes;
  std::atomic<std::uint32_t> events;
  std::uint32_t padding;
  Note note[kNotes];
  Record record[kRecords];
  Event event[kEvents];
};

// Opens the file if FERMATA_STATS asks for it, in this process and in its forked children. False: no statistics are wanted, or the
// directory cannot be written.
bool start(const char* library, const char* plan);

// A wait under observation, from construction to end().
class Wait {
 public:
  Wait(const void* object, const void* site, std::uint32_t members);
  void end(bool last);

 private:
  Record* record_;
  std::int64_t begin_ns_;  // 0: not timed
};

// Counts something that was left to the runtime, by its reason. Any thread.
void fell_back(const char* reason);

}  // namespace fermata::stats
#endif
