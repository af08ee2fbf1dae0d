// Fork and join of threads in the C ABI. One call of the team is an allreduce through rank 0 that begins with
// the others' fermata_forkjoin_await. Rank 0 collects what they give (join), and later ends the call with
// what it gives them (fork). So a fork and the next join belong to different calls, and the others wait once
// for both. A fold is such a call, too: its one word is the address of a rank's data.
#include <string.h>

#include "api/rt/ranked_team.hpp"
#include "fermata/fermata.h"

using namespace fermata;

struct fermata_forkjoin : rt::RankedTeam {};

namespace {

// The first word has the notes, the others what rank 0 gives.
using Words = std::uint64_t[kPayloadWords];
static_assert(FERMATA_FORKJOIN_BYTES == sizeof(Words) - sizeof(std::uint64_t));

constexpr exec::Call kJoin{Collective::kAllreduce, static_cast<std::uint8_t>(Type::kUint64),
                           static_cast<std::uint8_t>(Op::kOr), 0, sizeof(Words)};

constexpr exec::Call kFold{Collective::kAllreduce, exec::Call::kOwnType, exec::Call::kOwnOp, 0,
                           sizeof(std::uint64_t)};

std::uint64_t word_of(void* address) { return reinterpret_cast<std::uintptr_t>(address); }
void* address_in(const void* word) {
  std::uint64_t address;
  memcpy(&address, word, sizeof address);
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

struct Folding {
  fermata_fold fold;
  void* context;
  Carried carried() { return {.words = 1, .folds = {}, .whole = fold_at, .context = this}; }
  static void fold_at(void* acc, const void* other, void* folding) {
    const auto* const self = static_cast<const Folding*>(folding);
    self->fold(address_in(acc), address_in(other), self->context);
  }
};

// For rank 0 if all others signal it directly: folds what comes by rank in the order of a binomial tree. A
// subtree is complete if as many ranks have come as a bit of their count says, so this counts in binary.
class Neighbours {
 public:
  Neighbours(void* first, fermata_fold fold, void* context) : fold_(fold), context_(context) { add(first); }
  Carried carried() { return {.words = 1, .folds = {}, .whole = add_at, .context = this}; }
  static void add_at(void*, const void* other, void* self) {
    static_cast<Neighbours*>(self)->add(address_in(other));
  }
  // All have come.
  void end() {
    void* right = nullptr;
    for (std::uint32_t bit = 0; bit < kBits; ++bit)
      if ((come_ >> bit & 1) != 0) right = right == nullptr ? trees_[bit] : join(trees_[bit], right);
  }

 private:
  static constexpr std::uint32_t kBits = 13;  // as many as kMaxTeamMembers has
  static_assert(kMaxTeamMembers >> kBits == 0);

  void* join(void* left, void* right) const {
    fold_(left, right, context_);
    return left;
  }
  void add(void* tree) {
    std::uint32_t bit = 0;
    for (; (come_ >> bit & 1) != 0; ++bit) tree = join(trees_[bit], tree);
    trees_[bit] = tree;
    ++come_;
  }

  const fermata_fold fold_;
  void* const context_;
  std::uint32_t come_ = 0;
  void* trees_[kBits] = {};  // of 2^bit ranks, for each bit of come_
};

// No wait is reported as a stall: the others wait while rank 0 works alone.
Status make_forkjoin(fermata_forkjoin& team, std::uint32_t beside, std::uint32_t awake_us) {
  exec::TeamOptions options;
  options.members = team.members;
  options.beside = rt::within_members(beside);
  const WaitKind asked = wait_kind_or(WaitKind::kAuto);
  options.wait = asked == WaitKind::kAuto && awake_us == 0 ? WaitKind::kPark : asked;
  options.awake_us = awake_us;
  team.straight = true;
  options.programs[static_cast<int>(exec::PlanSlot::kAllreduce56)] =
      exec::make_builtin(exec::builtin_forkjoin(team.members));
  return rt::team_of(options, {exec::PlanSlot::kAllreduce56}, &team.team);
}

// Along a tree the folds of different ranks overlap. Members that share CPUs fold one after the other anyway,
// and straight signals then need fewer switches between threads.
Status make_folding(fermata_forkjoin& team, std::uint32_t beside) {
  exec::TeamOptions options;
  options.members = team.members;
  options.beside = rt::within_members(beside);
  const std::uint32_t all = options.members + options.beside;
  const std::int32_t cpus = os::process_cpus(static_cast<std::int32_t>(all));
  team.straight = all > os::within_quota(static_cast<std::uint32_t>(cpus));
  options.wait = wait_kind_or(WaitKind::kAuto);
  options.stall_ns = os::stall_ns();
  options.programs[static_cast<int>(exec::PlanSlot::kAllreduce56)] =
      exec::make_builtin(exec::builtin_forkjoin(team.members, !team.straight));
  return rt::team_of(options, {exec::PlanSlot::kAllreduce56}, &team.team);
}

Status fold_into_first(exec::Member& member, bool straight, void* data, fermata_fold fold, void* context) {
  const std::uint64_t word = word_of(data);
  if (!straight) {
    Folding folding{fold, context};
    return member.collect(kFold, &word, folding.carried());
  }
  Neighbours neighbours(data, fold, context);
  const Status status = member.collect(kFold, &word, neighbours.carried());
  if (status == Status::kOk) neighbours.end();
  return status;
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
  static constexpr Words kZeros = {};
  const Status status = entry->settled->collect(
      kJoin, kZeros, {.words = kPayloadWords, .folds = folds_of(Op::kOr, Type::kUint64)});
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
  const auto used = static_cast<std::uint32_t>(bytes == 0 ? 0 : 1 + (bytes + 7) / 8);
  return static_cast<int>(entry->settled->spread(words, used));
}

int fermata_forkjoin_create_folding(std::uint32_t members, std::uint32_t beside, fermata_forkjoin** out) {
  return static_cast<int>(
      rt::create(members, out, [&](fermata_forkjoin& team) { return make_folding(team, beside); }));
}

int fermata_forkjoin_fold(fermata_forkjoin* team, std::uint32_t rank, void* data, fermata_fold fold,
                          void* context) {
  const rt::Entry* entry = rt::entry_of(team, rank);
  if (entry == nullptr || data == nullptr || fold == nullptr) [[unlikely]]
    return FERMATA_ERR_ARGUMENT;
  exec::Member& member = *entry->settled;
  if (rank == 0) return static_cast<int>(fold_into_first(member, team->straight, data, fold, context));
  Folding folding{fold, context};
  const std::uint64_t word = word_of(data);
  return static_cast<int>(member.together(exec::PlanSlot::kAllreduce56, kFold, sizeof word, &word,
                                          folding.carried(), exec::Taken{}));
}

std::uint64_t fermata_forkjoin_calls(const fermata_forkjoin* team, std::uint32_t rank) {
  return team != nullptr && rank < team->members ? team->entries()[rank].reserved->calls() : 0;
}

}  // extern "C"
