#include "communicator.hpp"

#include <fermata/hosts.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "begun.hpp"
#include "pool.hpp"
#include "real.hpp"
#include "recovery.hpp"
#include "types.hpp"
#include "world.hpp"

namespace fermata::preload {

std::atomic<State*> cache[kCached];
std::atomic<bool> any_bare{false};
bool several_threads = false, guarded = false;

namespace {

constexpr int kMostAlltoall = 256;        // docs/collectives.md, limits
constexpr int kMostPairsOverHosts = 16;   // beyond this, blocks cross to a host too often
constexpr std::uint32_t kEager = 32;      // communicators that get a team when they are made
constexpr std::uint32_t kUntilTeam = 32;  // others get it after so many blocking collectives
constexpr int kSaid = 16;                 // communicators that get a line with FERMATA_VERBOSE

int keyval = MPI_KEYVAL_INVALID;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
State* states = nullptr;                             // all of them; under lock
State* unused = nullptr;                             // freed, for later communicators; under lock
std::uint64_t accelerated = 0, not_accelerated = 0;  // communicators; under lock
std::uint64_t all_ours = 0, all_left = 0;            // collectives of freed communicators; under lock

void publish(State& s, MPI_Comm comm) {
  pthread_mutex_lock(&lock);
  --s.users;
  ++(s.member != nullptr ? accelerated : not_accelerated);
  s.comm.store(comm, std::memory_order_relaxed);  // order: relaxed: the store below publishes it
  pthread_mutex_unlock(&lock);
  // order: release, as kMove: the state is filled. Pairs with find()
  cache[cache_slot(comm)].store(&s, std::memory_order_release);
}

// Gives the team back, because nobody will use the state any more. Under lock.
void let_go(State& s) {
  drop_kept(s);
  if (s.pooled != nullptr) give_back(s.pooled, s.reason != nullptr);
  s.pooled = nullptr;
  s.member = nullptr;
  s.next_unused = unused;
  unused = &s;
}

// If this rank had no memory for a communicator's state, its attribute's value holds what is known. No state
// has such an address.
struct Bare {
  std::uint32_t until_team = 0, makings = 0;  // as in State
};
constexpr std::uintptr_t kIsBare = 1;
constexpr unsigned kMakingsAt = 16;
static_assert(kUntilTeam < 1u << (kMakingsAt - 1));
bool is_bare(const void* value) { return (reinterpret_cast<std::uintptr_t>(value) & kIsBare) != 0; }
Bare bare_of(const void* value) {
  const auto bits = reinterpret_cast<std::uintptr_t>(value);
  return {static_cast<std::uint32_t>(bits >> 1 & ((1u << (kMakingsAt - 1)) - 1)),
          static_cast<std::uint32_t>(bits >> kMakingsAt)};
}
void keep_bare(MPI_Comm comm, const Bare& bare) {
  const std::uintptr_t bits =
      std::uintptr_t{bare.makings} << kMakingsAt | std::uintptr_t{bare.until_team} << 1 | kIsBare;
  any_bare.store(true, std::memory_order_relaxed);  // order: relaxed: see may_be_bare()
  PMPI_Comm_set_attr(comm, keyval, reinterpret_cast<void*>(bits));
}
bool find_bare(MPI_Comm comm, Bare* out) {
  void* value = nullptr;
  int there = 0;
  if (keyval == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL ||
      PMPI_Comm_get_attr(comm, keyval, &value, &there) != MPI_SUCCESS)
    return false;
  if (there != 0 && is_bare(value)) *out = bare_of(value);
  return there != 0 && is_bare(value);
}

int freed(MPI_Comm comm, int, void* value, void*) {
  if (is_bare(value)) return MPI_SUCCESS;
  auto* s = static_cast<State*>(value);
  std::atomic<State*>& slot = cache[cache_slot(comm)];
  State* expected = s;
  // order: relaxed: the thread that frees the communicator is its last user
  slot.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
  s->kinds = s->begun_kinds = 0;
  {
    const Alone alone;
    reap();  // requests that the program has completed still hold the state
  }
  pthread_mutex_lock(&lock);
  all_ours += s->ours;
  all_left += s->left;
  s->ours = s->left = 0;
  const bool last = s->users == 0;
  if (last) let_go(*s);
  s->comm.store(MPI_COMM_NULL, std::memory_order_relaxed);  // order: relaxed: under lock
  pthread_mutex_unlock(&lock);
  return MPI_SUCCESS;
}

// Why MPI does the collectives, as far as all ranks know without a message; null: no such reason.
const char* unfit(MPI_Comm comm, State& s, int (&ranks)[kMostMembers]) {
  int inter = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) return "an intercommunicator";
  PMPI_Comm_size(comm, &s.size);
  PMPI_Comm_rank(comm, &s.rank);
  if (s.size == 1) return "one rank";
  if (s.size > kMostMembers) return "more than 1024 ranks";
  if (settings.kinds == 0) return "FERMATA_MPI_COLLECTIVES selects none";
  if (!world_ranks(comm, s.size, ranks)) return "ranks of another MPI_COMM_WORLD";
  return nullptr;
}

// The communicator that this one duplicates, if it has a team that its ranks can agree by; else null.
State* council_of(const Origin& origin) {
  State* const p = origin.duplicate ? find(origin.parent) : nullptr;
  if (p == nullptr || p->member == nullptr || p->mismatched) return nullptr;
  const Entered entered(*p);
  // All its ranks are in this call, so all see whether the team was unusable before.
  if (!is_mismatch(fermata_test(p->member))) return p;
  note_mismatch(*p);
  return nullptr;
}

void postpone(State& s, MPI_Comm comm) {
  PMPI_Comm_size(comm, &s.size);
  PMPI_Comm_rank(comm, &s.rank);
  s.reason = "it was not used enough for a team";
}

// Collective: all ranks of the communicator call it.
void equip(State& s, const Council& council) {
  const MPI_Comm comm = council.comm;
  int ranks[kMostMembers];
  s.reason = unfit(comm, s, ranks);
  const bool over_hosts = s.reason == nullptr && are_on_several_hosts(ranks, s.size);
  if (over_hosts && !transport_is_ready)
    s.reason = "its ranks are on several hosts, and MPI's functions were not found";
  if (s.reason == nullptr) s.pooled = take_team(council, ranks, s.size, s.rank, over_hosts, &s.reason);
  s.member = s.pooled != nullptr ? s.pooled->member : nullptr;
  if (s.member != nullptr) {
    s.tests_once = over_hosts || s.pooled->ranks_of_a_cpu > 1;
    s.kinds = settings.kinds;
    if (s.size > kMostAlltoall) s.kinds &= ~(1u << kAlltoall);
    s.begun_reason = why_none_begins(ranks, s.size, over_hosts);
    s.folds_begun = all_may_call_beside(ranks, s.size);
    if (s.begun_reason == nullptr) s.begun_kinds = s.kinds;
    s.pairs = s.size <= (over_hosts ? kMostPairsOverHosts : kMostAlltoall);
  }
  static std::atomic<int> said{0};
  // order: relaxed: a count
  if (!settings.verbose || s.rank != 0 || s.size < 2 || said.fetch_add(1, std::memory_order_relaxed) >= kSaid)
    return;
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(comm, name, &length);
  say("communicator %s of %d ranks: %s", name[0] != '\0' ? name : "without a name", s.size,
      s.member == nullptr ? s.reason
      : over_hosts        ? "a team over hosts"
                          : "a team of this host");
}

// Counts a call that makes communicators from the parent. Returns the parent's State::makings; 0: the parent
// is not known.
std::uint32_t count_making(MPI_Comm parent, State* known) {
  if (known != nullptr) return ++known->makings;
  Bare bare;
  if (!may_be_bare(known) || !find_bare(parent, &bare)) return 0;
  ++bare.makings;
  keep_bare(parent, bare);
  return bare.makings;
}

void refuse_team(MPI_Comm comm, State* council) {
  State nobodys;
  equip(nobodys, {comm, council, true});
}

}  // namespace

