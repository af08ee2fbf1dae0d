// LineCalls: what a member's calls on lines need: the plans, the cursor of the present call with its
// registers, and the prepared first signals of the next calls.
//
// Between start() or follow() and the end of the call, the cursor stands in a plan's program, and memory_ has
// the region of the call's root. A prepared first signal is for the member's present history: a call that
// changes the history forgets them all. load_, carried_ and taken_ are valid only once set_pending() has
// stored them for a call that has to wait.
#ifndef FERMATA_EXEC_LINE_CALLS_HPP
#define FERMATA_EXEC_LINE_CALLS_HPP

#include <cstdint>

#include "base/word.hpp"
#include "exec/call.hpp"
#include "exec/first_signals.hpp"
#include "exec/fold.hpp"
#include "exec/team_memory.hpp"

namespace fermata::exec {

inline std::uint32_t words_of(std::uint64_t bytes) { return static_cast<std::uint32_t>((bytes + 7) / 8); }

// For elements of more than 8 bytes, which are folded whole.
// The call is passed by value, so that the caller can have its fields in registers.
[[gnu::cold]] void carry_wide(Carried& carried, Call call);

class LineCalls {
 public:
  LineCalls(const Team& team, std::uint32_t rank);
  ~LineCalls();
  LineCalls(const LineCalls&) = delete;
  LineCalls& operator=(const LineCalls&) = delete;

  // Sets one plan. choose_paths() follows after the last.
  void bind(PlanSlot slot, const Bound& plan) { bound_[static_cast<std::uint32_t>(slot)] = plan; }
  void choose_paths();
  // Moves the first signals of the next calls to that place.
  void keep_first_signals_in(FirstSignals* place);

  // False for a plan whose awaits have different poll intervals, and for one with a root, which runs other
  // steps for each root.
  bool may_set_polling(PlanSlot slot) const { return plan(slot).pauses != 0 && plan(slot).region_bytes == 0; }
  // How a plan's awaits poll, if that may be set.
  void set_polling(PlanSlot slot, const Polling& polling);

  const Bound& plan(PlanSlot slot) const { return bound_[static_cast<std::uint32_t>(slot)]; }
  // True if the team has a plan for that slot.
  bool carries(PlanSlot slot) const { return plan(slot).steps != nullptr; }
  std::uint64_t uses(PlanSlot slot) const;  // episodes of a plan so far, over all roots
  bool tagged() const { return tagged_; }   // this team's barrier carries tags
  // The paths that the plans allow: the allreduce of one word, or of several, goes in rounds; that of one
  // word is one exchange of two members; the barrier goes in rounds and carries no tags; the next barrier
  // carries tags or the history.
  bool rounds() const { return rounds_; }
  bool rounds_of_words() const { return rounds_of_words_; }
  bool swaps() const { return swaps_; }
  bool barrier_rounds() const { return barrier_rounds_; }
  bool barrier_carries() const { return barrier_carries_; }

  // Starts a call, and sends the first signal if the program begins with kSend. call: the packed descriptor.
  // in: this member's contribution of `bytes` bytes, which goes to register 0; null: none. False: there is no
  // memory for the root's program, or the program in the segment is not sound.
  template <Load L>
  [[gnu::always_inline]] bool start(PlanSlot slot, const Bound& plan, std::uint32_t root, std::uint64_t call,
                                    const History& history, const void* in, std::uint32_t bytes) {
    const Step* const steps = turn_to(slot, plan, root);
    if (steps == nullptr) [[unlikely]]
      return false;
    const std::uint64_t tag = history.tag(History::own_tag(call));
    const std::uint64_t episode = ++plan.episodes[root];
    if constexpr (L == Load::kWords) {
      if (in != nullptr) fill(in, bytes);
      cursor_.start<L>(memory_, steps, episode, tag, words_of(bytes),
                       [&](std::uint32_t i) __attribute__((always_inline)) { return regs_[0][i]; });
    } else {
      const std::uint64_t value = L == Load::kNothing || in == nullptr ? 0 : word_at(in, 0, bytes);
      cursor_.start<L>(memory_, steps, episode, tag, 1, [&](std::uint32_t) { return value; });
      if (in != nullptr) regs_[0][0] = value;
    }
    if (slot == PlanSlot::kBarrier) first_signals_->barrier.forget();
    if (slot == PlanSlot::kAllreduce8) forget_word();
    if (slot == PlanSlot::kAllreduce56) first_signals_->words.forget();
    return true;
  }
  // For a started call that another member can end without a signal from this one, so a mismatch may go
  // unnoticed: the next call compares histories.
  [[gnu::always_inline]] void history_has_changed() {
    first_signals_->barrier.forget();
    forget_word();
    first_signals_->words.forget();
    barrier_carries_ = tagged_ || barrier_has_words_;
  }
  void set_barrier_carries(bool on) { barrier_carries_ = on; }
  // Returns this member's program for a call with that root, and sets *memory for it. The present call stays
  // as it is. Null: this team has no such plan, or see start().
  const Step* look_at(PlanSlot slot, std::uint32_t root, TeamMemory* memory);

