#include "segment.hpp"

#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "begun.hpp"
#include "notice.hpp"
#include "pool.hpp"

namespace fermata::preload {
namespace {

constexpr double kSeconds = 20;  // to hand out the segment
constexpr double kSlice = 0.02;  // of waiting for it, between calls that drive MPI

fermata_team* ground = nullptr;  // owner of this host's segment

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

void* serve(void* argument) {
  auto* s = static_cast<Serving*>(argument);
  s->status = s->others > 0 ? fermata_team_serve(s->team, s->name, s->others, kSeconds) : FERMATA_OK;
  // order: release, as kMove: the status is there. Pairs with hand_out_ground()
  s->over.store(true, std::memory_order_release);
  return nullptr;
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

// The first rank's part of a collective of all ranks of a host. It tells the others the number in the name
// under which it hands out the segment; 0: it hands out none.
fermata_team* hand_out_ground(const Council& host, int others) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.engine = FERMATA_PROCESSES;
  Serving serving;
  if (fermata_team_create(&config, &serving.team) != FERMATA_OK)
    say("no memory for teams: %s", fermata_error_detail());
  serving.others = others;
  std::uint64_t id = new_id();
  name_of(id, serving.name);
  pthread_t thread;
  const bool serves = serving.team != nullptr && start_thread(&thread, serve, &serving) == 0;
  if (!serves) id = 0;
  tell(host, &id, sizeof id);
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
  std::uint64_t id = 0;
  tell(host, &id, sizeof id);
  if (id == 0) return nullptr;
  char name[64];
  name_of(id, name);
  return fetch(name);
}

}  // namespace

// If another process could guess it, it could take the socket's name first. Process ids do not suffice: they
// repeat in PID namespaces that share a network.
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

bool can_open_few() {
  int files[4];
  int opened = 0;
  while (opened < 4 && (files[opened] = eventfd(0, EFD_CLOEXEC)) >= 0) ++opened;
  const bool all = opened == 4;
  while (opened > 0) close(files[--opened]);
  return all;
}

void share_segment(const Council& host, int size, int rank) {
  // A rank that could not open a socket would keep the others waiting for kSeconds.
  if (!all_have(host, can_open_few())) {
    say("no memory for teams: a rank of this host may open no further files");
    return;
  }
  ground = rank == 0 ? hand_out_ground(host, size - 1) : fetch_ground(host);
  if (!all_have(host, ground != nullptr)) drop_segment();
}

bool has_segment() { return ground != nullptr; }

void drop_segment() {
  fermata_team_destroy(ground);
  ground = nullptr;
}

std::uint64_t make_in_segment(int size, const int* cpus, fermata_team** team) {
  std::uint64_t place = 0;
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = size;
  config.engine = FERMATA_PROCESSES;
  config.cpus = cpus;
  if (fermata_team_create_within(ground, &config, &place, team) != FERMATA_OK)
    say("no team of %d: %s", size, fermata_error_detail());
  return place;
}

fermata_team* attach_in_segment(std::uint64_t place, int size) {
  fermata_team* team = nullptr;
  if (fermata_team_attach_within(ground, place, &team) == FERMATA_OK) return team;
  say("a team of %d is not there: %s", size, fermata_error_detail());
  return nullptr;
}

}  // namespace fermata::preload
