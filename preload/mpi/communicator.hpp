// What is known of a communicator: the team that does its collectives, or why MPI does them.
#ifndef FERMATA_PRELOAD_MPI_COMMUNICATOR_HPP
#define FERMATA_PRELOAD_MPI_COMMUNICATOR_HPP

#include <fermata/fermata.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "mpi.hpp"
#include "notice.hpp"

namespace fermata::preload {

struct Begun;
struct Pooled;

struct alignas(64) State {
  std::atomic<MPI_Comm> comm{MPI_COMM_NULL};  // null: freed, or not published yet
  fermata_member* member = nullptr;           // null: MPI does its collectives
  std::uint32_t kinds = 0;                    // a bit for each kind that is Fermata's
  std::uint32_t begun_kinds = 0;              // likewise, for non-blocking and persistent ones
  int size = 0, rank = 0;
  // A begun collective is tested only once at its start. Ranks share CPUs, so others need this one. Or they
  // are on several hosts, and a signal takes longer than a request of MPI's.
  bool tests_once = false;
  std::uint64_t ours = 0, left = 0;  // collectives by Fermata; by MPI, or lost (recovery.hpp)
  const char* reason = nullptr;      // why MPI does its collectives
  // It has few enough ranks for non-blocking allgathers. Their blocks go from rank to rank, because their
  // lengths may differ.
  bool pairs = false;
  const char* begun_reason = nullptr;  // why only its blocking collectives are Fermata's
  // MPI_Reduce_local, and so the program's operators, may be called beside a call that waits in MPI
  bool folds_begun = false;
  Pooled* pooled = nullptr;
  // the ranks' calls differed, or a rank had no memory, so its team is not used any more (recovery.hpp)
  bool mismatched = false;
  // the number of the first call that MPI does after that; 0: the ranks have not agreed on it yet
  std::uint64_t resumes = 0;
  // starts of persistent requests, which `ours` includes; and persistent requests that were made
  std::uint64_t starts = 0, prepared = 0;
  // requests that need this state, and 1 until it is published; guarded by the lock in communicator.cpp, not
  // by State::lock
  std::uint32_t users = 0;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // taken if several threads may call
  State* next = nullptr;                             // in the list of all states
  State* next_unused = nullptr;                      // in the list of states without a communicator
  // For a communicator whose parent is not known, or had `makings` above kEager (communicator.cpp): how many
  // blocking collectives remain until it gets a team. A team is not worth its cost before, since the ranks
  // need several steps to agree on it. The same at all ranks.
  std::uint32_t until_team = 0;
  // The `makings` of its parent when this one was made (0: not known), plus the calls since then that made
  // communicators from this one. The same at all ranks.
  std::uint32_t makings = 0;
  // Non-blocking and started persistent collectives (begun.hpp): the one on lines, those not started yet, and
  // how many are on blocks and in all.
  Begun* line = nullptr;
  Begun* waiting = nullptr;
  Begun* last_waiting = nullptr;
  int in_blocks = 0, begun = 0;
  // A small one is polled for an early end when it begins, unless `tests_once`. If they do not end early,
  // fewer are polled: `pass` of them begin without a poll between two that are polled. `pass` grows with each
  // vain poll, and is 0 after a successful one. passed: how many small ones have begun since the last poll.
  std::uint32_t pass = 0, passed = 0;
  State* next_active = nullptr;  // in the list of states whose `begun` is not 0
  Begun* kept = nullptr;         // completed ones, cached for later calls that are the same

