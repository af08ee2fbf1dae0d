#include "exec/line_calls.hpp"

#include <stdlib.h>

#include "exec/fold.hpp"

namespace fermata::exec {
namespace {

// For a team of two: true if the one-word allreduce is a single exchange, at both members a send and then a
// fold.
bool is_exchange(const Team& team) {
  for (const std::uint32_t rank : {0u, 1u}) {
    Step steps[3];
    if (team.programs().copy_steps(PlanSlot::kAllreduce8, rank, steps, 3) != 3 ||
        !goes_in_rounds<Load::kOneWord>(steps))
      return false;
  }
  return true;
}

}  // namespace

void carry_wide(Carried& carried, Call call) {
  const auto type = static_cast<Type>(call.type);
  carried.whole = whole_fold_of(static_cast<Op>(call.op), type);
  carried.context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(call.bytes >> log2_size_of(type)));
}

LineCalls::LineCalls(const Team& team, std::uint32_t rank)
    : rank_(rank),
      over_hosts_(team.hosts().are_several()),
      tagged_(team.layout().tagged != 0),
      barrier_carries_(tagged_) {
  memory_.doors = team.segment().doors();
  memory_.fences = &team.header().fences;
  memory_.signs = &team.header().signs;
  memory_.calls.shared = team.shared();
  memory_.team = &team;
}

LineCalls::~LineCalls() {
  for (std::size_t i = 0; of_roots_ != nullptr && i < std::size_t{kPlanSlots} * memory_.team->members(); ++i)
    free(of_roots_[i]);
  free(of_roots_);
}

void LineCalls::choose_paths() {
  const Team& team = *memory_.team;
  const Step* const word = plan(PlanSlot::kAllreduce8).steps;
  const Step* const words = plan(PlanSlot::kAllreduce56).steps;
  const Step* const barrier = plan(PlanSlot::kBarrier).steps;
  rounds_ = word != nullptr && goes_in_rounds<Load::kOneWord>(word);
  rounds_of_words_ = words != nullptr && goes_in_rounds<Load::kWords>(words);
  swaps_ = rounds_ && team.members() == 2 && is_exchange(team);
  barrier_rounds_ = barrier != nullptr && !tagged_ && goes_in_rounds<Load::kNothing>(barrier);
  barrier_has_words_ =
      barrier != nullptr && word != nullptr &&
      has_words(team.programs().blob(PlanSlot::kBarrier), *team.programs().header(PlanSlot::kBarrier));
}

void LineCalls::set_polling(PlanSlot slot, const Polling& polling) {
  Bound& bound = bound_[static_cast<std::uint32_t>(slot)];
  if (bound.found == polling || !may_set_polling(slot)) return;
  for (Step* s = bound.steps; s->code != Code::kEnd; ++s) {
    if (s->code != Code::kAwait) continue;
    s->pauses = polling.pauses != 0 ? polling.pauses : bound.pauses;
    s->delay = polling.delay;
  }
  bound.found = polling;
}

void LineCalls::keep_first_signals_in(FirstSignals* place) {
  *place = *first_signals_;
  first_signals_ = place;
}

std::uint64_t LineCalls::uses(PlanSlot slot) const {
  const ProgramHeader* const program = memory_.team->programs().header(slot);
  std::uint64_t all = 0;
  for (std::uint32_t r = 0; program != nullptr && r < program->regions; ++r) all += plan(slot).episodes[r];
  return all;
}

const Step* LineCalls::steps_of_root(PlanSlot slot, std::uint32_t root) {
  const Team& team = *memory_.team;
  const std::uint32_t members = team.members();
  const bool own = team.programs().header(slot)->roots != 1;  // each root has its own set of programs
  const std::uint32_t index = own ? root * members + rank_ : memory_.swapped(rank_);
  if (own) memory_.root = 0;
  if (index == rank_) return plan(slot).steps;
  if (of_roots_ == nullptr)
    of_roots_ = static_cast<Step**>(calloc(std::size_t{kPlanSlots} * members, sizeof *of_roots_));
  if (of_roots_ == nullptr) return nullptr;
  Step*& kept = of_roots_[static_cast<std::size_t>(slot) * members + root];
  if (kept != nullptr) [[likely]]
    return kept;
  const std::uint32_t count = team.programs().copy_steps(slot, index, nullptr, 0);
  auto* const steps =
      count != 0 ? static_cast<Step*>(aligned_alloc(sizeof(Step), count * sizeof(Step))) : nullptr;
  if (steps == nullptr) return nullptr;
  if (team.programs().copy_steps(slot, index, steps, count) == count) return kept = steps;
  free(steps);
  return nullptr;
}

const Step* LineCalls::look_at(PlanSlot slot, std::uint32_t root, TeamMemory* memory) {
  if (!carries(slot)) return nullptr;
  const TeamMemory present = memory_;
  const Step* const steps = turn_to(slot, plan(slot), root);
  *memory = memory_;
  memory_ = present;
  return steps;
}

bool LineCalls::advance(std::uint32_t spins) {
  if (collecting_) return cursor_.collect<Load::kWords>(memory_, carried_, regs_, spins);
  switch (load_) {
    case Load::kNothing: return advance<Load::kNothing>(carried_, spins);
    case Load::kOneWord: return advance<Load::kOneWord>(carried_, spins);
    case Load::kWords: break;
  }
  return advance<Load::kWords>(carried_, spins);
}

// memory_.root differs from `root` if each root has programs of its own.
void* LineCalls::undo(std::uint32_t root) {
  for (const Bound& plan : bound_)
    if (plan.steps != nullptr && plan.region + root * plan.region_bytes == memory_.region)
      --plan.episodes[root];
  void* const out = taken_.out;
  taken_ = {};
  return out;
}

}  // namespace fermata::exec
