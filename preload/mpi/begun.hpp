// Non-blocking collectives. Each is an operation of Fermata's. The program holds a generalized request of
// MPI's for it (MPI 3.1, section 12.2), or, if it was over at once without an error, a receive from
// MPI_PROC_NULL. So it may stand beside MPI's own requests in any call that completes requests. A
// persistent collective has another request, and starts at once, in any order (persistent.hpp).
//
// In each communicator they start in the order in which they were begun. Barriers and some other small ones
// (Operation::rides()) are carried on lines, one at a time, and all later ones wait for its end. All ranks
// that give the same length put the same ones on lines. Those on blocks are requests of Fermata's. Both kinds
// make progress in MPI calls that wait or test, and in Fermata's own waits. While any is outstanding, a call
// that would wait in MPI polls MPI and Fermata in turn, or has the helper thread beside it.
#ifndef FERMATA_PRELOAD_MPI_BEGUN_HPP
#define FERMATA_PRELOAD_MPI_BEGUN_HPP

#include <atomic>

#include "communicator.hpp"
#include "operation.hpp"

namespace fermata::preload {

struct Begun {
  Operation operation;
  bool is_barrier = false;
  bool told = false;      // its end was noticed, perhaps by the helper (complete_later())
  bool over = false;      // it is not outstanding any more
  bool released = false;  // MPI does not need it any more
  bool persistent = false;
  int error = MPI_SUCCESS;
  int status = FERMATA_OK;
  MPI_Request handle = MPI_REQUEST_NULL;
  State* state = nullptr;
  fermata_request* request = nullptr;  // on blocks, or persistent: Fermata's request, once there is one
  Begun* behind = nullptr;             // in a list: it waits to start, or is cached, or is completed later
  Begun* next = nullptr;               // in a list
  Begun* previous = nullptr;
  // For persistent ones (persistent.hpp):
  Kind kind = kKinds;
  bool started = false;     // the program has started it, and not completed it yet
  bool in_library = false;  // MPI's request that stands for it is active, too
  int tag = 0;
  Begun* next_persistent = nullptr;
};

// Taken if several threads may call. Never held in a call of Fermata's or MPI's functions.
extern pthread_mutex_t requests_lock;
class Locked {
 public:
  Locked() {
    if (several_threads) pthread_mutex_lock(&requests_lock);
  }
  ~Locked() {
    if (several_threads) pthread_mutex_unlock(&requests_lock);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

// For tables by handle.
inline constexpr unsigned kChains = 64;
template <class Handle>
unsigned chain_number(Handle handle) {
  const auto bits = static_cast<std::uint64_t>((std::uintptr_t)handle);
  return static_cast<unsigned>((bits * 0x9E37'79B9'7F4A'7C15u) >> 58);
}

// How many non-blocking and started persistent collectives of this process are outstanding.
extern std::atomic<int> outstanding;
inline bool any_begun() {
  // order: relaxed: a thread sees its own ones, and other threads look after theirs
  return outstanding.load(std::memory_order_relaxed) != 0;
}

// Completed non-blocking collectives with an error that the program does not know yet. Open MPI would report
// it to the error handler of MPI_COMM_WORLD. So the call that completes such a request first takes the error
// away, and then reports it to the error handler that MPI's own collective would call (told_of() in
// waits.cpp).
extern std::atomic<int> failures;
int claim_error(MPI_Request handle, MPI_Comm* comm);
bool is_failed(MPI_Request handle);

// In MPICH 4.0 and 5.0, MPI_Testall gives wrong answers for two sorts of requests, where other functions are
// right: for MPICH's own persistent collectives, and for arrays of more than 64 requests of different
// kinds. Fermata's requests are of different kinds: generalized requests, and receives that are over at once.
// True from the first non-blocking collective of Fermata's, or persistent collective of MPICH's own, on. Then
// on MPICH the preload does MPI_Testall by other functions.
extern std::atomic<bool> testall_errs;

// Ready to be prepared; null: there is no memory.
Begun* new_begun();
void drop(Begun* begun);  // one that has no request of Fermata's, or whose request is freed
// as_before() returns a cached one of the communicator that is the same, and drops `begun`; if there is none,
// it returns `begun`. recycle() caches a completed one, or frees it. drop_kept() frees the cached ones. The
// caller holds the state or is its last user, except for recycle() of one without a request of Fermata's.
Begun* as_before(State& state, Begun* begun);
void recycle(State& state, Begun* begun);
void drop_kept(State& state);
// Begins what begun->operation holds. Returns what the MPI function returns.
int begin(Begun* begun, State& state, MPI_Request* out);
// The one with this handle, if it is outstanding.
Begun* outstanding_of(MPI_Request handle);
// All ranks make the request of Fermata's for a persistent one; returns Fermata's status. start_again()
// starts it. The caller holds the state for both.
int prepare_request(Begun* begun);
void start_again(Begun* begun);
void make_empty(MPI_Status* status);  // makes it what MPI calls an empty status
// Waits until this one is over. Must not be called if several threads may call MPI.
void wait_for(Begun* begun);
// Makes progress on what is outstanding, in a limited number of communicators at a time.
void progress();
// Likewise, while that member waits, in other communicators.
void progress_beside(const fermata_member* waiting);
// Frees those that MPI has released, after calls that may have completed some.
void reap();
// Makes progress until nothing is outstanding, or for many rounds. Also frees the persistent ones.
void finish_all();
void give_way();  // lets other threads have the CPU (sched_yield)

// As progress(), except in the communicator whose member is `waiting`, and without reap(). It passes over a
// communicator that another thread is in. complete_later() completes those whose end the helper noticed.
void advance_all(const fermata_member* waiting);
void complete_later();
// This thread makes progress beside a call that waits in MPI: it is the helper, or in the hook (helper.cpp).
inline thread_local bool is_beside = false;

// Calls test(&flag) until it sets the flag or fails, and makes progress between the calls.
template <class Test>
int poll(Test&& test) {
  for (std::uint32_t rounds = 0;; ++rounds) {
    int flag = 0;
    const int rc = test(&flag);
    if (rc != MPI_SUCCESS || flag != 0) return rc;
    progress();
    if (rounds > 256) give_way();
  }
}

// One round of progress, for calls that only test.
inline void progress_once() {
  if (any_begun()) progress();
}

// Around a call that waits in MPI and cannot be polled. Meanwhile the helper thread makes progress on what is
// outstanding, and with MPI_THREAD_MULTIPLE also on what other threads begin. With has_hook, the hook does so
// instead of the helper.
class Beside {
 public:
  Beside() : runs_(several_threads || any_begun()) {
    if (runs_) enter();
  }
  ~Beside() {
    if (runs_) leave();
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  static void enter();
  static void leave();
  bool runs_;
};

template <class Call>
int in_library(Call&& call) {
  const Beside beside;
  return call();
}

// As pthread_create, with all signals blocked: signals are for the program's own threads.
int start_thread(pthread_t* thread, void* (*body)(void*), void* argument);
// False: this process cannot have the thread.
bool make_helper();
// After a collective was counted as outstanding: calls in which other threads wait may need help from now on.
void help_waiting_calls();
// Returns when the helper rests. Nothing may want it any more.
void let_helper_rest();

// Around code that makes progress. If only one thread calls, it may be within a call that waits in MPI, with
// the helper beside it (`guarded`). MPI may have called a function of the program's there, or one that this
// library wraps. Then the helper rests meanwhile.
class Alone {
 public:
  Alone() : pauses_(guarded && !several_threads) {
    if (pauses_) pause_helper();
  }
  ~Alone() {
    if (pauses_) resume_helper();
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  bool pauses_;
};

}  // namespace fermata::preload
#endif