  bool serves(Kind kind) const { return (kinds >> kind & 1) != 0; }
  bool begins(Kind kind) const { return (begun_kinds >> kind & 1) != 0; }
};

inline constexpr std::size_t kCached = 256;
extern std::atomic<State*> cache[kCached];
extern bool several_threads;  // MPI_THREAD_MULTIPLE; written in MPI_Init
extern bool guarded;          // that, or the helper may be at work (helper.cpp)

inline std::size_t cache_slot(MPI_Comm comm) {
  const auto bits = static_cast<std::uint64_t>((std::uintptr_t)comm);
  return static_cast<std::size_t>((bits ^ bits >> 9) * 0x9E37'79B9'7F4A'7C15u >> 56);
}
State* find_slowly(MPI_Comm comm);
// Null: a communicator that was made in a way that is not watched, or for which this rank had no memory; or
// no communicator.
inline State* find(MPI_Comm comm) {
  // order: acquire, as kMovedRead: the state was filled before it was published. Pairs with publish()
  State* const s = cache[cache_slot(comm)].load(std::memory_order_acquire);
  // order: relaxed: nobody changes it while the communicator is in use
  return s != nullptr && s->comm.load(std::memory_order_relaxed) == comm ? s : find_slowly(comm);
}

// For the only thread that calls MPI. Calls nest. The helper rests between the two.
void pause_helper();
void resume_helper();

// Only one thread at a time may use a member.
class Owned {
 public:
  explicit Owned(State& state) : state_(state) {
    if (guarded) [[unlikely]]
      several_threads ? static_cast<void>(pthread_mutex_lock(&state_.lock)) : pause_helper();
  }
  ~Owned() {
    if (guarded) [[unlikely]]
      several_threads ? static_cast<void>(pthread_mutex_unlock(&state_.lock)) : resume_helper();
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

 private:
  State& state_;
};

// Before a collective: completes what was begun on lines. All ranks have begun it before this collective.
void drain(State& state);
class Entered : Owned {
 public:
  explicit Entered(State& state) : Owned(state) {
    if (state.line != nullptr) [[unlikely]]
      drain(state);
  }
};

// A request needs the state, or needs it no more.
void hold(State& state);
void release(State& state);

// Where a new communicator comes from.
struct Origin {
  MPI_Comm parent = MPI_COMM_NULL;  // all of its ranks made the call; null: there is none, or not all did
  bool duplicate = false;           // it has the same ranks
  bool initial = false;             // MPI_Init makes it
};
// A state for a communicator that is about to be made. Null: there is no memory, so MPI does the
// communicator's collectives, at all ranks.
State* new_state();
void forget(State* state);  // a state that no communicator got
// Are communicators watched?
bool watches();
// All ranks of the parent call it, or else all of the communicator, which is null if this rank is not in it.
// MPI_COMM_WORLD and a program's first communicators get their teams here. Others may get one after they have
// been used enough (State::until_team). Some get none, for example those of one rank (unfit()).
// state: from new_state(), null too.
void set_up(State* state, MPI_Comm comm, const Origin& origin);
// All ranks call it, in a blocking collective that is not Fermata's. True: the communicator has its team now,
// and this kind is Fermata's.
bool gets_team(State& state, Kind kind);
// All ranks call it, before they make a persistent collective: a communicator that waits for a team gets it
// now.
void give_team(State& state);
// For a communicator for which this rank had no memory: count_bare() stands for gets_team(), refuse_bare()
// for give_team(). This rank takes part in the others' agreement, and refuses the team.
extern std::atomic<bool> any_bare;  // there has been one
void count_bare(MPI_Comm comm);
void refuse_bare(MPI_Comm comm);
inline bool may_be_bare(const State* state) {
  // order: relaxed: the thread that made the communicator has handed it over
  return state == nullptr && any_bare.load(std::memory_order_relaxed);
}
// MPI_Init calls start_up() after MPI's own function, and MPI_Finalize calls shut_down() before it.
void start_up();
void shut_down();

// Calls the communicator's error handler; returns the error.
int report(State& state, int code);
// Calls the communicator's error handler; with FERMATA_VERBOSE, also says what happened. Returns what the MPI
// call returns.
int failed(State& state, int status);

}  // namespace fermata::preload
#endif
