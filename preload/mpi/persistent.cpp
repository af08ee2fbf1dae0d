#include "persistent.hpp"

#include "outstanding.hpp"
#include "pool.hpp"
#include "real.hpp"
#include "recovery.hpp"
#include "watch.hpp"

namespace fermata::preload {

std::atomic<int> persistents{0};

namespace {

Begun* chains[kChains];  // by their handles; under requests_lock
int last_tag = 0;        // likewise

void take_out(Begun* b) {
  const Locked locked;
  Begun** at = &chains[chain_number(b->handle)];
  while (*at != b) at = &(*at)->next_persistent;
  *at = b->next_persistent;
  persistents.fetch_sub(1, std::memory_order_relaxed);  // order: relaxed: as any_persistent()
}

// Needs the lock.
bool is_used(int tag) {
  for (Begun* b : chains)
    for (; b != nullptr; b = b->next_persistent)
      if (b->tag == tag) return true;
  return false;
}

// Needs the lock. A tag that no other request has; 0: there is none.
int next_tag(int largest) {
  static bool starts_again = false;
  for (int tries = 0; tries < largest; ++tries) {
    starts_again = starts_again || last_tag >= largest;
    last_tag = last_tag < largest ? last_tag + 1 : 1;
    if (!starts_again || !is_used(last_tag)) return last_tag;
  }
  return 0;
}

int make_token(Begun* b) {
  constexpr int kLeastLargestTag = 32767;  // MPI 4.1, section 9.1.2
  int* largest = nullptr;
  int there = 0;
  PMPI_Comm_get_attr(private_comm, MPI_TAG_UB, &largest, &there);
  {
    const Locked locked;
    b->tag = next_tag(there != 0 ? *largest : kLeastLargestTag);
  }
  if (b->tag == 0) return MPI_ERR_OTHER;
  return PMPI_Recv_init(nullptr, 0, MPI_BYTE, own_rank(), b->tag, private_comm, &b->handle);
}

// One byte, after an error, is too long for the receive: the call that completes the request gets an error.
void send(const Begun& b) {
  const char failure = 0;
  PMPI_Send(&failure, b.error != MPI_SUCCESS ? 1 : 0, MPI_BYTE, own_rank(), b.tag, private_comm);
}

// requests_lock guards what a thread that completes a request and the one that ends it tell each other:
// `over` and in_library. Not the state's lock: a thread may hold that in a blocking call, and the ranks that
// it waits for may wait for the completing thread.
bool is_shown(const Begun* b) {
  const Locked locked;
  return b->in_library;
}
bool is_over(const Begun* b) {
  const Locked locked;
  return b->over;
}

// For a request that is not shown.
void show(Begun* b) {
  if (real.Start(&b->handle) != MPI_SUCCESS) return;
  bool over = false;
  {
    const Locked locked;
    b->in_library = true;
    over = b->over;
  }
  if (over) send(*b);
}

// The program has completed it. Returns what the program learns.
int completed(Begun* b, MPI_Status* status) {
  b->started = false;
  if (status != MPI_STATUS_IGNORE) make_empty(status);
  return b->error == MPI_SUCCESS ? MPI_SUCCESS : report(*b->state, b->error);
}

int start(Begun* b, MPI_Request* request, const void* site) {
  State& s = *b->state;
  const Watched observed(&s, b->kind, site, nullptr);
  const Owned owned(s);
  if (b->started && !(is_shown(b) && is_over(b))) {
    if (!is_shown(b)) show(b);
    return real.Start(request);  // MPI reports what is wrong
  }
  if (const int rc = b->operation.pack_inputs(); rc != MPI_SUCCESS) return report(s, rc);
  ++s.ours;
  ++s.starts;
  b->started = true;
  b->in_library = false;
  start_again(b);
  return MPI_SUCCESS;
}

// FERMATA_ERR_MEMORY, at all ranks alike: not all ranks have what they need.
int agree(State& s, bool mine) {
  std::int32_t have = mine ? 1 : 0, all = 0;
  const int status = fermata_allreduce(s.member, &have, &all, 1, FERMATA_INT32, FERMATA_MIN);
  return status != FERMATA_OK ? status : all != 0 ? FERMATA_OK : FERMATA_ERR_MEMORY;
}

// What the ranks tell each other about their arguments. The largest value of each counts.
struct Told {
  std::uint64_t lacks = 0;              // 1: this rank has no memory
  std::uint64_t longest = 0;            // of all but the root
  std::uint64_t shortest_inverted = 0;  // likewise
  std::uint64_t root = 0;               // the root's length
};

// Fermata's operations have one length at all ranks. A rank that alone receives takes the length that the
// others send. MPI does all other calls whose lengths differ: FERMATA_ERR_UNSUPPORTED, at all ranks alike. b
// null: this rank has no memory.
int agree_on_length(Begun* b, State& s, const Arguments& a) {
  const CollectiveRules& rules = rules_of(a.collective);
  const bool rooted = rules.has_root() && !rules.has_several();
  const bool root = rooted && s.rank == a.root;
  Told told;
  told.lacks = b == nullptr ? 1 : 0;
  if (b != nullptr) {
    const std::uint64_t length = b->operation.length(s.size);
    if (root) told.root = length;
    else told.longest = length, told.shortest_inverted = ~length;
  }
  constexpr std::size_t kWords = sizeof told / sizeof told.lacks;
  const int status =
      fermata_allreduce(s.member, FERMATA_IN_PLACE, &told, kWords, FERMATA_UINT64, FERMATA_MAX);
  if (status != FERMATA_OK) return status;
  if (told.lacks != 0) return FERMATA_ERR_MEMORY;
  const std::uint64_t shortest = ~told.shortest_inverted;
  if (!rules.root_gives() && told.longest != shortest) return FERMATA_ERR_UNSUPPORTED;
  const bool receives = rooted && root == rules.root_gets();
  if (!rooted || (told.root == told.longest && told.root == shortest)) return FERMATA_OK;
  return agree(s, !receives || b->operation.take_length(a, root ? shortest : told.root));
}

// b null: this rank has no memory. Returns Fermata's status.
int prepare_together(Begun* b, State& s, const Arguments& arguments) {
  int status = agree_on_length(b, s, arguments);
  if (status != FERMATA_OK) return status;
  b->operation.use_objects(true);
  status = prepare_request(b);
  return status == FERMATA_OK || status == FERMATA_ERR_MEMORY ? agree(s, status == FERMATA_OK) : status;
}

void drop_prepared(Begun* b) {
  if (b->handle != MPI_REQUEST_NULL) real.Request_free(&b->handle);
  drop(b);
}

}  // namespace

int make_persistent(Begun* b, State& s, Kind kind, const Arguments& arguments, MPI_Request* out, bool* left) {
  const bool has_token = b != nullptr && make_token(b) == MPI_SUCCESS;
  int status = FERMATA_OK, rc = MPI_SUCCESS;
  {
    const Entered entered(s);
    if (has_token) {
      b->state = &s;
      b->kind = kind;
      b->persistent = b->over = true;
    }
    status = prepare_together(has_token ? b : nullptr, s, arguments);
    if (status != FERMATA_OK && b != nullptr) fermata_request_free(b->request);
  }
  *left = status == FERMATA_ERR_MEMORY || status == FERMATA_ERR_UNSUPPORTED;
  if (status != FERMATA_OK) {
    if (b != nullptr) drop_prepared(b);
    if (is_mismatch(status)) {
      note_mismatch(s);
      *left = goes_to_library(s, kind, true, &rc);
      return rc;
    }
    return *left ? MPI_SUCCESS : failed(s, status);
  }
  ++s.prepared;
  hold(s);
  *out = b->handle;
  const Locked locked;
  Begun*& chain = chains[chain_number(b->handle)];
  b->next_persistent = chain;
  chain = b;
  persistents.fetch_add(1, std::memory_order_relaxed);  // order: relaxed: as any_persistent()
  return MPI_SUCCESS;
}

Begun* persistent_of(MPI_Request handle) {
  const Locked locked;
  Begun* b = chains[chain_number(handle)];
  while (b != nullptr && b->handle != handle) b = b->next_persistent;
  return b;
}

void persistent_over(Begun& b, bool in_library) {
  if (!has_come(b.status) && !is_mismatch(b.status)) failed(*b.state, b.status);
  if (in_library) send(b);
}

int wait_persistent(Begun* b, MPI_Status* status) {
  if (!several_threads) wait_for(b);
  if (!several_threads && b->started && !b->in_library) [[likely]]
    return completed(b, status);
  return poll([=](int* flag) { return test_persistent(b, flag, status); });
}

int test_persistent(Begun* b, int* flag, MPI_Status* status) {
  if (any_begun()) progress();
  if (!b->started || is_shown(b)) return real.Test(&b->handle, flag, status);
  const bool over = is_over(b);
  *flag = over;
  return over ? completed(b, status) : MPI_SUCCESS;
}

void show_to_library(int count, const MPI_Request* requests) {
  if (!any_persistent() || requests == nullptr) return;
  for (int i = 0; i < count; ++i) {
    Begun* const b = persistent_of(requests[i]);
    if (b == nullptr) continue;
    if (b->started && !is_shown(b)) show(b);
  }
}

void free_persistent_ones() {
  for (Begun*& chain : chains)
    while (Begun* const b = chain) {
      take_out(b);
      PMPI_Request_free(&b->handle);
      free_when_over(b);
    }
}

}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_MPI_STARTS(FERMATA_INTERCEPT)

extern "C" {

int MPI_Start(MPI_Request* request) {
  Begun* const b = persistent_in(request);
  return b != nullptr ? start(b, request, FERMATA_SITE) : real.Start(request);
}

int MPI_Startall(int count, MPI_Request* requests) {
  if (!any_persistent() || requests == nullptr) return real.Startall(count, requests);
  int rc = MPI_SUCCESS;
  for (int i = 0; i < count && rc == MPI_SUCCESS; ++i) {
    Begun* const b = persistent_of(requests[i]);
    rc = b != nullptr ? start(b, &requests[i], FERMATA_SITE) : real.Start(&requests[i]);
  }
  return rc;
}

int MPI_Request_free(MPI_Request* request) {
  Begun* const b = persistent_in(request);
  if (b == nullptr) return real.Request_free(request);
  take_out(b);
  const int rc = real.Request_free(request);
  const Alone alone;
  free_when_over(b);
  reap();
  return rc;
}

int MPI_Cancel(MPI_Request* request) {
  // A collective cannot be cancelled.
  return persistent_in(request) != nullptr ? MPI_SUCCESS : real.Cancel(request);
}

}  // extern "C"
