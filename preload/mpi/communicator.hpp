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
  Pooled* pooled = nullptr;
  std::uint32_t users = 0;                           // requests that outlive the communicator; under lock
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // taken where several threads may call
  State* next = nullptr;                             // of all that there are
  // Non-blocking collectives (begun.hpp): on lines, not started yet, on blocks, and all.
  Begun* line = nullptr;
  Begun* waiting = nullptr;
  Begun* last_waiting = nullptr;
  int in_blocks = 0, begun = 0;
  std::uint32_t pass = 0, passed = 0;  // begun ones of which it isn't looked whether they are over at once, and were not yet
  State* next_active = nullptr;  // of those with any
  Begun* kept = nullptr;         // over, and for the next ones that are the same

  bool serves(Kind kind) const { return (kinds >> kind & 1) != 0; }
  bool begins(Kind kind) const { return (begun_kinds >> kind & 1) != 0; }
};

inline constexpr std::size_t kCached = 256;
extern std::atomic<State*> cache[kCached];
extern bool several_threads;  // MPI_THREAD_MULTIPLE; written in MPI_Init

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

// Where several threads may call, one at a time uses a member.
class Owned {
 public:
  explicit Owned(State& state) : state_(state) {
    if (several_threads) [[unlikely]]
      pthread_mutex_lock(&state_.lock);
  }
  ~Owned() {
    if (several_threads) [[unlikely]]
      pthread_mutex_unlock(&state_.lock);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

 private:
  State& state_;
};

// What was begun on lines comes first. All ranks have begun it by the time they come to their next collective.
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

// Collective, by all of a new communicator. `parent`: that it is a duplicate of, or MPI_COMM_NULL.
void set_up(MPI_Comm comm, MPI_Comm parent);
// By MPI_Init, behind the library's own, and by MPI_Finalize before it.
void start_up();
void shut_down();

// Says what went wrong, by the communicator's error handler; what the call returns.
int failed(State& state, int status);

}  // namespace fermata::preload
#endif
