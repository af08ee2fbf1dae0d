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
#include "preload/common/clock.hpp"
#include "process_page.hpp"
#include "residence.hpp"

namespace fermata::preload {

__thread Residence* resident_serial = nullptr;

namespace {

// What a thread remembers about the regions that it enters.
struct Habit {
  const RunTime* run_time;
  std::uint32_t size;     // of the last regions
  std::uint32_t streak;   // how many had it
  std::uint32_t needed;   // so many in a row begin a residence; 0: kFirst
  std::uint32_t plainly;  // so many regions it has no residence
  PlainRegions plain;
  bool over;        // this thread ends, or cannot have a residence
  bool inside;      // in a region of its residence
  bool league;      // in a teams construct
  Residence* kept;  // an ended residence, for its memory
};
__thread Habit habit __attribute__((tls_model("initial-exec"))) = {};

constexpr std::uint32_t kFirst = 8;
constexpr std::uint32_t kMost = 1u << 20;
// A residence of so many regions that waits in the wrong way begins anew at once.
constexpr std::uint64_t kWorthAgain = 64;
// If the regions of a crowd were faster without a residence, it has none for so many.
constexpr std::uint32_t kPlainly = 4096;
// A residence of fewer regions, times the streak that began it, was not worth its beginning and end.
constexpr std::uint64_t kWorth = 4;

std::atomic<bool> stopped{true};  // written at load and at exit
std::atomic<std::uint32_t> resident_threads{0};
// All residences together have had more threads than there are CPUs.
std::atomic<bool> ever_crowded{false};
std::uint32_t awake_us[2];  // by ever_crowded; written at load

ProcessPage process_page;

// Is this the child of a fork, which has none of the residence's other threads?
bool is_in_child(const Residence& residence) { return process_page.number() != residence.process; }

// ---- The threads other than the first

// before: the thread's memory at the region's begin. now: where it is. Returns the thread's notes.
std::uint64_t execute(Residence& residence, std::uint32_t rank, const Work& work, const std::byte* before,
                      const std::byte* now) {
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
  count_part(residence.region, rank);
  const bool changed = Settings::now(*residence.run_time) != residence.within;
  return Notes::of(changed, residence.progress.change(before, now, residence.memory.bytes));
}

void stay(void* argument) {
  auto& residence = *static_cast<Residence*>(argument);
  const RunTime& run_time = *residence.run_time;
  if (static_cast<std::uint32_t>(run_time.num_threads()) != residence.size) return;
  const auto rank = static_cast<std::uint32_t>(run_time.thread_num());
  const Stay now(&residence.region, rank, run_time.level());
  const std::byte* const memory = memory_of(residence.memory.module);
  std::byte before[kMostMemory];
  std::uint64_t room[FERMATA_FORKJOIN_BYTES / sizeof(std::uint64_t)];
  for (std::uint64_t notes = 0; fermata_forkjoin_await(residence.team, rank, notes, room) == FERMATA_OK;) {
    Work work;
    memcpy(&work, room, sizeof work);
    if (work.kind == Work::Kind::kEnd) return;
    memcpy(before, memory, residence.memory.bytes);
    notes = execute(residence, rank, work, before, memory);
  }
}

// ---- The first thread

// Its destructor ends the thread's residence, however the thread ends. That of libgomp's own key mostly comes
// first, and finds no pool.
pthread_key_t at_thread_end;

void leave_for_good(void*) {
  habit.over = true;
  Residence* const ended = resident_serial;
  leave_residence();
  if (ended != nullptr && !is_in_child(*ended)) ended->end.renew();
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

// A residence of so many threads is about to begin, beside so many CPUs. Returns how many threads others
// have, if all together are more. If several begin at a time, only the first one finds none.
std::uint32_t add_threads(std::uint32_t size, std::uint32_t cpus) {
  // order: relaxed: a hint
  const std::uint32_t before = resident_threads.fetch_add(size, std::memory_order_relaxed);
  if (before + size > cpus) ever_crowded.store(true, std::memory_order_relaxed);  // order: see above
  return threads_beside(before, size, cpus);
}

void remove_threads(std::uint32_t size) {
  resident_threads.fetch_sub(size, std::memory_order_relaxed);  // order: relaxed: a hint
}

// The memory of a residence with a team of that size, beside so many threads; null: there is none.
Residence* residence_of(std::uint32_t size, std::uint32_t beside) {
  Residence* kept = habit.kept;
  // order: relaxed: a hint
  const bool is_crowded = ever_crowded.load(std::memory_order_relaxed);
  if (kept != nullptr && kept->size == size && kept->crowded == is_crowded &&
      (kept->beside != 0) == (beside != 0))
    return kept;
  if (kept == nullptr) {
    kept = static_cast<Residence*>(aligned_alloc(alignof(Residence), sizeof(Residence)));
    if (kept == nullptr) return nullptr;
    if (pthread_setspecific(at_thread_end, &habit) != 0) return free(kept), nullptr;
    habit.kept = kept;
  } else {
    fermata_forkjoin_destroy(kept->team);
  }
  kept->size = 0;
  kept->team = nullptr;
  kept->crowded = is_crowded;
  kept->beside = beside;
  if (fermata_forkjoin_create(size, beside, awake_us[is_crowded ? 1 : 0], &kept->team) != FERMATA_OK)
    return nullptr;
  kept->size = size;
  return kept;
}

// Starts the residence, and awaits its threads. Null: the run-time library gave fewer threads, or its state
// is not where it was expected.
Residence* begin_residence(const Caller& caller, std::uint32_t size, const void* body, const Looked& looked) {
  const RunTime& run_time = *caller.run_time;
  const Memory memory = Memory::of(run_time);
  PoolPointer pool;
  ThreadEnd end;
  if (memory.at == nullptr || !pool.find(memory) || !end.find(memory)) return nullptr;
  const auto cpus = static_cast<std::uint32_t>(run_time.num_procs());
  const std::uint32_t beside = add_threads(size, cpus);
  Residence* const kept = residence_of(size, beside);
  if (kept == nullptr) return remove_threads(size), nullptr;
  fermata_forkjoin* const team = kept->team;
  const bool is_crowded = kept->crowded;
  auto* const residence = new (kept) Residence{.run_time = &run_time,
                                               .size = size,
                                               .team = team,
                                               .memory = memory,
                                               .pool = pool,
                                               .end = end,
                                               .progress = {},
                                               .outside = Settings::now(run_time),
                                               .within = {},
                                               .process = process_page.set(),
                                               .crowded = is_crowded,
                                               .cpus = cpus,
                                               .beside = beside,
                                               .looked = looked,
                                               .region = {},
                                               .serial = {},
                                               .team_side = {}};
  begin(residence->region, caller, body);
  residence->region.beside = beside;
  residence->timed.begin(now_ns());
  residence->progress.settle(run_time, memory);
  memcpy(residence->serial, memory.at, memory.bytes);
  pool.set(residence->serial, 0);
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
  remove_threads(size);
  return nullptr;
}

// Gives work to all, and does the first thread's part. *notes: what all threads noted. False: this is the
// child of a fork within the region, which has none of the other threads.
bool give(Residence& residence, const Work& work, std::uint64_t* notes) {
  fermata_forkjoin_fork(residence.team, &work, sizeof work);
  const std::uint64_t own = execute(residence, 0, work, residence.team_side, residence.memory.at);
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

// Objects that have called the run-time library since may be such that there must be no residence.
bool is_up_to_date(Residence& residence) {
  // order: relaxed: a hint
  if (residence.crowded != ever_crowded.load(std::memory_order_relaxed)) return false;
  if (callers_known() == residence.looked.callers) [[likely]]
    return true;
  const Looked now = Looked::now();
  const bool loaded = now.added != residence.looked.added;
  residence.looked = now;
  const int saved = errno;
  const bool may = !loaded || may_reside(*residence.run_time);
  errno = saved;
  return may;
}

}  // namespace

void settle_residences() {
  if (disabled() || os::choice_of(os::Variable::kOpenmpRegions) == 0) return;
  if (!process_page.make() || pthread_key_create(&at_thread_end, leave_for_good) != 0) return;
  for (const bool is_crowded : {false, true})
    awake_us[is_crowded ? 1 : 0] =
        awake_us_by(secure_getenv("GOMP_SPINCOUNT"), secure_getenv("OMP_WAIT_POLICY"), is_crowded);
  // order: relaxed: a child has one thread
  pthread_atfork(leave_residence, nullptr, [] { resident_threads.store(0, std::memory_order_relaxed); });
  atexit(at_exit);
  stopped.store(false, std::memory_order_relaxed);  // order: relaxed: no other thread is there
}

void set_league(bool on) {
  leave_residence();
  habit.league = on;
}

void forget_habit() { habit.streak = 0; }

bool is_any_there() {
  // order: relaxed: a program that unloads a library has ended other threads' use of it
  return resident_threads.load(std::memory_order_relaxed) != 0;
}

Residence* residence_for(const Caller& caller, std::uint32_t threads, Body* body, const Opening& opening) {
  const RunTime& run_time = *caller.run_time;
  if (opening.schedule != Opening::kNone && run_time.find(gomp::kLoopStart) == nullptr) {
    leave_residence();
    return nullptr;
  }
  if (Residence* const now = take_serial(); now != nullptr) [[likely]] {
    bool again = false, plainly = false;
    if (now->run_time == &run_time && (threads == 0 || threads == now->size)) [[likely]] {
      const Settings settings = Settings::now(run_time);
      const bool fits = threads != 0 || static_cast<std::uint32_t>(settings.threads) == now->size;
      if (fits && settings == now->outside && run_time.level() == 0) [[likely]] {
        plainly = now->crowded && now->timed.must_look(now->regions) &&
                  now->timed.are_slow(now->regions, habit.plain.each_ns(), now_ns());
        // order: relaxed: a hint
        const bool waits = waits_rightly(*now, resident_threads.load(std::memory_order_relaxed));
        if (waits && !plainly && is_up_to_date(*now)) [[likely]]
          return now;
        again = !waits && now->regions >= kWorthAgain;
      }
    }
    resident_serial = now;
    end_residence();
    if (again) habit.needed = 1;  // at once, with other waits
    if (plainly) habit.plainly = kPlainly;
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
    habit.plain = {};
  }
  if (size < 2 || (habit.plainly != 0 && habit.plainly-- != 0)) return nullptr;
  const std::uint32_t needed = habit.needed != 0 ? habit.needed : kFirst;
  if (++habit.streak <= needed) {
    if (PlainRegions::is_first(habit.streak, needed)) habit.plain.begin(now_ns());
    return nullptr;
  }
  // After fewer regions the earlier time stays.
  if (needed >= PlainRegions::kTimed) habit.plain.end(now_ns());
  const int saved = errno;
  const Looked looked = Looked::now();
  Residence* const begun = may_reside(run_time)
                               ? begin_residence(caller, size, reinterpret_cast<const void*>(body), looked)
                               : nullptr;
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
    if (!is_in_child(residence)) remove_threads(residence.size);
    habit.over = true;
    habit.kept = nullptr;
    return;
  }
  residence.leave();
  count_end(region);
  ++residence.regions;
  count_region(is_planned(region), 0, true);
  resident_serial = &residence;
  if (tasked || (notes & Notes::kChanged) != 0 || !Notes::is_same(notes)) [[unlikely]]
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
  if (!residence.restore()) habit.over = true;
  remove_threads(residence.size);
  count_episodes(give_back(residence.region));
  const std::uint32_t needed = habit.needed != 0 ? habit.needed : kFirst;
  const bool worth = residence.regions >= kWorth * needed;
  habit.needed = worth ? kFirst : needed < kMost ? 2 * needed : kMost;
  errno = saved;
}

}  // namespace fermata::preload
