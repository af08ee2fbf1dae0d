// How a team is made. The first rank proposes an unused team of exactly these ranks, by its id. If all ranks
// have it unused, they take it. Else the first rank makes a new team. All teams whose ranks are on one host
// lie in that host's segment (segment.hpp).
#include "pool.hpp"

#include <fermata/mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "begun.hpp"
#include "notice.hpp"
#include "preload/common/clock.hpp"
#include "real.hpp"
#include "segment.hpp"

namespace fermata::preload {

MPI_Comm private_comm = MPI_COMM_NULL;

namespace {

constexpr int kMostTeams = 1024;  // at a time
// between calls that drive MPI, of a waiting member with a CPU for itself
constexpr std::int64_t kLookEveryNs = 20'000;
// longest sleep of a waiting member, because MPI wants to be driven
constexpr double kHookEvery = 1e-3;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Pooled* pool = nullptr;  // all, taken or not; under lock
int teams = 0;           // likewise
int* cpu_of = nullptr;   // the CPU that each rank of MPI_COMM_WORLD was bound to in MPI_Init, or -1

// The most teams over hosts: each has a segment and connections of its own.
int most_over_hosts() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return 256;
  return files.rlim_cur / 4 < 256 ? static_cast<int>(files.rlim_cur / 4) : 256;
}

bool is_of(const Pooled& p, const int* ranks, int size) {
  return p.size == size && memcmp(p.ranks, ranks, static_cast<std::size_t>(size) * sizeof *ranks) == 0;
}

// id 0: any team of these ranks.
Pooled* take_unused(const int* ranks, int size, std::uint64_t id) {
  pthread_mutex_lock(&lock);
  Pooled* p = pool;
  while (p != nullptr && (p->taken || (id != 0 && p->id != id) || !is_of(*p, ranks, size))) p = p->next;
  if (p != nullptr) p->taken = true;
  pthread_mutex_unlock(&lock);
  return p;
}

void destroy(Pooled* p) {
  fermata_member_leave(p->member);
  fermata_team_destroy(p->team);
  free(p->ranks);
  free(p);
}

// Under lock.
void unlink(Pooled* p) {
  Pooled** at = &pool;
  while (*at != p) at = &(*at)->next;
  *at = p->next;
  --teams;
}

// Makes room for one more team. If needed, the oldest unused team goes, but not one over hosts: several hosts
// must agree on its end. False: there is no room.
bool make_room(bool over_hosts) {
  pthread_mutex_lock(&lock);
  // this library's static initializers are not thread-safe by themselves
  static const int most_over = most_over_hosts();
  Pooled* oldest = nullptr;
  int over = 0;
  for (const Pooled* p = pool; p != nullptr; p = p->next) over += p->over_hosts;
  if (teams >= kMostTeams)
    for (Pooled* p = pool; p != nullptr; p = p->next)
      if (!p->taken && !p->over_hosts) oldest = p;
  if (oldest != nullptr) unlink(oldest);
  const bool room = teams < kMostTeams && (!over_hosts || over < most_over);
  if (room) ++teams;
  pthread_mutex_unlock(&lock);
  if (oldest != nullptr) destroy(oldest);
  return room;
}

// Does not drive MPI at each poll, which costs more than the poll. If Open MPI is told to yield, it would
// give the CPU away in each call. Beside other programs that costs a time slice, and the wait policy knows
// better.
int idle(fermata_member* member, void* pooled) {
  thread_local std::int64_t next_ns = 0;
  const std::int64_t now = now_ns();
  if (now < next_ns) return 0;
  next_ns = now + static_cast<const Pooled*>(pooled)->look_every_ns;
  const bool yields = set_library_yields != nullptr && set_library_yields(false);
  drive_library();
  if (yields) set_library_yields(true);
  progress_beside(member);
  return 0;
}

// Joins the team, or destroys it and returns null.
Pooled* enter(fermata_team* team, std::uint64_t id, const int* ranks, int size, int rank, bool over_hosts) {
  auto* made = static_cast<Pooled*>(calloc(1, sizeof(Pooled)));
  int* copy = static_cast<int*>(malloc(static_cast<std::size_t>(size) * sizeof *ranks));
  fermata_member* member = nullptr;
  const bool fits = fermata_team_size(team) == size;  // its maker may lie
  if (made == nullptr || copy == nullptr || !fits || fermata_team_join(team, rank, &member) != FERMATA_OK) {
    say("a team cannot be joined: %s", fits ? fermata_error_detail() : "it has another size");
    free(made);
    free(copy);
    fermata_team_destroy(team);
    return nullptr;
  }
  memcpy(copy, ranks, static_cast<std::size_t>(size) * sizeof *ranks);
  fermata_member_set_idle_hook(member, idle, made);
  fermata_member_set_idle_sleep(member, kHookEvery);
  fermata_member_set_bounded(member, 1);
  const auto cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const std::int64_t ranks_of_a_cpu = cpus > 0 && size > cpus ? (size + cpus - 1) / cpus : 1;
  *made = {nullptr, id,   team,       member,         size,
           copy,    true, over_hosts, ranks_of_a_cpu, kLookEveryNs * ranks_of_a_cpu};
  return made;
}

// The CPU of each rank; false: not each rank is bound to one.
bool bound_cpus(const int* ranks, int size, int* cpus) {
  for (int r = 0; r < size; ++r) {
    cpus[r] = cpu_of[ranks[r]];
    if (cpus[r] < 0) return false;
  }
  return true;
}

// lead() makes the new team at the first rank, and follow() attaches to it at the others.
Pooled* lead(const Council& council, const int* ranks, int size, const int* cpus) {
  fermata_team* team = nullptr;
  std::uint64_t place = make_in_segment(size, cpus, &team);
  tell(council, &place, sizeof place);
  return team != nullptr ? enter(team, place, ranks, size, 0, false) : nullptr;
}

Pooled* follow(std::uint64_t place, const int* ranks, int size, int rank) {
  fermata_team* const team = place != 0 ? attach_in_segment(place, size) : nullptr;
  return team != nullptr ? enter(team, place, ranks, size, rank, false) : nullptr;
}

// A team over several hosts, which the transport connects.
Pooled* join_hosts(const Council& council, std::uint64_t id, const int* ranks, int size) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  fermata_team* team = nullptr;
  int first = 0;
  const Beside beside;
  const int status = fermata_team_create_mpi(council.comm, &config, &team, &first);
  if (status != FERMATA_OK) {
    say("no team of %d over hosts: %s", size, fermata_status_string(status));
    return nullptr;
  }
  return enter(team, id, ranks, size, first, true);
}

