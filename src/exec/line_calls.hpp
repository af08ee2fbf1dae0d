// The bodies of a member's line calls, which callers inline (exec/member.hpp).
#ifndef FERMATA_EXEC_LINE_CALLS_HPP
#define FERMATA_EXEC_LINE_CALLS_HPP

#include "exec/member.hpp"

namespace fermata::exec {

template <Load L, class Word>
[[gnu::always_inline]] inline Status Member::start(PlanSlot slot, const Call& call, std::uint32_t words,
                                                   Word&& word) {
  const std::uint32_t root = call.root;
  const Bound& plan = bound_[static_cast<std::uint32_t>(slot)];
  if (gate_ != os::fork_generation() || plan.steps == nullptr) [[unlikely]]
    return refusal();
  memory_.region = plan.region + root * plan.region_bytes;
  memory_.root = root;
  const Step* steps = plan.steps;
  if (root != 0 && (over_hosts_ || rank_ == 0 || rank_ == root)) {
    steps = steps_of_root(slot, root);
    if (steps == nullptr) [[unlikely]]
      return refuse_root();
  }
  const std::uint64_t tag = history_.tag(History::own_tag(call.packed()));
  cursor_.start<L>(memory_, steps, ++plan.episodes[root], tag, words, word);
  // After the first signal, because only members that have waited long read the status line.
  gate_ = 0;
  if (slot == PlanSlot::kBarrier) first_signals_->barrier.forget();
  if (slot == PlanSlot::kAllreduce8) forget_words();
  say_call<RealAtomics>(*status_, ++sequence_, call.packed());
  if (sequence_ >= next_seldom_ && !do_seldom_work()) [[unlikely]]
    return broken_;
  if (!synchronizes(call.collective)) remember(call.packed());
  return Status::kOk;
}

template <Load L>
[[gnu::always_inline]] inline Status Member::start_with(PlanSlot slot, const Call& call, const void* in,
                                                        Carried& carried) {
  const auto word = [&](std::uint32_t i) { return in == nullptr ? 0 : word_at(in, i, call.bytes); };
  const std::uint32_t words = L == Load::kOneWord ? 1 : words_of(call.bytes);
  const Status ready = start<L>(slot, call, words, word);
  if (ready != Status::kOk) [[unlikely]]
    return ready;
  const FoldFn fold = call.collective == Collective::kBroadcast
                          ? nullptr
                          : fold_of(static_cast<Op>(call.op), static_cast<Type>(call.type));
  carried = {words, fold};
  if constexpr (L == Load::kWords)
    if (log2_size_of(static_cast<Type>(call.type)) > 3) [[unlikely]]
      carry_wide(carried, call);
  if (in != nullptr)
    for (std::uint32_t i = 0; i < words; ++i) regs_[0][i] = word(i);
  return Status::kOk;
}

template <Load L>
[[gnu::always_inline]] inline Status Member::move(PlanSlot slot, const Call& call, const void* in,
                                                  void* out) {
  Carried carried;
  const Status ready = start_with<L>(slot, call, in, carried);
  if (ready != Status::kOk) [[unlikely]]
    return ready;
  if (cursor_.advance<L>(memory_, carried, regs_, spins_) && cursor_.status() == Status::kOk) [[likely]] {
    if (out != nullptr) copy_bytes(out, regs_[0], call.bytes);
    over();
    return Status::kOk;
  }
  load_ = L;
  taken_ = {out, static_cast<std::uint32_t>(call.bytes)};
  carried_ = carried;
  return run();
}

}  // namespace fermata::exec
#endif
