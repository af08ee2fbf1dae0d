#include "outstanding.hpp"

namespace fermata::preload {

std::atomic<int> outstanding{0};
std::atomic<int> failures{0};
pthread_mutex_t requests_lock = PTHREAD_MUTEX_INITIALIZER;

namespace {

Begun* chains[kChains];       // outstanding ones by their handles
Begun* ended = nullptr;       // over, and not yet freed
State* active = nullptr;      // states with something outstanding
State* next_visit = nullptr;  // of those; null: the first
int active_count = 0;

Begun*& chain_of(MPI_Request handle) { return chains[chain_number(handle)]; }

void push(Begun*& list, Begun* b) {
  b->previous = nullptr;
  b->next = list;
  if (list != nullptr) list->previous = b;
  list = b;
}
void take_out(Begun*& list, Begun* b) {
  (b->previous != nullptr ? b->previous->next : list) = b->next;
  if (b->next != nullptr) b->next->previous = b->previous;
}

void count_in(State& s) {
  const Locked locked;
  if (s.begun++ != 0) return;
  s.next_active = active;
  active = &s;
  ++active_count;
}
void count_out(State& s) {  // with the lock
  if (--s.begun != 0) return;
  State** at = &active;
  while (*at != &s) at = &(*at)->next_active;
  *at = s.next_active;
  if (next_visit == &s) next_visit = s.next_active;
  --active_count;
}

// An atomic addition costs as much as everything else here. It is not needed if only one thread calls.
void count(int by) {
  if (several_threads) {
    // order: seq_cst: store-load, as kRingFence. Pairs with is_wanted()
    outstanding.fetch_add(by, std::memory_order_seq_cst);
  } else {
    // order: relaxed, both: only one thread calls, and Beside::enter() publishes the count
    outstanding.store(outstanding.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
}

// Needs the lock. Null: it has not failed.
Begun* failed_of(MPI_Request handle) {
  Begun* b = ended;
  while (b != nullptr && (b->handle != handle || b->error == MPI_SUCCESS || b->persistent)) b = b->next;
  return b;
}

}  // namespace

void enlist(Begun* b) {
  count_in(*b->state);
  {
    const Locked locked;
    push(chain_of(b->handle), b);
  }
  count(1);
  if (several_threads) help_waiting_calls();
}

bool move_to_ended(Begun* b) {
  bool in_library = false;
  {
    const Locked locked;
    take_out(chain_of(b->handle), b);
    count_out(*b->state);
    b->over = true;
    in_library = b->in_library;
    if (!b->persistent || b->released) push(ended, b);
  }
  count(-1);
  return in_library;
}

void free_when_over(Begun* b) {
  const Locked locked;
  b->released = true;
  if (b->over) push(ended, b);
}

void add_to_ended(Begun* b) {
  const Locked locked;
  push(ended, b);
}

int active_states() {
  const Locked locked;
  return active_count;
}

State* visit_next() {
  const Locked locked;
  State* const s = next_visit != nullptr ? next_visit : active;
  if (s != nullptr) next_visit = s->next_active;
  return s;
}

Begun* outstanding_of(MPI_Request handle) {
  const Locked locked;
  Begun* b = chain_of(handle);
  while (b != nullptr && b->handle != handle) b = b->next;
  return b;
}

bool is_failed(MPI_Request handle) {
  const Locked locked;
  return failed_of(handle) != nullptr;
}

int claim_error(MPI_Request handle, MPI_Comm* comm) {
  const Locked locked;
  Begun* const b = failed_of(handle);
  if (b == nullptr) return MPI_SUCCESS;
  const int error = b->error;
  b->error = MPI_SUCCESS;
  failures.fetch_sub(1, std::memory_order_relaxed);  // order: relaxed: see complete()
  // order: relaxed: null if it was freed meanwhile
  *comm = b->state->comm.load(std::memory_order_relaxed);
  return error;
}

void reap() {
  if (ended == nullptr) return;
  Begun* list = nullptr;
  {
    const Locked locked;
    for (Begun* b = ended; b != nullptr;) {
      Begun* const next = b->next;
      if (b->released) {
        take_out(ended, b);
        b->next = list;
        list = b;
      }
      b = next;
    }
  }
  while (list != nullptr) {
    Begun* const b = list;
    list = b->next;
    State& s = *b->state;
    const bool locks = several_threads && b->request != nullptr;
    // Another thread may wait in a call of that communicator, and for this thread: then it is freed later.
    if (locks && pthread_mutex_trylock(&s.lock) != 0) {
      const Locked locked;
      push(ended, b);
      continue;
    }
    recycle(s, b);
    if (locks) pthread_mutex_unlock(&s.lock);
    release(s);
  }
}

}  // namespace fermata::preload
