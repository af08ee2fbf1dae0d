// Progress beside calls that wait in MPI: by the helper thread, or by the hook (hook.hpp). The helper is made
// in MPI_Init. A collective that has begun cannot be handed to MPI any more, so ranks that cannot have this
// thread begin none.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "hook.hpp"
#include "persistent.hpp"
#include "pool.hpp"

namespace fermata::preload {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t wakes = PTHREAD_COND_INITIALIZER;
pthread_cond_t rests = PTHREAD_COND_INITIALIZER;
bool helping = false;         // the helper is at work; under lock
std::atomic<int> waiting{0};  // calls of this process that wait in MPI
// pauses of the helper, nested, by the only thread that calls; and `waiting` before them
int pauses = 0, paused = 0;
pthread_t caller;  // with the hook: the thread whose call waits in MPI

// A thread that begins a collective counts it, and then looks for waiting calls. A thread that waits counts
// its call, and then looks for collectives.
bool is_wanted() {
  // order: seq_cst: store-load, as kRingFence. Pairs with Beside::enter() and count()
  return waiting.load(std::memory_order_seq_cst) != 0 && outstanding.load(std::memory_order_seq_cst) != 0;
}

bool needs_helper() { return is_wanted() && !has_hook; }

void* help(void*) {
  is_beside = true;
  for (;;) {
    pthread_mutex_lock(&lock);
    helping = false;
    pthread_cond_broadcast(&rests);
    while (!needs_helper()) pthread_cond_wait(&wakes, &lock);
    helping = true;
    pthread_mutex_unlock(&lock);
    for (unsigned rounds = 0; needs_helper(); ++rounds) {
      advance_all(nullptr);
      rounds < 256 ? give_way() : static_cast<void>(usleep(rounds < 4096 ? 20 : 500));
    }
  }
  return nullptr;
}

void wake_helper() {
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&wakes);
  pthread_mutex_unlock(&lock);
}

}  // namespace

int start_thread(pthread_t* thread, void* (*body)(void*), void* argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(thread, nullptr, body, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failed;
}

bool make_helper() {
  pthread_t thread;
  if (start_thread(&thread, help, nullptr) != 0) return false;
  pthread_detach(thread);
  return true;
}

void help_waiting_calls() {
  if (needs_helper()) wake_helper();
}

void let_helper_rest() {
  pthread_mutex_lock(&lock);
  while (helping) pthread_cond_wait(&rests, &lock);
  pthread_mutex_unlock(&lock);
}

void progress_in_library() {
  if (is_beside || !is_wanted() || pthread_equal(pthread_self(), caller) == 0) return;
  const int before = errno;
  is_beside = true;
  advance_all(nullptr);
  is_beside = false;
  errno = before;
}

void Beside::enter() {
  if (!several_threads) guarded = true;  // else it is set in MPI_Init, and other threads read it
  if (has_hook) caller = pthread_self();
  // order: seq_cst: store-load, as kRingFence; see is_wanted()
  waiting.fetch_add(1, std::memory_order_seq_cst);
  help_waiting_calls();
}

void Beside::leave() {
  // order: seq_cst: store-load, as kRingFence; see is_wanted()
  const bool last = waiting.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (several_threads) return any_begun() ? progress() : reap();
  if (!last) return;  // within another call that waits: the helper goes on
  let_helper_rest();
  guarded = false;
  complete_later();
  progress();
}

void pause_helper() {
  if (pauses++ != 0) return;
  // order: seq_cst: store-load, as kRingFence; see is_wanted()
  paused = waiting.exchange(0, std::memory_order_seq_cst);
  let_helper_rest();
  complete_later();
}

void resume_helper() {
  if (--pauses != 0) return;
  // order: seq_cst: store-load, as kRingFence; see is_wanted()
  waiting.store(paused, std::memory_order_seq_cst);
  help_waiting_calls();
}

void progress_beside(const fermata_member* waiting) {
  if (any_begun()) advance_all(waiting);
}

void progress() {
  const Alone alone;
  advance_all(nullptr);
  reap();
}

// In MPI_Finalize, for what the program has not completed.
void finish_all() {
  constexpr int kRounds = 1'000'000;
  for (int i = 0; any_begun() && i < kRounds; ++i) {
    progress();
    drive_library();
  }
  free_persistent_ones();
  reap();
  let_helper_rest();
}

void give_way() { sched_yield(); }

}  // namespace fermata::preload
