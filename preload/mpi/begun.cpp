#include "begun.hpp"

#include "outstanding.hpp"
#include "persistent.hpp"
#include "pool.hpp"
#include "real.hpp"
#include "recovery.hpp"

namespace fermata::preload {

std::atomic<bool> testall_errs{false};

namespace {

// communicators with something outstanding that one round visits; the next round goes on from there
constexpr int kVisited = 64;

Begun* later = nullptr;  // over, and MPI does not know yet

// The call that completes the request reports errors (claim_error()).
int query(void*, MPI_Status* status) {
  make_empty(status);
  return MPI_SUCCESS;
}
int released(void* extra) {
  const Locked locked;
  static_cast<Begun*>(extra)->released = true;
  return MPI_SUCCESS;
}
int cancelled(void*, int) { return MPI_SUCCESS; }  // a collective cannot be cancelled

int error_of(Begun* b) {
  if (has_come(b->status)) return b->operation.finish(b->status);
  return is_mismatch(b->status)            ? MPI_ERR_TRUNCATE
         : b->status == FERMATA_ERR_MEMORY ? MPI_ERR_NO_MEM
                                           : MPI_ERR_OTHER;
}

void complete(Begun* b) {
  b->error = error_of(b);
  // order: relaxed: MPI hands this over to the thread that completes the request
  if (b->error != MPI_SUCCESS && !b->persistent) failures.fetch_add(1, std::memory_order_relaxed);
  const MPI_Request handle = b->handle;
  const bool in_library = move_to_ended(b);
  b->persistent ? persistent_over(*b, in_library) : static_cast<void>(PMPI_Grequest_complete(handle));
}

// The helper may call MPI only if several threads may. Else the thread that it helps completes the request,
// after its call. With the hook, too: nobody waits for the request in that call.
void end(Begun* b, int status) {
  b->status = status;
  b->told = true;
  if (is_mismatch(status)) note_mismatch(*b->state);
  else if (status == FERMATA_ERR_MEMORY) note_no_memory(*b->state);
  else if (!has_come(status))
    say("a non-blocking collective failed: %s: %s", fermata_status_string(status), fermata_error_detail());
  if (!is_beside || several_threads) return complete(b);
  b->behind = later;
  later = b;
}

void blocks_over(fermata_request*, int status, void* user) {
  auto* b = static_cast<Begun*>(user);
  --b->state->in_blocks;
  end(b, status);
}

bool on_line(const Begun* b) { return b->is_barrier || b->operation.rides(); }

int arrive(State& s, Begun* b) {
  return b->is_barrier ? fermata_arrive(s.member) : fermata_arrive_with(s.member, &b->operation.get());
}

// Returns Fermata's status. If it is FERMATA_OK, the request is active, or over already.
int begin_blocks(State& s, Begun* b) {
  return b->request != nullptr ? fermata_request_start(b->request)
                               : fermata_begin(s.member, &b->operation.get(), &b->request);
}

// The request is known to be active.
void let_go_on(State& s, Begun* b) {
  ++s.in_blocks;
  fermata_request_set_callback(b->request, blocks_over, b);
}

void start(State& s, Begun* b) {
  if (on_line(b)) {
    const int status = arrive(s, b);
    if (status != FERMATA_OK) return end(b, status);
    s.line = b;  // a test so soon would mostly find nothing
    return;
  }
  const int status = begin_blocks(s, b);
  if (status != FERMATA_OK) return end(b, status);
  let_go_on(s, b);
  // A request that was over at once has had no callback.
  const int now = fermata_request_test(b->request);
  if (now != FERMATA_PENDING && !b->told) blocks_over(b->request, now, b);
}

void depart(State& s) {
  Begun* const b = s.line;
  const int status = fermata_depart(s.member);
  s.line = nullptr;
  end(b, status);
}

// If all ranks begin a small collective at the same time, it is over after a signal or two. A request of
// MPI's takes longer. If they do not, it is tested ever more seldom. True: it is over, with *status.
bool is_over_soon(State& s, const Begun* b, int* status) {
  constexpr int kLooks = 256, kLooksAtBlocks = 64;
  constexpr std::uint32_t kMostPassed = 63;
  const bool line = s.line == b, small = line || b->operation.is_short();
  const bool looks = small && !s.tests_once && s.passed >= s.pass;
  if (small) s.passed = looks ? 0 : s.passed + 1;
  // Blocks are tested once in any case: a part that waits for no other rank is over by now.
  const int once = !line || s.tests_once ? 1 : 0;
  for (int i = !looks ? once : line ? kLooks : kLooksAtBlocks; i > 0; --i) {
    *status = line ? fermata_test(s.member) : fermata_request_test(b->request);
    if (*status == FERMATA_PENDING) continue;
    if (looks) s.pass = 0;
    return true;
  }
  if (looks && s.pass < kMostPassed) s.pass = 2 * s.pass + 1;
  return false;
}

// kNotBegun: it has to wait for earlier ones, or it fails.
enum class Soon : std::uint8_t { kNotBegun, kBegun, kOver };
Soon begin_at_once(State& s, Begun* b, int* status) {
  if (s.line != nullptr || s.waiting != nullptr) return Soon::kNotBegun;
  const bool line = on_line(b);
  *status = line ? arrive(s, b) : begin_blocks(s, b);
  if (*status != FERMATA_OK) return Soon::kNotBegun;
  if (line) s.line = b;
  return is_over_soon(s, b, status) ? Soon::kOver : Soon::kBegun;
}

// The caller holds the state.
void advance(State& s) {
  for (;;) {
    if (s.line != nullptr) {
      if (fermata_test(s.member) == FERMATA_PENDING) break;
      depart(s);
      continue;
    }
    Begun* const b = s.waiting;
    if (b == nullptr) break;
    s.waiting = b->behind;
    start(s, b);
    if (s.line == b) break;
  }
  if (s.in_blocks != 0) fermata_progress(s.member, 0);
}

int refuse(Begun* b, State& s, int rc) {
  {
    const Owned owned(s);
    fermata_request_free(b->request);
  }
  drop(b);
  return report(s, rc);
}

// The program gets a request of MPI's that is over when it is made.
int was_over(State& s, MPI_Request* out) {
  // order: relaxed: this call's own communicator
  return PMPI_Irecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, s.comm.load(std::memory_order_relaxed), out);
}

// The caller holds the state.
void register_begun(Begun* b, State& s, bool has_begun) {
  b->operation.use_objects(false);
  b->state = &s;
  hold(s);
  enlist(b);
  if (has_begun) {
    if (s.line != b) let_go_on(s, b);
    return;
  }
  (s.waiting != nullptr ? s.last_waiting->behind : s.waiting) = b;
  s.last_waiting = b;
  if (s.line == nullptr) advance(s);
}

// The program gets no request for a collective that goes on, or is over already.
int refuse_begun(State& s, MPI_Request* out) {
  if (*out != MPI_REQUEST_NULL) real.Request_free(out);
  reap();
  return report(s, MPI_ERR_TRUNCATE);
}

// It is over. The call that completes its request reports the error. The caller holds the state.
int end_with_error(Begun* b, State& s, MPI_Request* out) {
  const int rc = PMPI_Grequest_start(query, released, cancelled, b, &b->handle);
  if (rc != MPI_SUCCESS) return rc;
  *out = b->handle;
  b->state = &s;
  b->told = b->over = true;
  hold(s);
  failures.fetch_add(1, std::memory_order_relaxed);  // order: relaxed: see complete()
  add_to_ended(b);
  return PMPI_Grequest_complete(b->handle);
}

// Ends one for which MPI has no request. Returns Fermata's status. The caller holds the state.
int end_without(Begun* b, State& s) {
  if (s.line != b) return fermata_request_wait(b->request);
  s.line = nullptr;
  return fermata_depart(s.member);
}

}  // namespace

