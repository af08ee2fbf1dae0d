#include "resident.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fermata/fermata.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include <atomic>
#include <new>

#include "notice.hpp"
#include "objects.hpp"
#include "os/environment.hpp"
#include "process_page.hpp"
#include "settings.hpp"
#include "thread_memory.hpp"

// Of the C library: calls end(argument) when the calling thread ends, before the destructors of pthread keys
// (for the main thread see pthread_exit() below).
extern "C" int __cxa_thread_atexit_impl(void (*end)(void*), void* argument, void* library);
extern "C" void* __dso_handle;

namespace fermata::preload {

// What the other threads of a residence get for each region.
struct Work {
  enum class Kind : std::uint64_t { kEnd = 0, kRegion, kLoop, kBarrier };
  Kind kind = Kind::kEnd;
  Body* body = nullptr;
  void* data = nullptr;
};
static_assert(sizeof(Work) <= FERMATA_FORKJOIN_BYTES);

struct Residence {
  const RunTime* run_time;
  std::uint32_t size;
  fermata_forkjoin* team;
  Memory memory;
  Settings outside;       // of the first thread before the residence
  Settings within;        // of each thread of a region, at its begin
  std::uint32_t process;  // process_page.set()
  std::uint64_t regions = 0;
  Opening opening = {};  // for kLoop
  Region region;
  // What the memory has in the serial phase and in a region, while it has the other.
  alignas(kLine) std::byte serial[kMostMemory];
  alignas(kLine) std::byte team_side[kMostMemory];

