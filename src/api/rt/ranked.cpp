// Ranked barriers of threads in the C ABI: one team, a member per rank, no planner.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/rt/ranked_team.hpp"
#include "exec/proof/proof.hpp"
#include "fermata/fermata.h"

using namespace fermata;

struct fermata_ranked : rt::RankedTeam {};

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

Status make_ranked(fermata_ranked& barrier, std::uint32_t beside) {
  exec::TeamOptions options;
  options.members = barrier.members;
  options.beside = rt::within_members(beside);
  options.wait = wait_kind_or(WaitKind::kAuto);
  options.stall_ns = os::stall_ns();
  options.programs[static_cast<int>(exec::PlanSlot::kBarrier)] =
      barrier_program(barrier.members, &barrier.saved);
  options.programs[static_cast<int>(exec::PlanSlot::kAllreduce8)] =
      exec::make_builtin(exec::builtin_allreduce(barrier.members, 8));
  options.programs[static_cast<int>(exec::PlanSlot::kAllreduce56)] =
      exec::make_builtin(exec::builtin_allreduce(barrier.members, kLinePayload));
  return rt::team_of(options,
                     {exec::PlanSlot::kBarrier, exec::PlanSlot::kAllreduce8, exec::PlanSlot::kAllreduce56},
                     &barrier.team);
}

}  // namespace

extern "C" {

int fermata_ranked_create(std::uint32_t members, fermata_ranked** out) {
  return fermata_ranked_create_beside(members, 0, out);
}

int fermata_ranked_create_beside(std::uint32_t members, std::uint32_t beside, fermata_ranked** out) {
  return static_cast<int>(
      rt::create(members, out, [&](fermata_ranked& barrier) { return make_ranked(barrier, beside); }));
}

void fermata_ranked_destroy(fermata_ranked* barrier) { rt::destroy(barrier); }

int fermata_ranked_meet(fermata_ranked* barrier, std::uint32_t rank) {
  const rt::Entry* entry = rt::entry_of(barrier, rank);
  if (entry == nullptr) [[unlikely]]
    return FERMATA_ERR_ARGUMENT;
  return static_cast<int>(entry->settled->barrier(entry->first_signals));
}

int fermata_ranked_allreduce(fermata_ranked* barrier, std::uint32_t rank, void* data, std::size_t bytes,
                             fermata_fold fold, void* context) {
  const rt::Entry* entry = rt::entry_of(barrier, rank);
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
