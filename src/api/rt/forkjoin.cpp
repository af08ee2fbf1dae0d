// Fork and join of threads in the C ABI. One call of the team is an allreduce through rank 0 that begins with
// the others' fermata_forkjoin_await. Rank 0 collects what they give (join), and later ends the call with
// what it gives them (fork). So a fork and the next join belong to different calls, and the others wait once
// for both.
#include <string.h>

#include "api/rt/ranked_team.hpp"
#include "fermata/fermata.h"

using namespace fermata;

struct fermata_forkjoin : rt::RankedTeam {};

namespace {

// The first word has the notes, the others what rank 0 gives.
using Words = std::uint64_t[kPayloadWords];
static_assert(FERMATA_FORKJOIN_BYTES == sizeof(Words) - sizeof(std::uint64_t));

constexpr exec::Call kCall{Collective::kAllreduce, static_cast<std::uint8_t>(Type::kUint64),
                           static_cast<std::uint8_t>(Op::kOr), 0, sizeof(Words)};

// No wait is reported as a stall: the others wait while rank 0 works alone.
Status make_forkjoin(fermata_forkjoin& team, std::uint32_t beside, std::uint32_t awake_us) {
  exec::TeamOptions options;
  options.members = team.members;
  options.beside = rt::within_members(beside);
  const WaitKind asked = wait_kind_or(WaitKind::kAuto);
  options.wait = asked == WaitKind::kAuto && awake_us == 0 ? WaitKind::kPark : asked;
  options.awake_us = awake_us;
  options.programs[static_cast<int>(exec::PlanSlot::kAllreduce56)] =
      exec::make_builtin(exec::builtin_forkjoin(team.members));
  return rt::team_of(options, {exec::PlanSlot::kAllreduce56}, &team.team);
}

}  // namespace

extern "C" {

int fermata_forkjoin_create(std::uint32_t members, std::uint32_t beside, std::uint32_t awake_us,
                            fermata_forkjoin** out) {
  return static_cast<int>(rt::create(
      members, out, [&](fermata_forkjoin& team) { return make_forkjoin(team, beside, awake_us); }));
}

void fermata_forkjoin_destroy(fermata_forkjoin* team) { rt::destroy(team); }

int fermata_forkjoin_await(fermata_forkjoin* team, std::uint32_t rank, std::uint64_t notes, void* data) {
  if (rank == 0 || data == nullptr) [[unlikely]]
    return FERMATA_ERR_ARGUMENT;
  const rt::Entry* entry = rt::entry_of(team, rank);
  if (entry == nullptr) [[unlikely]]
    return FERMATA_ERR_ARGUMENT;
  Words words = {notes};
  const Status status = entry->settled->allreduce(words, words, kPayloadWords, Type::kUint64, Op::kOr);
  if (status == Status::kOk) [[likely]]
    memcpy(data, words + 1, FERMATA_FORKJOIN_BYTES);
  return static_cast<int>(status);
}

int fermata_forkjoin_join(fermata_forkjoin* team, std::uint64_t* notes) {
  const rt::Entry* entry = rt::entry_of(team, 0);
  if (entry == nullptr || notes == nullptr) [[unlikely]]
    return FERMATA_ERR_ARGUMENT;
  const Status status = entry->settled->collect(kCall);
  if (status == Status::kOk) [[likely]]
    *notes = entry->settled->collected(0);
  return static_cast<int>(status);
}

int fermata_forkjoin_fork(fermata_forkjoin* team, const void* data, std::size_t bytes) {
  const rt::Entry* entry = rt::entry_of(team, 0);
  if (entry == nullptr || (data == nullptr && bytes > 0) || bytes > FERMATA_FORKJOIN_BYTES) [[unlikely]]
    return FERMATA_ERR_ARGUMENT;
  Words words = {};
  if (bytes > 0) memcpy(words + 1, data, bytes);
  return static_cast<int>(entry->settled->spread(words));
}

}  // extern "C"