State* find_slowly(MPI_Comm comm) {
  if (keyval == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL) return nullptr;
  void* value = nullptr;
  int there = 0;
  if (PMPI_Comm_get_attr(comm, keyval, &value, &there) != MPI_SUCCESS || there == 0) return nullptr;
  if (is_bare(value)) return nullptr;
  auto* s = static_cast<State*>(value);
  // order: release, as kMove: as in publish(). Pairs with find()
  cache[cache_slot(comm)].store(s, std::memory_order_release);
  return s;
}

void hold(State& s) {
  if (several_threads) pthread_mutex_lock(&lock);
  ++s.users;
  if (several_threads) pthread_mutex_unlock(&lock);
}

void release(State& s) {
  if (several_threads) pthread_mutex_lock(&lock);
  // order: relaxed: under lock
  const bool last = --s.users == 0 && s.comm.load(std::memory_order_relaxed) == MPI_COMM_NULL;
  if (last) let_go(s);
  if (several_threads) pthread_mutex_unlock(&lock);
}

State* new_state() {
  pthread_mutex_lock(&lock);
  State* s = unused;
  if (s != nullptr) {
    unused = s->next_unused;
  } else {
    void* memory = nullptr;
    if (posix_memalign(&memory, alignof(State), sizeof(State)) == 0) {
      s = new (memory) State;
      s->next = states;
      states = s;
    }
  }
  if (s != nullptr) ++s->users;  // until it is published
  pthread_mutex_unlock(&lock);
  return s;
}

