#include "exec/progress_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include "exec/member.hpp"
#include "os/environment.hpp"

namespace fermata::exec {
namespace {

// The longest park while nothing is outstanding. A request that begins rings the doorbell.
constexpr std::int64_t kAsleepNs = 100'000'000;
constexpr std::int64_t kNapNs = 50'000;  // the longest park while nothing moves
constexpr std::uint32_t kYields = 16;    // rounds without movement before the first such park

pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;
pthread_t thread;  // guarded by `switching`
// The process in which the thread runs, by os::fork_generation(); 0: none. Written under the lock.
constinit std::atomic<std::uint32_t> runs_in{0};

bool runs_here() {
  // order: relaxed: under the lock, or a hint
  return runs_in.load(std::memory_order_relaxed) == os::fork_generation();
}

constinit std::atomic<std::uint32_t> stop{0};
constinit DoorLine door{};
constinit Fences<RealAtomics> fences{Fences<RealAtomics>::kAlwaysFull};
const OsCalls calls;

bool stopped() {
  // order: relaxed: pthread_join orders the end of the thread
  return stop.load(std::memory_order_relaxed) != 0;
}

bool anything_outstanding() {
  for (std::size_t n = 0; n < BusyMembers::kLists; ++n)
    if (!BusyMembers::number(n).is_empty()) return true;
  return false;
}

// True: something has moved.
bool go_round() {
  bool moved = false;
  for (std::size_t n = 0; n < BusyMembers::kLists; ++n) {
    BusyMembers& busy = BusyMembers::number(n);
    if (busy.is_empty()) continue;
    RequestQueues* m = busy.take_any(nullptr);
    while (m != nullptr) {
      RequestQueues* const next = busy.take_any(m);
      moved = m->owner().push_data() || moved;
      m = next;
    }
  }
  return moved;
}

void* run(void*) {
  std::uint32_t in_vain = 0;
  while (!stopped()) {
    if (!anything_outstanding()) {
      park<RealAtomics>(door.door, fences, calls, kAsleepNs,
                        [] { return anything_outstanding() || stopped(); });
      in_vain = 0;
    } else if (go_round()) {
      in_vain = 0;
    } else if (++in_vain < kYields) {
      os::yield();
    } else {
      park<RealAtomics>(door.door, fences, calls, kNapNs, stopped);
    }
  }
  return nullptr;
}

// A forked child has no progress thread, and no thread that would release the lock, so it resets the lock.
// fork() cannot take the lock first. The lock's holder may wait for the progress thread, and that thread may
// be in an operator of the program that calls fork().
__attribute__((constructor(101))) void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] { switching = PTHREAD_MUTEX_INITIALIZER; });
}

// The progress thread blocks all signals: they go to the program's own threads.
int start_thread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&thread, nullptr, run, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failed;
}

}  // namespace

constinit std::atomic<std::uint32_t> ProgressThread::mode_{kAsEnvironmentSays};

Status ProgressThread::set(int on) {
  pthread_mutex_lock(&switching);
  Status status = Status::kOk;
  const bool runs = runs_here();
  if (on > 0 && !runs) {
    // order: relaxed: the creation of the thread orders it
    stop.store(0, std::memory_order_relaxed);
    // order: relaxed: see runs_here()
    if (start_thread() == 0) runs_in.store(os::fork_generation(), std::memory_order_relaxed);
    else status = Status::kSystem;
  } else if (on <= 0 && runs) {
    stop.store(1, std::memory_order_relaxed);  // order: relaxed: see stopped()
    fermata::wake<RealAtomics>(door.door, calls);
    pthread_join(thread, nullptr);
    runs_in.store(0, std::memory_order_relaxed);  // order: relaxed: see runs_here()
  }
  // order: relaxed: a hint whether to wake the thread, which also looks by itself
  if (status == Status::kOk)
    mode_.store(on > 0 ? kOn : on == 0 ? kOff : kAsEnvironmentSays, std::memory_order_relaxed);
  pthread_mutex_unlock(&switching);
  return status;
}

void ProgressThread::wake() {
  const std::uint32_t mode = mode_.load(std::memory_order_relaxed);  // order: relaxed: see requests_began()
  if (mode == kAsEnvironmentSays) {
    if (os::is_on(os::Variable::kProgressThread)) set(1);
    else RealAtomics::compare_exchange_relaxed(mode_, kAsEnvironmentSays, kOff);  // order: relaxed: see set()
    return;
  }
  if (mode == kOn && !runs_here()) set(1);  // for a forked child
  ring<RealAtomics>(door.door, fences, calls);
}

}  // namespace fermata::exec
