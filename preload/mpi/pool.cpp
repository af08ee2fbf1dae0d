// How a team is made. The first rank proposes an unused team of exactly these ranks, by its id. If all ranks
// have it unused, they take it. Else the first rank makes a new team. All teams of a host lie in one segment.
// Its owner (`ground`) is a team that nobody joins, made in MPI_Init, where a thread of the first rank hands
// out the segment's descriptor. So a new team takes memory and agreement, and opens no file.
#include "pool.hpp"

#include <fermata/mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "begun.hpp"
#include "notice.hpp"
#include "real.hpp"

namespace fermata::preload {

MPI_Comm private_comm = MPI_COMM_NULL;

namespace {

constexpr int kMostTeams = 1024;               // at a time
constexpr double kSeconds = 20;                // to hand out the segment
constexpr double kSlice = 0.02;                // of waiting for it, between calls that drive MPI
constexpr std::int64_t kLookEveryNs = 20'000;  // between such calls of a waiting member with a CPU for itself
// longest sleep of a waiting member, because MPI wants to be driven
constexpr double kHookEvery = 1e-3;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Pooled* pool = nullptr;          // all, taken or not; under lock
int teams = 0;                   // likewise
fermata_team* ground = nullptr;  // owner of this host's segment
int* cpu_of = nullptr;           // the CPU that each rank of MPI_COMM_WORLD was bound to in MPI_Init, or -1

struct Offer {
  enum How : std::int32_t { kNone, kUsed, kNew } how;
  std::int32_t padding;
  std::uint64_t id;
};

struct Serving {
  fermata_team* team = nullptr;
  char name[64];
  int others = 0;
  int status = FERMATA_OK;
  std::atomic<bool> over{false};
};

void name_of(std::uint64_t id, char (&name)[64]) {
  snprintf(name, sizeof name, "fermata-mpi.%016llx", static_cast<unsigned long long>(id));
}

// A number that no other process can guess, so none can take the socket's name first. Process ids do not
// suffice: they repeat in PID namespaces that share a network.
std::uint64_t new_id() {
  static std::atomic<std::uint32_t> counter{0};
  std::uint64_t id = 0;
  if (getrandom(&id, sizeof id, GRND_NONBLOCK) != sizeof id) {  // a sandbox may forbid it
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const auto now = static_cast<std::uint64_t>(t.tv_nsec) << 34 ^ static_cast<std::uint64_t>(t.tv_sec) << 20;
    // order: relaxed: only the number matters
    id = now ^ static_cast<std::uint64_t>(getpid()) << 12 ^ counter.fetch_add(1, std::memory_order_relaxed);
  }
  return id != 0 ? id : 1;
}

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

// Does not drive MPI at each poll. If Open MPI is told to yield, it gives the CPU away in each call, and the
// wait itself has just done so.
int idle(fermata_member* member, void* pooled) {
  thread_local std::int64_t next_ns = 0;
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const std::int64_t now_ns = std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  if (now_ns < next_ns) return 0;
  next_ns = now_ns + static_cast<const Pooled*>(pooled)->look_every_ns;
  drive_library();
  progress_beside(member);
  return 0;
}

void* serve(void* argument) {
  auto* s = static_cast<Serving*>(argument);
  s->status = s->others > 0 ? fermata_team_serve(s->team, s->name, s->others, kSeconds) : FERMATA_OK;
  // order: release, as kMove: the status is there. Pairs with hand_out_ground()
  s->over.store(true, std::memory_order_release);
  return nullptr;
}

// Can this process open what it takes to hand a team out: its memory, a socket or two, and one to spare?
bool can_open_few() {
  int files[4];
  int opened = 0;
  while (opened < 4 && (files[opened] = eventfd(0, EFD_CLOEXEC)) >= 0) ++opened;
  const bool all = opened == 4;
  while (opened > 0) close(files[--opened]);
  return all;
}

fermata_team* fetch(const char* name) {
  fermata_team* team = nullptr;
  for (double waited = 0; waited < kSeconds; waited += kSlice) {
    const int status = fermata_team_attach(name, kSlice, &team);
    if (status == FERMATA_OK) return team;
    if (status != FERMATA_ERR_TIMEOUT) break;
    drive_library();
    progress();
  }
  say("memory for teams could not be fetched: %s", fermata_error_detail());
  return nullptr;
}

Pooled* enter(fermata_team* team, std::uint64_t id, const int* ranks, int size, int rank, bool over_hosts) {
  auto* made = static_cast<Pooled*>(calloc(1, sizeof(Pooled)));
  int* copy = static_cast<int*>(malloc(static_cast<std::size_t>(size) * sizeof *ranks));
  fermata_member* member = nullptr;
  const bool fits = fermata_team_size(team) == size;  // its maker may lie
  if (made == nullptr || copy == nullptr || !fits || fermata_team_join(team, rank, &member) != FERMATA_OK) {
    say("a team cannot be joined: %s", fits ? fermata_error_detail() : "it has another size");
    free(made);
    free(copy);
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

// The team's place in the segment; 0: there is no team.
std::uint64_t make(int size, const int* cpus, fermata_team** team) {
  std::uint64_t place = 0;
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = size;
  config.engine = FERMATA_PROCESSES;
  config.cpus = cpus;
  if (fermata_team_create_within(ground, &config, &place, team) != FERMATA_OK)
    say("no team of %d: %s", size, fermata_error_detail());
  return place;
}

bool all_have(const Council& council, bool mine) {
  std::int32_t have = mine ? 1 : 0, all = 0;
  if (council.team != nullptr) {
    const Entered entered(*council.team);
    fermata_allreduce(council.team->member, &have, &all, 1, FERMATA_INT32, FERMATA_MIN);
  } else {
    const Beside beside;
    real.Allreduce(&have, &all, 1, MPI_INT32_T, MPI_MIN, council.comm);
  }
  return all == 1;
}

// Sends data from the first rank to all.
void tell(const Council& council, void* data, std::size_t bytes) {
  if (council.team != nullptr) {
    const Entered entered(*council.team);
    fermata_broadcast(council.team->member, data, bytes, 0);
  } else {
    const Beside beside;
    real.Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, council.comm);
  }
}

// The first rank's part of a collective of all ranks of a host.
fermata_team* hand_out_ground(const Council& host, int others) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.engine = FERMATA_PROCESSES;
  Serving serving;
  if (fermata_team_create(&config, &serving.team) != FERMATA_OK)
    say("no memory for teams: %s", fermata_error_detail());
  serving.others = others;
  Offer offer{Offer::kNew, 0, new_id()};
  name_of(offer.id, serving.name);
  pthread_t thread;
  const bool serves = serving.team != nullptr && start_thread(&thread, serve, &serving) == 0;
  if (!serves) offer.how = Offer::kNone;
  tell(host, &offer, sizeof offer);
  if (!serves) return serving.team;
  // order: acquire, as kMovedRead: sees its status. Pairs with serve()
  while (!serving.over.load(std::memory_order_acquire)) {
    drive_library();
    usleep(20);
  }
  pthread_join(thread, nullptr);
  if (serving.status != FERMATA_OK)
    say("memory for teams could not be handed out: %s", fermata_status_string(serving.status));
  return serving.team;
}

fermata_team* fetch_ground(const Council& host) {
  Offer offer{};
  tell(host, &offer, sizeof offer);
  if (offer.how != Offer::kNew) return nullptr;
  char name[64];
  name_of(offer.id, name);
  return fetch(name);
}

// lead() makes the new team at the first rank, and follow() attaches to it at the others.
Pooled* lead(const Council& council, Offer& offer, const int* ranks, int size, const int* cpus) {
  fermata_team* team = nullptr;
  offer.id = make(size, cpus, &team);
  offer.how = team != nullptr ? Offer::kNew : Offer::kNone;
  tell(council, &offer, sizeof offer);
  Pooled* mine = team != nullptr ? enter(team, offer.id, ranks, size, 0, false) : nullptr;
  if (mine == nullptr) fermata_team_destroy(team);
  return mine;
}

Pooled* follow(const Offer& offer, const int* ranks, int size, int rank) {
  fermata_team* team = nullptr;
  if (offer.how != Offer::kNew) return nullptr;
  if (fermata_team_attach_within(ground, offer.id, &team) != FERMATA_OK) {
    say("a team of %d is not there: %s", size, fermata_error_detail());
    return nullptr;
  }
  Pooled* mine = enter(team, offer.id, ranks, size, rank, false);
  if (mine == nullptr) fermata_team_destroy(team);
  return mine;
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
  Pooled* mine = enter(team, id, ranks, size, first, true);
  if (mine == nullptr) fermata_team_destroy(team);
  return mine;
}

Pooled* new_team(const Council& council, const int* ranks, int size, int rank, bool over_hosts,
                 const char** why) {
  if (!over_hosts && ground == nullptr) {  // all ranks of the host know this alike
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
  Offer offer{Offer::kNew, 0, over_hosts && rank == 0 ? new_id() : 0};
  Pooled* mine = nullptr;
  if (over_hosts) {
    tell(council, &offer, sizeof offer);
    mine = join_hosts(council, offer.id, ranks, size);
  } else if (rank == 0) {
    mine = lead(council, offer, ranks, size, bound ? cpus : nullptr);
  } else {
    tell(council, &offer, sizeof offer);
    mine = follow(offer, ranks, size, rank);
  }
  free(cpus);
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
  if (all) return mine;
  if (mine != nullptr) destroy(mine);
  *why = "a team could not be made";
  return nullptr;
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
  if (size == 1) return true;
  const Council council{host, nullptr};
  // A rank that could not open a socket would keep the others waiting for kSeconds.
  if (!all_have(council, can_open_few())) {
    say("no memory for teams: a rank of this host may open no further files");
    return true;
  }
  ground = rank == 0 ? hand_out_ground(council, size - 1) : fetch_ground(council);
  if (!all_have(council, ground != nullptr)) {
    fermata_team_destroy(ground);
    ground = nullptr;
  }
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
  fermata_team_destroy(ground);
  ground = nullptr;
  free(cpu_of);
  cpu_of = nullptr;
}

void drive_library() {
  int there = 0;
  if (private_comm != MPI_COMM_NULL)
    real.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, private_comm, &there, MPI_STATUS_IGNORE);
}

}  // namespace fermata::preload