// All ranks make the team, after they have agreed to. Null: this rank has none.
Pooled* make_team(const Council& council, const int* ranks, int size, int rank, bool over_hosts,
                  const int* cpus) {
  if (!over_hosts && rank == 0) return lead(council, ranks, size, cpus);
  std::uint64_t id = over_hosts && rank == 0 ? new_id() : 0;
  tell(council, &id, sizeof id);
  return over_hosts ? join_hosts(council, id, ranks, size) : follow(id, ranks, size, rank);
}

// Takes the team into the pool, for which make_room() has counted it, or destroys it, if not all ranks have
// it.
Pooled* pool_or_destroy(const Council& council, Pooled* mine) {
  // a member that lies may have overwritten the agreement, so `mine` is checked, too
  const bool all = all_have(council, mine != nullptr) && mine != nullptr;
  pthread_mutex_lock(&lock);
  if (all) {
    mine->next = pool;
    pool = mine;
  } else {
    --teams;
  }
  pthread_mutex_unlock(&lock);
  if (!all && mine != nullptr) destroy(mine);
  return all ? mine : nullptr;
}

Pooled* new_team(const Council& council, const int* ranks, int size, int rank, bool over_hosts,
                 const char** why) {
  if (!over_hosts && !has_segment()) {  // all ranks of the host know this alike
    *why = "no memory for teams";
    return nullptr;
  }
  int* cpus = static_cast<int*>(malloc(static_cast<std::size_t>(size) * sizeof(int)));
  const bool room = !council.refuses && make_room(over_hosts);
  const bool opens = !over_hosts || can_open_few();
  if (!all_have(council, room && opens && cpus != nullptr)) {
    *why =
        "too many communicators with teams are in use, or a rank has no memory or may open no further files";
    pthread_mutex_lock(&lock);
    teams -= room;
    pthread_mutex_unlock(&lock);
    free(cpus);
    return nullptr;
  }
  const bool bound = !over_hosts && bound_cpus(ranks, size, cpus);
  Pooled* const made = make_team(council, ranks, size, rank, over_hosts, bound ? cpus : nullptr);
  free(cpus);
  Pooled* const mine = pool_or_destroy(council, made);
  if (mine == nullptr) *why = "a team could not be made";
  return mine;
}

}  // namespace

int own_rank() {
  int rank = 0;
  PMPI_Comm_rank(private_comm, &rank);
  return rank;
}

int bound_cpu() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) != 1) return -1;
  int cpu = 0;
  while (!CPU_ISSET(cpu, &set)) ++cpu;
  return cpu;
}

bool prepare_teams(MPI_Comm host, int* cpus) {
  int size = 0, rank = 0;
  PMPI_Comm_size(host, &size);
  PMPI_Comm_rank(host, &rank);
  cpu_of = cpus;
  if (cpu_of == nullptr) return false;
  if (size > 1) share_segment({host, nullptr}, size, rank);
  return true;
}

Pooled* take_team(const Council& council, const int* ranks, int size, int rank, bool over_hosts,
                  const char** why) {
  Pooled* mine = rank == 0 && !council.refuses ? take_unused(ranks, size, 0) : nullptr;
  std::uint64_t id = mine != nullptr ? mine->id : 0;
  tell(council, &id, sizeof id);
  if (id != 0) {
    if (rank != 0 && !council.refuses) mine = take_unused(ranks, size, id);
    const bool all = all_have(council, mine != nullptr);
    if (all && mine == nullptr) *why = "another process has overwritten what the ranks agreed on";
    if (all) return mine;
    if (mine != nullptr) give_back(mine, false);
  }
  return new_team(council, ranks, size, rank, over_hosts, why);
}

void give_back(Pooled* p, bool broken) {
  pthread_mutex_lock(&lock);
  p->taken = false;
  if (broken) unlink(p);
  pthread_mutex_unlock(&lock);
  if (broken) destroy(p);
}

void drop_teams() {
  while (pool != nullptr) {
    Pooled* const p = pool;
    unlink(p);
    destroy(p);
  }
  drop_segment();
  free(cpu_of);
  cpu_of = nullptr;
}

void drive_library() {
  int there = 0;
  if (private_comm != MPI_COMM_NULL)
    real.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, private_comm, &there, MPI_STATUS_IGNORE);
}

}  // namespace fermata::preload
