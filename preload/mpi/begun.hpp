// Non-blocking collectives. Each is an operation of Fermata's, and a generalized request of the library (MPI 3.1, section 12.2) that the
// program holds: so it may stand beside the library's own in whatever completes requests.
//
// Those of a communicator start in the order in which they were begun. What is small rides on lines, one at a time, and what is behind
// it waits; all ranks put the same ones on lines. Blocks are requests of Fermata's. Both get on in every MPI call that waits or asks: while
// any is outstanding, whoever would wait in the library polls both, or has a thread beside it.
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
  return outstanding.load(std::memory_order_relaxed) != 0;  // order: relaxed: the thread's own are counted, others' are its own business
}

// Ready to be prepared; null: no memory.
Begun* new_begun();
void drop(Begun* begun);       // that did not begin
// One of the communicator's that are over and did the same, instead of this one, if there is any; what is over, to be one of those or
// freed; and they end. With the state.
Begun* as_before(State& state, Begun* begun);
void recycle(State& state, Begun* begun);
void drop_kept(State& state);
// Begins what begun->operation holds. What the MPI function returns.
int begin(Begun* begun, State& state, MPI_Request* out);
// The one with this handle, if it is outstanding.
Begun* outstanding_of(MPI_Request handle);
// A persistent one's request of Fermata's, made by all ranks: what Fermata returned; and its start. Both with the state.
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
// An operator is freed once nobody needs it.
int free_later(MPI_Op* op);
void give_way();

// All that are outstanding, but of the communicator whose member is `waiting`; and what its end left to do, where the helper was who saw
// it.
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

// A call that waits in the library and cannot be polled. A thread moves what is outstanding meanwhile.
class Beside {
 public:
  Beside() : runs_(any_begun()) {
    if (runs_) begin_helping();
  }
  ~Beside() {
    if (runs_) end_helping();
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  static void begin_helping();
  static void end_helping();
  bool runs_;
};

}  // namespace fermata::preload
#endif
