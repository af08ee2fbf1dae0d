// The bodies of a member's line calls, which callers inline (exec/member.hpp).
#ifndef FERMATA_EXEC_MEMBER_CALLS_HPP
#define FERMATA_EXEC_MEMBER_CALLS_HPP

#include "exec/member.hpp"

namespace fermata::exec {

template <Load L, class Word>
[[gnu::always_inline]] inline Status Member::start(PlanSlot slot, const Call& call, std::uint32_t words,
                                                   Word&& word) {
  const Bound& plan = lines_.plan(slot);
  if (!seat_.is_open() || plan.steps == nullptr) [[unlikely]]
    return seat_.refusal();
  const std::uint64_t packed = call.packed();
  if (!lines_.start<L>(slot, plan, call.root, packed, log_.history(), words, word)) [[unlikely]]
    return refuse_root();
  // After the first signal, because only members that have waited long read the status line.
  seat_.close();
  log_.say(packed);
  if (waiter_.is_due(calls()) && !do_seldom_work()) [[unlikely]]
    return seat_.broken();
  if (!synchronizes(call.collective)) remember(packed);
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
  if (in != nullptr) lines_.fill(words, word);
  return Status::kOk;
}

template <Load L>
[[gnu::always_inline]] inline Status Member::move(PlanSlot slot, const Call& call, const void* in,
                                                  void* out) {
  Carried carried;
  const Status ready = start_with<L>(slot, call, in, carried);
  if (ready != Status::kOk) [[unlikely]]
    return ready;
  if (lines_.advance<L>(carried, waiter_.spins()) && lines_.cursor().status() == Status::kOk) [[likely]] {
    if (out != nullptr) copy_bytes(out, lines_.result(), call.bytes);
    over();
    return Status::kOk;
  }
  lines_.set_pending(L, carried, {out, static_cast<std::uint32_t>(call.bytes)});
  return run();
}

}  // namespace fermata::exec
#endif
