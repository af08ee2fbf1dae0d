// Ranked barriers of threads in the C ABI: one team, a member per rank, no planner.
//
// create() makes all reservations that can fail. Each rank settles its member at its first call: only then
// does it run on its CPU, which the wait policy must know.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "exec/builtin.hpp"
#include "exec/member.hpp"
#include "exec/proof/proof.hpp"
#include "exec/team.hpp"
#include "fermata/fermata.h"
#include "sync/wait_wanted.hpp"

using namespace fermata;

// One rank's entry. Only the thread that makes the rank's calls writes it, except for `reserved`. If another
// thread takes over the rank, its calls must come after the earlier ones, and so do these writes.
struct alignas(kMaxLine) Entry {
  exec::Member* settled;  // equal to `reserved`; null until the rank's first call
  exec::FirstSignals first_signals;
  exec::Member* reserved;
};

struct alignas(kMaxLine) fermata_ranked {
  exec::Team* team;
  std::uint32_t members;
  bool saved;  // its barrier runs a plan from the cache
  Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
  const Entry* entries() const { return reinterpret_cast<const Entry*>(this + 1); }
};

namespace {

constexpr off_t kMostPlan = 64 << 20;
constexpr std::size_t kPathCapacity = 4096;

constexpr const char* kNames[] = {"auto", "spin", "yield", "park"};  // by WaitKind

bool read_all(int fd, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = read(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

// True if only this process's user can have written the file.
bool is_own(const struct stat& found) {
  return found.st_uid == geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

ProgramHeader* read_plan(int fd) {
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || !is_own(file) || file.st_size > kMostPlan)
    return nullptr;
  const auto bytes = static_cast<std::size_t>(file.st_size);
  if (bytes < sizeof(ProgramHeader)) return nullptr;
  auto* blob = static_cast<ProgramHeader*>(malloc(bytes));
  if (blob != nullptr && read_all(fd, blob, bytes) && program_is_sound(blob, bytes) &&
      program_hash(*blob) == blob->hash)
    return blob;
  free(blob);
  return nullptr;
}

// Opens the file if only this user can write to its folder. It opens the file through the checked folder's
// descriptor. It changes `path`.
int open_plan(char* path) {
  char* const slash = strrchr(path, '/');
  *slash = 0;
  const int at = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (at < 0) return -1;
  struct stat found;
  const bool own = fstat(at, &found) == 0 && is_own(found);
  const int fd = own ? openat(at, slash + 1, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
  close(at);
  return fd;
}

// Returns the barrier that `fermata plan` has saved for this machine, after a proof. Returns null if there is
// none, or if a check fails.
ProgramHeader* planned_barrier(std::uint32_t members) {
  char path[kPathCapacity];
  if (!os::barrier_plan_path(members, path, sizeof path)) return nullptr;
  const int fd = open_plan(path);
  if (fd < 0) return nullptr;
  ProgramHeader* plan = read_plan(fd);
  close(fd);
  if (plan == nullptr) return nullptr;
  const bool fits = plan->members == members &&
                    plan->collective == static_cast<std::uint32_t>(Collective::kBarrier) &&
                    plan->payload == 0 && plan->regions == 1;
  if (fits && exec::prove_program(*plan)) return plan;
  free(plan);
  return nullptr;
}

// A saved plan was timed with all CPUs of the machine. So it is used only if the process has enough CPUs for
// the members exactly when the machine has.
ProgramHeader* barrier_program(std::uint32_t members, bool* saved) {
  const auto cpus = static_cast<std::uint32_t>(os::process_cpus(static_cast<std::int32_t>(members)));
  const std::uint32_t usable = os::within_quota(cpus);
  const bool as_planned = (members > usable) == (members > static_cast<std::uint32_t>(os::online_cpus()));
  ProgramHeader* planned = as_planned && members > 1 ? planned_barrier(members) : nullptr;
  *saved = planned != nullptr;
  return *saved ? planned : exec::make_builtin(exec::builtin_barrier(members, usable));
}

Status make_team(std::uint32_t members, exec::Team** out, bool* saved) {
  exec::TeamOptions options;
  options.members = members;
  options.wait = wait_kind_or(WaitKind::kAuto);
  options.stall_ns = os::stall_ns();
  ProgramHeader* const programs[] = {barrier_program(members, saved),
                                     exec::make_builtin(exec::builtin_allreduce(members, 8)),
                                     exec::make_builtin(exec::builtin_allreduce(members, kLinePayload))};
  options.programs[static_cast<int>(exec::PlanSlot::kBarrier)] = programs[0];
  options.programs[static_cast<int>(exec::PlanSlot::kAllreduce8)] = programs[1];
  options.programs[static_cast<int>(exec::PlanSlot::kAllreduce56)] = programs[2];
  Status status = Status::kMemory;
  const char* detail = "";
  if (programs[0] != nullptr && programs[1] != nullptr && programs[2] != nullptr)
    status = exec::Team::create(options, out, &detail);
  for (ProgramHeader* program : programs) free(program);
  return status;
}

[[gnu::noinline, gnu::cold]] Entry* settle(Entry* entry) {
  const os::ErrnoGuard guard;
  entry->reserved->settle();
  entry->reserved->find_poll_interval();
  entry->reserved->keep_first_signals_in(&entry->first_signals);
  entry->settled = entry->reserved;
  return entry;
}

[[gnu::always_inline]] inline Entry* entry_of(fermata_ranked* barrier, std::uint32_t rank) {
  if (barrier == nullptr || rank >= barrier->members) [[unlikely]]
    return nullptr;
  Entry* entry = barrier->entries() + rank;
  return entry->settled != nullptr ? entry : settle(entry);
}

}  // namespace

extern "C" {

int fermata_ranked_create(std::uint32_t members, fermata_ranked** out) {
  if (out == nullptr || members < 1 || members > kMaxMembers) return FERMATA_ERR_ARGUMENT;
  void* memory = aligned_alloc(kMaxLine, sizeof(fermata_ranked) + members * sizeof(Entry));
  if (memory == nullptr) return FERMATA_ERR_MEMORY;
  auto* barrier = new (memory) fermata_ranked{nullptr, members, false};
  for (std::uint32_t rank = 0; rank < members; ++rank) new (barrier->entries() + rank) Entry{};
  Status status = make_team(members, &barrier->team, &barrier->saved);
  const char* detail = "";
  for (std::uint32_t rank = 0; rank < members && status == Status::kOk; ++rank)
    status = exec::Member::reserve(barrier->team, rank, &barrier->entries()[rank].reserved, &detail);
  if (status == Status::kOk) {
    *out = barrier;
    return FERMATA_OK;
  }
  fermata_ranked_destroy(barrier);
  return static_cast<int>(status);
}

void fermata_ranked_destroy(fermata_ranked* barrier) {
  if (barrier == nullptr) return;
  if (barrier->team != nullptr) {
    for (std::uint32_t rank = 0; rank < barrier->members; ++rank)
      if (barrier->entries()[rank].reserved != nullptr) barrier->entries()[rank].reserved->leave();
    barrier->team->release();
  }
  free(barrier);
}

int fermata_ranked_meet(fermata_ranked* barrier, std::uint32_t rank) {
  const Entry* entry = entry_of(barrier, rank);
  if (entry == nullptr) [[unlikely]]
    return FERMATA_ERR_ARGUMENT;
  return static_cast<int>(entry->settled->barrier(entry->first_signals));
}

int fermata_ranked_allreduce(fermata_ranked* barrier, std::uint32_t rank, void* data, std::size_t bytes,
                             fermata_fold fold, void* context) {
  const Entry* entry = entry_of(barrier, rank);
  if (entry == nullptr || data == nullptr || fold == nullptr || bytes < 1 || bytes > FERMATA_MAX_PAYLOAD)
    return FERMATA_ERR_ARGUMENT;
  return static_cast<int>(entry->settled->allreduce_whole(entry->first_signals, data,
                                                          static_cast<std::uint32_t>(bytes), fold, context));
}

std::uint64_t fermata_ranked_calls(const fermata_ranked* barrier, std::uint32_t rank) {
  return barrier != nullptr && rank < barrier->members ? barrier->entries()[rank].reserved->calls() : 0;
}

int fermata_ranked_describe(const fermata_ranked* barrier, char* text, std::size_t capacity) {
  if (barrier == nullptr || text == nullptr || capacity == 0) return FERMATA_ERR_ARGUMENT;
  const ProgramHeader& program = *barrier->team->programs().header(exec::PlanSlot::kBarrier);
  snprintf(text, capacity, "%.63s, %.31s; %s; waiting: %s", program.algorithm, program.layout,
           barrier->saved ? "saved" : "built-in", kNames[static_cast<int>(barrier->team->wait())]);
  return FERMATA_OK;
}

}  // extern "C"
