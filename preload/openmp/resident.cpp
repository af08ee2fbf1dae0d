#include "resident.hpp"

#include <errno.h>
#include <fermata/fermata.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <new>

#include "notice.hpp"
#include "objects.hpp"
#include "os/environment.hpp"

// Of the C library: calls end(argument) when the calling thread ends, before the destructors of pthread keys.
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

// What a region's threads inherit, and can change (OpenMP 5.2, section 2.2).
struct Settings {
  int threads, dynamic, levels, device, kind, chunk;
  std::uintptr_t allocator;
  bool operator==(const Settings&) const = default;

  static Settings now(const RunTime& run_time) {
    Settings s{.threads = run_time.max_threads(),
               .dynamic = run_time.dynamic(),
               .levels = run_time.max_active_levels(),
               .device = run_time.default_device(),
               .kind = 0,
               .chunk = 0,
               .allocator = run_time.default_allocator != nullptr ? run_time.default_allocator() : 0};
    run_time.schedule(&s.kind, &s.chunk);
    return s;
  }
};

constexpr std::size_t kMostMemory = 1024;

// The thread-local memory of a run-time library, for the calling thread.
struct Memory {
  std::byte* at = nullptr;  // null: there is none, or too much
  std::size_t bytes = 0;

  static Memory of(const RunTime& run_time) {
    Memory found;
    for_each_loaded([&](const dl_phdr_info& info) {
      if (Object(info).low() != run_time.low) return false;
      for (int i = 0; i < info.dlpi_phnum; ++i)
        if (info.dlpi_phdr[i].p_type == PT_TLS) found.bytes = info.dlpi_phdr[i].p_memsz;
      if (found.bytes > 0 && found.bytes <= kMostMemory)
        found.at = static_cast<std::byte*>(info.dlpi_tls_data);
      return true;
    });
    return found;
  }
};

struct Residence {
  const RunTime* run_time;
  std::uint32_t size;
  fermata_forkjoin* team;
  Memory memory;
  Settings outside;  // of the first thread before the residence
  Settings within;   // of each thread of a region, at its begin
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
  Residence* kept;       // an ended residence, for its memory
};
__thread Habit habit __attribute__((tls_model("initial-exec"))) = {};

constexpr std::uint32_t kFirst = 8;
constexpr std::uint32_t kMost = 1u << 20;
// A residence of fewer regions, times the streak that began it, was not worth its beginning and end.
constexpr std::uint64_t kWorth = 4;
constexpr int kLeastLimit = 1 << 16;
constexpr std::uint64_t kChanged = 1;  // a note: the thread has changed a setting

std::atomic<bool> stopped{true};    // written at load and at exit
std::atomic<bool> watching{false};  // forks and exits are watched

bool may_reside(const RunTime& run_time) {
  const bool answers = run_time.max_threads != nullptr && run_time.dynamic != nullptr &&
                       run_time.thread_limit != nullptr && run_time.max_active_levels != nullptr &&
                       run_time.default_device != nullptr && run_time.schedule != nullptr;
  return run_time.planned && answers && !run_time.has(Family::kKmp) &&
         run_time.find(gomp::kParallelStart) != nullptr && run_time.find(gomp::kParallelEnd) != nullptr &&
         run_time.dynamic() == 0 && run_time.thread_limit() >= kLeastLimit && run_time.cancellation() == 0 &&
         !tasks_are_used();
}

// ---- The threads other than the first

std::uint64_t execute(const Residence& residence, const Work& work) {
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
    notes = execute(residence, work);
  }
}

// ---- The first thread

void at_thread_end(void*) {
  leave_residence();
  habit.over = true;
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

void watch_the_process() {
  // order: relaxed: a handler that is registered twice does nothing the second time
  if (watching.exchange(true, std::memory_order_relaxed)) return;
  pthread_atfork(leave_residence, nullptr, nullptr);
  atexit(at_exit);
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
  if (fermata_forkjoin_create(size, &kept->team) != FERMATA_OK) return nullptr;
  kept->size = size;
  return kept;
}

// Starts the residence, and awaits its threads. Null: the run-time library gave fewer threads, or its state
// is not where it was expected.
Residence* begin_residence(const Caller& caller, std::uint32_t size, const void* body) {
  const RunTime& run_time = *caller.run_time;
  const Memory memory = Memory::of(run_time);
  if (memory.at == nullptr) return nullptr;
  watch_the_process();
  Residence* const kept = residence_of(size);
  if (kept == nullptr) return nullptr;
  fermata_forkjoin* const team = kept->team;
  auto* const residence = new (kept) Residence{.run_time = &run_time,
                                               .size = size,
                                               .team = team,
                                               .memory = memory,
                                               .outside = Settings::now(run_time),
                                               .within = {},
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

// A child of a fork in a region: it has none of the other threads.
void abandon() {
  resident_serial = nullptr;
  habit.over = true;
  habit.inside = false;
  habit.kept = nullptr;
}

// Gives work to all, and does the first thread's part. *notes: what all threads noted. True: the others are
// ready again.
bool give(Residence& residence, const Work& work, std::uint64_t* notes) {
  if (fermata_forkjoin_fork(residence.team, &work, sizeof work) != FERMATA_OK) return false;
  const std::uint64_t own = execute(residence, work);
  const bool whole = fermata_forkjoin_join(residence.team, notes) == FERMATA_OK;
  *notes |= own;
  return whole;
}

// A task was made, in spite of tasks_are_used(): the library that makes it was opened meanwhile. The run-time
// library's barrier runs it.
bool run_tasks(Residence& residence) {
  std::uint64_t notes = 0;
  return give(residence, {.kind = Work::Kind::kBarrier}, &notes);
}

}  // namespace

void settle_residences() {
  // order: relaxed: no other thread is there
  stopped.store(disabled() || !os::is_on(os::Variable::kOpenmpRegions), std::memory_order_relaxed);
}

Residence* residence_for(const Caller& caller, std::uint32_t threads, Body* body, const Opening& opening) {
  const RunTime& run_time = *caller.run_time;
  if (opening.schedule != Opening::kNone && run_time.find(gomp::kLoopStart) == nullptr) {
    leave_residence();
    return nullptr;
  }
  if (Residence* const now = resident_serial; now != nullptr) [[likely]] {
    if (now->run_time == &run_time && (threads == 0 || threads == now->size)) [[likely]] {
      const Settings settings = Settings::now(run_time);
      const bool fits = threads != 0 || static_cast<std::uint32_t>(settings.threads) == now->size;
      if (fits && settings == now->outside && run_time.level() == 0) [[likely]]
        return now;
    }
    end_residence();
    return nullptr;
  }
  // order: relaxed: written at load and at exit
  if (stopped.load(std::memory_order_relaxed) || habit.over) return nullptr;
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
  resident_serial = nullptr;
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
    whole = give(residence, {is_loop ? Work::Kind::kLoop : Work::Kind::kRegion, body, data}, &notes);
  }
  // order: relaxed: the join has ordered it
  const bool tasked = whole && region.tasked.load(std::memory_order_relaxed) != 0;
  if (tasked) [[unlikely]]
    whole = run_tasks(residence);
  if (!whole) [[unlikely]]
    return abandon();
  residence.leave();
  habit.inside = false;
  ++residence.regions;
  count_region(is_planned(region), 0, true);
  resident_serial = &residence;
  if (tasked || notes != 0) [[unlikely]]
    end_residence();
}

void end_residence() {
  Residence& residence = *resident_serial;
  resident_serial = nullptr;
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