void forget(State* s) {
  if (s == nullptr) return;
  pthread_mutex_lock(&lock);
  --s->users;
  s->next_unused = unused;
  unused = s;
  pthread_mutex_unlock(&lock);
}

bool watches() { return keyval != MPI_KEYVAL_INVALID; }

void set_up(State* s, MPI_Comm comm, const Origin& origin) {
  State* const parent = origin.parent != MPI_COMM_NULL ? find(origin.parent) : nullptr;
  // A rank that is in none of the parent's new communicators counts the call, too.
  const std::uint32_t makings = count_making(origin.parent, parent);
  const std::uint32_t until_team = origin.initial || (makings != 0 && makings <= kEager) ? 0 : kUntilTeam;
  if (comm == MPI_COMM_NULL) return forget(s);
  if (s == nullptr) {
    if (until_team == 0) refuse_team(comm, council_of(origin));
    return keep_bare(comm, {until_team, makings});
  }
  s->kinds = s->begun_kinds = 0;
  s->ours = s->left = s->starts = s->prepared = s->resumes = 0;
  s->mismatched = false;
  s->size = s->rank = 0;
  s->pooled = nullptr;
  s->member = nullptr;
  s->makings = makings;
  s->until_team = until_team;
  if (until_team == 0) equip(*s, {comm, council_of(origin)});
  else postpone(*s, comm);
  publish(*s, comm);
  PMPI_Comm_set_attr(comm, keyval, s);
}

bool gets_team(State& s, Kind kind) {
  if (s.until_team == 0 || --s.until_team != 0) return false;
  s.until_team = 1;
  give_team(s);
  return s.serves(kind);
}

void give_team(State& s) {
  if (s.until_team == 0) return;
  s.until_team = 0;
  // order: relaxed: this call's own communicator
  equip(s, {s.comm.load(std::memory_order_relaxed), nullptr});
  pthread_mutex_lock(&lock);
  if (s.member != nullptr) {
    ++accelerated;
    --not_accelerated;
  }
  pthread_mutex_unlock(&lock);
}

void count_bare(MPI_Comm comm) {
  Bare bare;
  if (!find_bare(comm, &bare) || bare.until_team == 0) return;
  --bare.until_team;
  keep_bare(comm, bare);
  if (bare.until_team == 0) refuse_team(comm, nullptr);
}