  template <Load L>
  [[gnu::always_inline]] bool advance(const Carried& carried, std::uint32_t spins) {
    return cursor_.advance<L>(memory_, carried, regs_, spins);
  }
  // For a call that waits, after set_pending().
  [[gnu::noinline]] bool advance(std::uint32_t spins);
  // From now on advance(spins) stops before the first step that is no await, or no longer.
  void set_collecting(bool on) { collecting_ = on; }
  bool is_collecting() const { return collecting_; }
  std::uint32_t carried_words() const { return carried_.words; }  // after set_pending()
  void set_pending(Load load, const Carried& carried = {}, const Taken& taken = {}) {
    load_ = load;
    carried_ = carried;
    taken_ = taken;
  }
  // Sets register 0, which has the result at the end.
  [[gnu::always_inline]] void fill(const void* in, std::uint32_t bytes) {
    each_word_of(in, bytes, [&](std::uint32_t i, std::uint64_t word) __attribute__((always_inline)) {
      regs_[0][i] = word;
    });
  }
  std::uint64_t* result() { return regs_[0]; }
  [[gnu::always_inline]] void take(const Taken& taken) const {
    if (taken.out == nullptr) return;
    for (std::uint32_t i = 0; i < taken.blocks; ++i)
      copy_bytes(static_cast<std::byte*>(taken.out) + i * taken.bytes,
                 reinterpret_cast<const std::byte*>(regs_[0]) + taken.first + i * taken.stride, taken.bytes);
  }
  // Takes the result of a call that waited.
  void take() {
    take(taken_);
    taken_.out = nullptr;
  }
  // Undoes the start of the present call, which has sent and taken nothing. Returns where its result goes.
  void* undo(std::uint32_t root);

