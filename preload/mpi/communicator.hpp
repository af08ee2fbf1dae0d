// What is known of a communicator: the team that its collectives run on, or why they are the library's.
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
  std::atomic<MPI_Comm> comm{MPI_COMM_NULL};  // null: freed
  fermata_member* member = nullptr;           // null: the library's
  std::uint32_t kinds = 0;                    // a bit for each kind that is Fermata's
  std::uint32_t begun_kinds = 0;              // of non-blocking and persistent ones
  int size = 0, rank = 0;
  bool crowded = false;              // its ranks share CPUs
  std::uint64_t ours = 0, left = 0;  // collectives
  const char* reason = nullptr;      // why it has no member
  // begun allgathers, too, go between each two ranks: their lengths may differ
  bool pairs = false;
  const char* begun_reason = nullptr;  // why it has one for blocking collectives alone
  // MPI_Reduce_local, and so the program's operators, may be called on the helper's thread
  bool folds_begun = false;
  Pooled* pooled = nullptr;
  // the ranks' calls differed, so its team is of no use any more (recovery.hpp)
  bool mismatched = false;
  // the first call that the library does then; 0: not agreed
  std::uint64_t resumes = 0;
  // of persistent requests: those in `ours`; and requests that were made
  std::uint64_t starts = 0, prepared = 0;
  std::uint32_t users = 0;                           // requests that outlive the communicator; under lock
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // taken where several threads may call
  State* next = nullptr;                             // of all that there are
  State* next_unused = nullptr;                      // of those without a communicator
  // Of one that was made after kEager others: its blocking collectives until it gets a team, which takes its
  // ranks several steps of agreement. Counted alike at all ranks.
  std::uint32_t until_team = 0;
  std::uint32_t makings =
      0;  // of communicators by calls on this one and on those that it comes from; alike at all ranks
  // Non-blocking collectives (begun.hpp): on lines, not started yet, on blocks, and all.
  Begun* line = nullptr;
  Begun* waiting = nullptr;
  Begun* last_waiting = nullptr;
  int in_blocks = 0, begun = 0;
  // begun ones of which it isn't looked whether they are over at once, and were not yet
  std::uint32_t pass = 0, passed = 0;
  State* next_active = nullptr;  // of those with any
  Begun* kept = nullptr;         // over, and for the next ones that are the same

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
// Null: a communicator that was made in a way that is not watched, or no communicator.
inline State* find(MPI_Comm comm) {
  // order: acquire, as kMovedRead: the state was filled before it was published. Pairs with publish()
  State* const s = cache[cache_slot(comm)].load(std::memory_order_acquire);
  // order: relaxed: of a communicator that is in use nobody changes it
  return s != nullptr && s->comm.load(std::memory_order_relaxed) == comm ? s : find_slowly(comm);
}

// By the only thread that calls, one within another: the helper rests between these.
void pause_helper();
void resume_helper();

// One thread at a time uses a member.
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

// What was begun on lines comes first. All ranks have begun it by the time they come to their next
// collective.
void drain(State& state);
class Entered : Owned {
 public:
  explicit Entered(State& state) : Owned(state) {
    if (state.line != nullptr) [[unlikely]]
      drain(state);
  }
};

// A request needs it, and does no more.
void hold(State& state);
void release(State& state);

// Where a new communicator comes from.
struct Origin {
  MPI_Comm parent = MPI_COMM_NULL;  // all of its ranks made the call; null: there is none, or not all did
  bool duplicate = false;           // with the same ranks
  bool initial = false;             // of MPI_Init
};
// For a communicator that is about to be made. Null: there is no memory. The communicator is the library's
// then, at all ranks.
State* new_state();
void forget(State* state);  // which no communicator got
// Are communicators looked at?
bool watches();
// By all ranks of the parent, or else of the communicator, which is null where this rank has no part in it.
// MPI_COMM_WORLD and its like get their teams here, and so does a program's first communicators. All others
// get one when they have shown that they are used.
void set_up(State* state, MPI_Comm comm, const Origin& origin);
// By all ranks, in a blocking collective that is not Fermata's. True: it gets its team now, and this kind is
// Fermata's.
bool gets_team(State& state, Kind kind);
// By all ranks, before a persistent collective is made: it gets its team now, if it waits for one.
void give_team(State& state);
// The same of a communicator for which this rank had no memory: what the others do, in which it refuses the
// team.
extern std::atomic<bool> any_bare;  // there has been one
void count_bare(MPI_Comm comm);
void refuse_bare(MPI_Comm comm);
inline bool may_be_bare(const State* state) {
  // order: relaxed: the thread that made it has handed it over
  return state == nullptr && any_bare.load(std::memory_order_relaxed);
}
// By MPI_Init, behind the library's own, and by MPI_Finalize before it.
void start_up();
void shut_down();

// Says what went wrong, by the communicator's error handler; what the call returns.
int failed(State& state, int status);

}  // namespace fermata::preload
#endif