void refuse_bare(MPI_Comm comm) {
  Bare bare;
  if (!find_bare(comm, &bare) || bare.until_team == 0) return;
  keep_bare(comm, {0, bare.makings});
  refuse_team(comm, nullptr);
}

void start_up() {
  fill_type_table();
  // Not a duplicate of MPI_COMM_SELF: in MPICH its probes look only at its own messages.
  if (real.Comm_dup(MPI_COMM_WORLD, &private_comm) != MPI_SUCCESS) private_comm = MPI_COMM_NULL;
  if (private_comm != MPI_COMM_NULL) PMPI_Comm_set_errhandler(private_comm, MPI_ERRORS_RETURN);
  State* const world = new_state();
  State* const self = new_state();
  const bool has_all = private_comm != MPI_COMM_NULL && world != nullptr && self != nullptr;
  const bool all = all_have({MPI_COMM_WORLD, nullptr}, has_all);
  if (!all || !find_world() ||
      PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &keyval, nullptr) != MPI_SUCCESS) {
    say("a rank has no memory or no further communicator, or MPI does not tell the ranks' hosts: everything "
        "stays the MPI library's");
    keyval = MPI_KEYVAL_INVALID;
    drop_world();
    forget(world);
    forget(self);
    return;
  }
  set_up(world, MPI_COMM_WORLD, {MPI_COMM_NULL, false, true});
  set_up(self, MPI_COMM_SELF, {MPI_COMM_NULL, false, true});
}

// All ranks are in this call, so no rank needs another rank's part any more.
void shut_down() {
  if (keyval == MPI_KEYVAL_INVALID) return;
  real.Barrier(MPI_COMM_WORLD);
  std::uint64_t ours = all_ours, left = all_left;
  for (State* s = states; s != nullptr; s = s->next) {
    ours += s->ours;
    left += s->left;
    s->ours = s->left = 0;
    s->kinds = s->begun_kinds = 0;
    drop_kept(*s);
    s->pooled = nullptr;
    s->member = nullptr;
    // order: relaxed: after the last collective
    const MPI_Comm comm = s->comm.exchange(MPI_COMM_NULL, std::memory_order_relaxed);
    if (comm == MPI_COMM_NULL) continue;
    cache[cache_slot(comm)].store(nullptr, std::memory_order_relaxed);  // order: likewise
    PMPI_Comm_delete_attr(comm, keyval);
  }
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    say("rank 0: %llu communicators with a team, %llu without; collectives: %llu by Fermata, %llu by the "
        "library",
        static_cast<unsigned long long>(accelerated), static_cast<unsigned long long>(not_accelerated),
        static_cast<unsigned long long>(ours), static_cast<unsigned long long>(left));
  drop_teams();
  PMPI_Comm_free_keyval(&keyval);
  keyval = MPI_KEYVAL_INVALID;
  drop_world();
  if (private_comm != MPI_COMM_NULL) real.Comm_free(&private_comm);
}

int report(State& s, int code) {
  // order: relaxed: this call's own communicator
  PMPI_Comm_call_errhandler(s.comm.load(std::memory_order_relaxed), code);
  return code;
}

int failed(State& s, int status) {
  say("rank %d of %d: %s: %s", s.rank, s.size, fermata_status_string(status), fermata_error_detail());
  const bool usable = status == FERMATA_ERR_ARGUMENT || status == FERMATA_ERR_TRUNCATED;
  if (s.reason == nullptr && !usable) s.reason = "its team is broken";
  return report(s, status == FERMATA_ERR_TRUNCATED  ? MPI_ERR_TRUNCATE
                   : status == FERMATA_ERR_MEMORY   ? MPI_ERR_NO_MEM
                   : status == FERMATA_ERR_ARGUMENT ? MPI_ERR_ARG
                                                    : MPI_ERR_OTHER);
}

}  // namespace fermata::preload