  FirstSignals& first_signals() const { return *first_signals_; }
  const Repeat& repeated() const { return repeat_; }
  const Repeat& repeated_words() const { return repeat_words_; }
  void set_repeated(const Repeat& call, std::size_t count, std::uint32_t type, std::uint32_t op) {
    repeat_ = call;
    first_signals_->count = count;
    first_signals_->type = type;
    first_signals_->op = op;
  }
  void set_repeated_words(const Call& call) {
    const auto type = static_cast<Type>(call.type);
    const auto bytes = static_cast<std::uint32_t>(call.bytes);
    const Folds folds = folds_of(static_cast<Op>(call.op), type);
    repeat_words_ = {.folds = folds, .call = call.packed(), .tag = History::own_tag(call.packed())};
    FirstSignals& o = *first_signals_;
    o.words_count = bytes >> log2_size_of(type);
    o.words_type = call.type;
    o.words_op = call.op;
    o.words_bytes = bytes;
  }
  Swapped& swapped() { return swapped_; }
  void set_swapped(const Call& call, std::size_t count, FoldFn fold) {
    const auto bytes = static_cast<std::uint32_t>(call.bytes);
    swapped_ = {.fold = fold,
                .call = call.packed(),
                .tag = History::own_tag(call.packed()),
                .bytes = bytes,
                .left = rank_ == 0};
    FirstSignals& o = *first_signals_;
    o.swapped_collective = call.collective;
    o.swapped_count = count;
    o.swapped_type = call.type;
    o.swapped_op = call.op;
    o.swapped_bytes = bytes;
  }
  // After the first signal of a swap, which carries `sent`.
  [[gnu::always_inline]] void keep_swapped(std::uint64_t sent, const Swap& swap) {
    swapped_.sent = sent;
    swapped_.kept = word_at(swap.kept, 0, swapped_.bytes);
    if (swap.kept_to != nullptr) copy_bytes(swap.kept_to, &swapped_.kept, swapped_.bytes);
  }
  // Prepares the first signal of the plan's next episode.
  void prepare(PlanSlot slot, TeamCursor::PreparedSignal& signal, std::uint64_t tag) {
    const Bound& bound = plan(slot);
    memory_.region = bound.region;
    signal = TeamCursor::prepare_signal(memory_, bound.steps, *bound.episodes + 1, tag);
  }
  // After a prepared first signal: starts the call, and prepares the first signal of the next call of this
  // kind. Returns the program.
  [[gnu::always_inline]] const Step* follow(PlanSlot slot, TeamCursor::PreparedSignal& signal,
                                            const History& history, std::uint64_t own_tag) {
    const Bound& bound = plan(slot);
    const Step* const steps = bound.steps;
    const std::uint64_t episode = ++*bound.episodes;
    memory_.region = bound.region;
    memory_.root = 0;
    cursor_.follow(memory_, steps, episode, signal.header);
    signal = TeamCursor::prepare_signal(memory_, steps, episode + 1, history.tag(own_tag));
    return steps;
  }

  TeamCursor& cursor() { return cursor_; }
  const TeamCursor& cursor() const { return cursor_; }
  TeamMemory& memory() { return memory_; }
  bool ready() { return cursor_.ready(memory_); }
  const void* awaited_word() { return cursor_.awaited_word(memory_); }
  std::uint32_t peer() const { return memory_.swapped(cursor_.at().peer); }
  // The member whose signal the call awaits; this rank if it awaits no particular member.
  std::uint32_t awaited_member() const {
    const Code code = cursor_.at().code;
    return code == Code::kAwait || code == Code::kCreditAwait ? peer() : rank_;
  }

 private:
  // Turns to the plan of a call with that root. Returns this member's program, or null (see start()).
  [[gnu::always_inline]] const Step* turn_to(PlanSlot slot, const Bound& plan, std::uint32_t root) {
    memory_.region = plan.region + root * plan.region_bytes;
    memory_.root = root;
    if (root != 0 && (over_hosts_ || rank_ == 0 || rank_ == root)) return steps_of_root(slot, root);
    return plan.steps;
  }
  // Returns this member's program for another root. Over several hosts each root has programs; on one host
  // ranks 0 and root exchange their programs.
  const Step* steps_of_root(PlanSlot slot, std::uint32_t root);
  void forget_word() {
    first_signals_->word.forget();
    first_signals_->whole.forget();
    first_signals_->swap.forget();
  }

  std::uint32_t rank_;
  bool over_hosts_;
  bool tagged_;
  bool rounds_ = false, rounds_of_words_ = false, swaps_ = false, barrier_rounds_ = false;
  // Words carry no history. So a barrier with words that must compare histories runs as an 8-byte allreduce.
  bool barrier_has_words_ = false;
  bool barrier_carries_;
  bool collecting_ = false;
  Load load_ = Load::kNothing;
  Repeat repeat_, repeat_words_;
  Swapped swapped_;
  FirstSignals own_first_signals_;
  FirstSignals* first_signals_ = &own_first_signals_;
  TeamCursor cursor_;
  TeamMemory memory_;
  Bound bound_[kPlanSlots];
  Step** of_roots_ = nullptr;  // the steps for each plan and root; null: not used yet
  Carried carried_;
  Taken taken_;
  // So that the registers do not begin at a cache line: an allreduce of 56 bytes would take longer (measured
  // with 4 members on 16 cores of Sapphire Rapids).
  [[maybe_unused]] std::uint64_t pad_[2] = {};
  alignas(16) std::uint64_t regs_[kMaxRegisters][kPayloadWords] = {};
};

}  // namespace fermata::exec
#endif
