// Resident teams, for libgomp. A program's first regions are the run-time library's. After some of them with
// the same number of threads, the thread that enters the next one starts a region of the library with
// GOMP_parallel_start, which returns at once. The library's threads stay in it, the residence, and wait for
// work (fermata_forkjoin_await). This region of the program and the next ones are then work for them, and no
// barrier of the library is met. Within such a region all is the library's own: thread numbers, loops, locks,
// nested regions.
//
// Between two regions, in the serial phase, the first thread must not notice that the residence is there. All
// that libgomp knows of a thread is in its thread-local memory, or is reached from there. So that memory is
// exchanged at the begin and the end of each region, whatever it contains: in the serial phase it has what it
// had before the residence, but for the pointer to the thread's pool. So what libgomp does there does not
// touch the threads that stay. Regions that it enters there without Fermata have other threads. Regions and
// pauses that don't belong to a residence end it first. It also ends before a fork, an exit, and the end of
// its first thread, after a region in which a task was made or a setting was changed, or whose threads have
// not met the same loops, and before one for which the settings differ.
//
// libomp keeps what it knows elsewhere, so it has no resident teams. Nor are there any in programs with
// tasks or static ordered loops, with OMP_DYNAMIC, with cancellation, or with a thread limit (may_reside()).
#ifndef FERMATA_PRELOAD_OPENMP_RESIDENT_HPP
#define FERMATA_PRELOAD_OPENMP_RESIDENT_HPP

#include <cstdint>

#include "noted.hpp"
#include "run_time.hpp"

namespace fermata::preload {

struct Residence;

// A loop that a region of GCC's consists of: the function of the region finds it opened, and asks for its
// parts. The schedules are those of GOMP_loop_start.
struct Opening {
  enum Schedule : long { kNone = -1, kRuntime = 0, kStatic, kDynamic, kGuided };
  Schedule schedule = kNone;
  long start = 0, end = 0, step = 0, chunk = 0;
  // Sections are parts of one iteration each.
  static Opening of_sections(unsigned count) { return {kDynamic, 1, static_cast<long>(count) + 1, 1, 1}; }
};

// The calling thread's residence, if it is in the serial phase; else null.
extern __thread Residence* resident_serial __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The residence that a region of `threads` threads, which the calling thread encounters, belongs to. 0: as
// many as omp_get_max_threads() says. Null: the run-time library enters the region, and a residence that did
// not fit has ended.
Residence* residence_for(const Caller& caller, std::uint32_t threads, Body* body, const Opening& opening);

// May a thread that is in no region of this library begin a residence? Each object that is loaded is looked
// at.
bool may_reside(const RunTime& run_time);

// How many microseconds a thread that has no work stays awake: as long as libgomp's would by GOMP_SPINCOUNT
// and OMP_WAIT_POLICY. Null: not set. crowded: the process has more such threads than CPUs.
std::uint32_t awake_us_by(const char* spins, const char* policy, bool crowded);

// Runs a region.
void run(Residence& residence, const Caller& caller, Body* body, void* data, const Opening& opening);

// Ends the residence of a thread that is in its serial phase.
void end_residence();
inline void leave_residence() {
  if (resident_serial != nullptr) [[unlikely]]
    end_residence();
}

// The calling thread enters or leaves a league, in which no residence begins: regions inherit its numbers.
void set_league(bool on);
// Has any thread a residence?
bool is_any_there();
// The run-time library has lost its threads: it makes new ones before a residence begins.
void forget_habit();

// The process is loaded: reads what decides whether there are residences at all.
void settle_residences();

}  // namespace fermata::preload
#endif
