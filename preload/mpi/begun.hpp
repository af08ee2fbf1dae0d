// Non-blocking collectives. Each is an operation of Fermata's, and a generalized request of the library
// (MPI 3.1, section 12.2) that the program holds: so it may stand beside the library's own in whatever
// completes requests.
//
// Those of a communicator start in the order in which they were begun. What is small rides on lines, one at a
// time, and what is behind it waits; all ranks put the same ones on lines. Blocks are requests of Fermata's.
// Both get on in every MPI call that waits or asks: while any is outstanding, whoever would wait in the
// library polls both, or has a thread beside it.
#ifndef FERMATA_PRELOAD_MPI_BEGUN_HPP
#define FERMATA_PRELOAD_MPI_BEGUN_HPP

#include <atomic>

#include "communicator.hpp"
#include "operation.hpp"

namespace fermata::preload {

struct Begun {
  Operation operation;
  bool is_barrier = false;
  bool told = false;      // that it is over
  bool over = false;      // and the library knows
  bool released = false;  // the library needs nothing of it any more
  bool persistent = false;
  int error = MPI_SUCCESS;
  int status = FERMATA_OK;
  MPI_Request handle = MPI_REQUEST_NULL;
  State* state = nullptr;
  fermata_request* request = nullptr;  // of blocks, once it has started
  Begun* behind = nullptr;             // in its communicator, not started either; of kept ones the next
  Begun* next = nullptr;               // of a list
  Begun* previous = nullptr;
  // Of persistent ones (persistent.hpp):
  Kind kind = kKinds;
  bool started = false;     // and not yet completed by the program
  bool in_library = false;  // the library's request that stands for it is active, too
  int tag = 0;
  Begun* next_persistent = nullptr;
};

// Taken where several threads may call, and never held in a call of Fermata's or the library's.
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

// Of tables by handle.
inline constexpr unsigned kChains = 64;
inline unsigned chain_number(MPI_Request handle) {
  const auto bits = static_cast<std::uint64_t>((std::uintptr_t)handle);
  return static_cast<unsigned>((bits * 0x9E37'79B9'7F4A'7C15u) >> 58);
}

extern std::atomic<int> outstanding;  // of this process
inline bool any_begun() {
  // order: relaxed: the thread's own are counted, others' are its own business
  return outstanding.load(std::memory_order_relaxed) != 0;
}

// Begun collectives that are over with an error of which the program does not know. The library would take it
// to the error handler of MPI_COMM_WORLD (Open MPI). So whoever completes such a request takes the error away
// before, and reports it to its communicator.
extern std::atomic<int> failures;
int claim_error(MPI_Request handle, MPI_Comm* comm);
bool is_failed(MPI_Request handle);

// In MPICH 4.0 and 5.0 MPI_Testall mistakes requests that other functions know: persistent collectives of the
// library's own, and arrays of more than 64 requests of different kinds, as ours are (generalized ones, and
// receives that are over at once). From the first one on.
extern std::atomic<bool> testall_errs;

// Ready to be prepared; null: no memory.
Begun* new_begun();
void drop(Begun* begun);  // that did not begin
// One of the communicator's that are over and did the same, instead of this one, if there is any; what is
// over, to be one of those or freed; and they end. With the state.
Begun* as_before(State& state, Begun* begun);
void recycle(State& state, Begun* begun);
void drop_kept(State& state);
// Begins what begun->operation holds. What the MPI function returns.
int begin(Begun* begun, State& state, MPI_Request* out);
// The one with this handle, if it is outstanding.
Begun* outstanding_of(MPI_Request handle);
// A persistent one's request of Fermata's, made by all ranks: what Fermata returned; and its start. Both with
// the state.
int prepare_request(Begun* begun);
void start_again(Begun* begun);
void make_empty(MPI_Status* status);  // as MPI calls it
// Waits for it alone. Not where several threads may call.
void wait_for(Begun* begun);
// All that are outstanding get on.
void progress();
// The same while that member waits.
void progress_beside(const fermata_member* waiting);
// Behind calls that may have ended some: their memory.
void reap();
// Until nothing is outstanding, or nothing comes any more; persistent ones end here.
void finish_all();
void give_way();

// All that are outstanding, but of the communicator whose member is `waiting`; and what its end left to do,
// where the helper was who saw it.
void advance_all(const fermata_member* waiting);
void complete_later();
inline thread_local bool is_helper = false;  // this is the thread beside a call that waits (helper.cpp)

// test(&flag) until it says so, with progress of both between.
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

// One round, for calls that only ask.
inline void progress_once() {
  if (any_begun()) progress();
}

// A call that waits in the library and cannot be polled. The helper, a thread, moves what is outstanding
// meanwhile; with MPI_THREAD_MULTIPLE also what other threads begin meanwhile.
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

// A function of the library's with the helper beside it.
#define FERMATA_BESIDE(name, parameters, arguments)         \
  int MPI_##name parameters {                               \
    return in_library([=] { return real.name arguments; }); \
  }

// As pthread_create, with all signals blocked: they are for the program's own threads.
int start_thread(pthread_t* thread, void* (*body)(void*), void* argument);
// False: this process cannot have the thread.
bool make_helper();
// After a collective was counted among the outstanding ones: calls that other threads wait in may have to be
// helped from now on.
void help_waiting_calls();
// Returns once the helper is between two calls that it helps.
void let_helper_rest();

// What moves collectives on. Where one thread calls, it may be within a call that waits in the library, which
// has called a function of the program's or one of MPI's that is ours: then the helper rests meanwhile.
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