  void enter() {
    memcpy(serial, memory.at, memory.bytes);
    memcpy(memory.at, team_side, memory.bytes);
  }
  void leave() {
    memcpy(team_side, memory.at, memory.bytes);
    memcpy(memory.at, serial, memory.bytes);
  }
};

__thread Residence* resident_serial = nullptr;

namespace {

// What a thread remembers about the regions that it enters.
struct Habit {
  const RunTime* run_time;
  std::uint32_t size;    // of the last regions
  std::uint32_t streak;  // how many had it
  std::uint32_t needed;  // so many in a row begin a residence; 0: kFirst
  bool over;             // this thread ends, or cannot have a residence
  bool inside;           // in a region of its residence
  bool league;           // in a teams construct
  Residence* kept;       // an ended residence, for its memory
};
__thread Habit habit __attribute__((tls_model("initial-exec"))) = {};

constexpr std::uint32_t kFirst = 8;
constexpr std::uint32_t kMost = 1u << 20;
// A residence of fewer regions, times the streak that began it, was not worth its beginning and end.
constexpr std::uint64_t kWorth = 4;
constexpr std::uint64_t kChanged = 1;  // a note: the thread has changed a setting

std::atomic<bool> stopped{true};  // written at load and at exit

ProcessPage process_page;

// Is this the child of a fork, which has none of the residence's other threads?
bool is_in_child(const Residence& residence) { return process_page.number() != residence.process; }

// ---- The threads other than the first

std::uint64_t execute(Residence& residence, std::uint32_t rank, const Work& work) {
  if (work.kind == Work::Kind::kBarrier) {
    residence.run_time->find(gomp::kBarrier)();
    return 0;
  }
  if (work.kind == Work::Kind::kLoop) {
    const Opening& o = residence.opening;
    residence.run_time->find(gomp::kLoopStart)(o.start, o.end, o.step, o.schedule, o.chunk, nullptr, nullptr,
                                               nullptr, nullptr);
  }
  work.body(work.data);
  count_part(residence.region, rank, *residence.run_time);
  return Settings::now(*residence.run_time) == residence.within ? 0 : kChanged;
}

void stay(void* argument) {
  auto& residence = *static_cast<Residence*>(argument);
  const RunTime& run_time = *residence.run_time;
  if (static_cast<std::uint32_t>(run_time.num_threads()) != residence.size) return;
  const auto rank = static_cast<std::uint32_t>(run_time.thread_num());
  const Stay now(&residence.region, rank, run_time.level());
  std::uint64_t room[FERMATA_FORKJOIN_BYTES / sizeof(std::uint64_t)];
  for (std::uint64_t notes = 0; fermata_forkjoin_await(residence.team, rank, notes, room) == FERMATA_OK;) {
    Work work;
    memcpy(&work, room, sizeof work);
    if (work.kind == Work::Kind::kEnd) return;
    notes = execute(residence, rank, work);
  }
}

// ---- The first thread

// The C library's.
void (*real_pthread_exit)(void*) = nullptr;
void (*real_thrd_exit)(int) = nullptr;

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void leave_for_good() {
  leave_residence();
  habit.over = true;
}

void at_thread_end(void*) {
  leave_for_good();
  if (habit.kept == nullptr || habit.inside) return;
  fermata_forkjoin_destroy(habit.kept->team);
  free(habit.kept);
  habit.kept = nullptr;
}

void at_exit() {
  // order: relaxed: a thread that misses it begins a residence that the end of the process ends
  stopped.store(true, std::memory_order_relaxed);
  leave_residence();
}

// The thread's residence, if it is in the serial phase. From here on it is in none: a handler of a signal may
// fork.
Residence* take_serial() {
  Residence* const now = resident_serial;
  resident_serial = nullptr;
  if (now == nullptr || !is_in_child(*now)) [[likely]]
    return now;
  habit.over = true;  // the child has none of the other threads, and its memory is that of the serial phase
  return nullptr;
}

// The memory of a residence with a team of that size; null: there is none.
Residence* residence_of(std::uint32_t size) {
  Residence* kept = habit.kept;
  if (kept != nullptr && kept->size == size) return kept;
  if (kept == nullptr) {
    kept = static_cast<Residence*>(aligned_alloc(alignof(Residence), sizeof(Residence)));
    if (kept == nullptr) return nullptr;
    if (__cxa_thread_atexit_impl(at_thread_end, nullptr, &__dso_handle) != 0) return free(kept), nullptr;
    habit.kept = kept;
  } else {
    fermata_forkjoin_destroy(kept->team);
  }
  kept->size = 0;
  kept->team = nullptr;
  const std::uint32_t awake_us =
      awake_us_by(secure_getenv("GOMP_SPINCOUNT"), secure_getenv("OMP_WAIT_POLICY"));
  if (fermata_forkjoin_create(size, awake_us, &kept->team) != FERMATA_OK) return nullptr;
  kept->size = size;
  return kept;
}

// Starts the residence, and awaits its threads. Null: the run-time library gave fewer threads, or its state
// is not where it was expected.
Residence* begin_residence(const Caller& caller, std::uint32_t size, const void* body) {
  const RunTime& run_time = *caller.run_time;
  const Memory memory = Memory::of(run_time);
  if (memory.at == nullptr) return nullptr;
  Residence* const kept = residence_of(size);
  if (kept == nullptr) return nullptr;
  fermata_forkjoin* const team = kept->team;
  auto* const residence = new (kept) Residence{.run_time = &run_time,
                                               .size = size,
                                               .team = team,
                                               .memory = memory,
                                               .outside = Settings::now(run_time),
                                               .within = {},
                                               .process = process_page.set(),
                                               .region = {},
                                               .serial = {},
                                               .team_side = {}};
  begin(residence->region, caller, body);
  memcpy(residence->serial, memory.at, memory.bytes);
  run_time.find(gomp::kParallelStart)(stay, residence, size);
  std::uint64_t notes = 0;
  const bool whole = static_cast<std::uint32_t>(run_time.num_threads()) == size &&
                     fermata_forkjoin_join(team, &notes) == FERMATA_OK;
  if (whole) {
    residence->within = Settings::now(run_time);
    residence->leave();
    if (run_time.level() == 0 && run_time.num_threads() == 1) return residence;
    residence->enter();
    fermata_forkjoin_fork(team, nullptr, 0);
  }
  run_time.find(gomp::kParallelEnd)();
  return nullptr;
}

// Gives work to all, and does the first thread's part. *notes: what all threads noted. False: this is the
// child of a fork within the region, which has none of the other threads.
bool give(Residence& residence, const Work& work, std::uint64_t* notes) {
  fermata_forkjoin_fork(residence.team, &work, sizeof work);
  const std::uint64_t own = execute(residence, 0, work);
  if (is_in_child(residence)) return false;
  const bool whole = fermata_forkjoin_join(residence.team, notes) == FERMATA_OK;
  *notes |= own;
  return whole;
}

// Is any task left that a thread of the region has made? It may be, in spite of tasks_are_used(): the library
// that makes it was opened meanwhile. Then the run-time library's barrier runs it.
bool has_tasks(const Residence& residence) {
  // order: relaxed, both: the join has ordered it
  return residence.region.tasked.load(std::memory_order_relaxed) != 0 ||
         residence.region.decision.load(std::memory_order_relaxed) == kReal;  // order: see above
}

}  // namespace

void settle_residences() {
  real_pthread_exit = next<void(void*)>("pthread_exit");
  real_thrd_exit = next<void(int)>("thrd_exit");
  if (disabled() || !os::is_on(os::Variable::kOpenmpRegions)) return;
  if (!process_page.make()) return;
  pthread_atfork(leave_residence, nullptr, nullptr);
  atexit(at_exit);
  stopped.store(false, std::memory_order_relaxed);  // order: relaxed: no other thread is there
}

void set_league(bool on) {
  leave_residence();
  habit.league = on;
}

void forget_habit() { habit.streak = 0; }

Residence* residence_for(const Caller& caller, std::uint32_t threads, Body* body, const Opening& opening) {
  const RunTime& run_time = *caller.run_time;
  if (opening.schedule != Opening::kNone && run_time.find(gomp::kLoopStart) == nullptr) {
    leave_residence();
    return nullptr;
  }
  if (Residence* const now = take_serial(); now != nullptr) [[likely]] {
    if (now->run_time == &run_time && (threads == 0 || threads == now->size)) [[likely]] {
      const Settings settings = Settings::now(run_time);
      const bool fits = threads != 0 || static_cast<std::uint32_t>(settings.threads) == now->size;
      if (fits && settings == now->outside && run_time.level() == 0) [[likely]]
        return now;
    }
    resident_serial = now;
    end_residence();
    return nullptr;
  }
  // The program has libgomp within itself, and its own variables beside libgomp's.
  if (caller.low == run_time.low) return nullptr;
  // order: relaxed: written at load and at exit
  if (stopped.load(std::memory_order_relaxed) || habit.over || habit.inside || habit.league) return nullptr;
  if (run_time.level == nullptr || run_time.max_threads == nullptr || run_time.level() != 0) return nullptr;
  const std::uint32_t size = threads != 0 ? threads : static_cast<std::uint32_t>(run_time.max_threads());
  if (habit.run_time != &run_time || habit.size != size) {
    habit.run_time = &run_time;
    habit.size = size;
    habit.streak = 0;
  }
  if (size < 2 || ++habit.streak <= (habit.needed != 0 ? habit.needed : kFirst)) return nullptr;
  const int saved = errno;
  Residence* const begun =
      may_reside(run_time) ? begin_residence(caller, size, reinterpret_cast<const void*>(body)) : nullptr;
  errno = saved;
  habit.streak = 0;
  if (begun == nullptr) habit.needed = kMost;
  return begun;
}

void run(Residence& residence, const Caller& caller, Body* body, void* data, const Opening& opening) {
  habit.inside = true;
  residence.enter();
  Region& region = residence.region;
  region.low = caller.low;
  region.span = caller.span;
  region.body = reinterpret_cast<const void*>(body);
  const bool is_loop = opening.schedule != Opening::kNone;
  if (is_loop) residence.opening = opening;
  std::uint64_t notes = 0;
  bool whole = false;
  {
    const Stay stay(&region, 0, 1);
    count_begin(region, true);
    whole = give(residence, {is_loop ? Work::Kind::kLoop : Work::Kind::kRegion, body, data}, &notes);
  }
  const bool tasked = whole && has_tasks(residence);
  if (tasked) [[unlikely]]
    whole = give(residence, {.kind = Work::Kind::kBarrier}, &notes);
  habit.inside = false;
  if (!whole) [[unlikely]] {
    habit.over = true;
    habit.kept = nullptr;
    return;
  }
  residence.leave();
  count_end(region);
  ++residence.regions;
  count_region(is_planned(region), 0, true);
  resident_serial = &residence;
  if (tasked || notes != 0) [[unlikely]]
    end_residence();
}

void end_residence() {
  Residence* const ended = take_serial();
  if (ended == nullptr) return;
  Residence& residence = *ended;
  const int saved = errno;
  residence.enter();
  fermata_forkjoin_fork(residence.team, nullptr, 0);
  residence.run_time->find(gomp::kParallelEnd)();
  memcpy(residence.memory.at, residence.serial, residence.memory.bytes);
  count_episodes(give_back(residence.region));
  const std::uint32_t needed = habit.needed != 0 ? habit.needed : kFirst;
  const bool worth = residence.regions >= kWorth * needed;
  habit.needed = worth ? kFirst : needed < kMost ? 2 * needed : kMost;
  errno = saved;
}

}  // namespace fermata::preload

using namespace fermata::preload;

// The C library ends the main thread without the functions of __cxa_thread_atexit_impl. libgomp would then
// wait for the threads of a residence.

FERMATA_EXPORT void pthread_exit(void* value) {
  leave_for_good();
  if (real_pthread_exit == nullptr) real_pthread_exit = next<void(void*)>("pthread_exit");
  real_pthread_exit(value);
  __builtin_unreachable();
}

FERMATA_EXPORT void thrd_exit(int value) {
  leave_for_good();
  if (real_thrd_exit == nullptr) real_thrd_exit = next<void(int)>("thrd_exit");
  real_thrd_exit(value);
  __builtin_unreachable();
}