void advance_all(const fermata_member* waiting) {
  const int active = active_states();
  for (int visits = active < kVisited ? active : kVisited; visits > 0; --visits) {
    State* const s = visit_next();
    if (s == nullptr) return;
    // the thread that holds the state makes progress itself
    if (several_threads && pthread_mutex_trylock(&s->lock) != 0) continue;
    if (s->member != nullptr && s->member != waiting && s->begun != 0) advance(*s);
    if (several_threads) pthread_mutex_unlock(&s->lock);
  }
}

void complete_later() {
  while (later != nullptr) {
    Begun* const b = later;
    later = b->behind;
    complete(b);
  }
}

void start_again(Begun* b) {
  State& s = *b->state;
  b->told = b->over = false;
  fermata_request_set_callback(b->request, nullptr, nullptr);
  int status = fermata_request_start(b->request);
  if (status == FERMATA_OK && !is_over_soon(s, b, &status)) {
    enlist(b);
    return let_go_on(s, b);
  }
  b->status = status;
  if (is_mismatch(status)) note_mismatch(s);
  if (status == FERMATA_ERR_MEMORY) note_no_memory(s);
  b->error = error_of(b);
  b->told = b->over = true;
  persistent_over(*b, false);
}

int prepare_request(Begun* b) { return fermata_prepare(b->state->member, &b->operation.get(), &b->request); }

int begin(Begun* b, State& s, MPI_Request* out) {
  const Alone alone;
  // order: relaxed: a thread that tests the request gets it from this one, later
  testall_errs.store(true, std::memory_order_relaxed);
  int rc = b->operation.pack_inputs(), status = FERMATA_OK;
  const bool refuses = rc == MPI_SUCCESS && b->operation.refuse_own();
  *out = MPI_REQUEST_NULL;
  Soon soon = Soon::kNotBegun;
  if (rc == MPI_SUCCESS) {
    const Owned owned(s);
    ++s.ours;
    b = as_before(s, b);
    soon = begin_at_once(s, b, &status);
    if (soon == Soon::kOver) {
      if (s.line == b) status = end_without(b, s);
      b->status = status;
      if (is_mismatch(status)) note_mismatch(s);
      b->error = error_of(b);
      if (b->error == MPI_SUCCESS) recycle(s, b);
      else rc = end_with_error(b, s, out);
    } else if ((rc = PMPI_Grequest_start(query, released, cancelled, b, &b->handle)) == MPI_SUCCESS) {
      *out = b->handle;
      register_begun(b, s, soon == Soon::kBegun);
    } else if (soon == Soon::kBegun) {
      end_without(b, s);
    }
  }
  if (refuses && rc == MPI_SUCCESS) return refuse_begun(s, out);
  if (rc == MPI_SUCCESS && soon == Soon::kOver && *out == MPI_REQUEST_NULL) return was_over(s, out);
  if (rc != MPI_SUCCESS) return refuse(b, s, rc);
  reap();
  return MPI_SUCCESS;
}

void drain(State& s) {
  while (s.line != nullptr) {
    depart(s);
    advance(s);
  }
}

void wait_for(Begun* b) {
  State& s = *b->state;
  for (std::uint32_t rounds = 0; !b->over; ++rounds) {
    // other ranks may begin the one on lines later, and need this one before
    if (b->persistent && s.line != nullptr) {
      progress();
      drive_library();
      if (rounds > 256) give_way();
    } else if (s.line != nullptr) {
      depart(s);
    } else if (b->request != nullptr) {
      fermata_request_wait(b->request);
    }
    if (s.waiting != nullptr) advance(s);
  }
}

}  // namespace fermata::preload
