// The fast path: barriers and allreduces whose plans go in rounds and whose first signal is prepared.
#include <bit>
#include <type_traits>

#include "base/element.hpp"
#include "exec/member.hpp"

namespace fermata::exec {
namespace {

// The caller's own fold, on one word.
struct WholeWord {
  WholeFold fold;
  void* context;
  std::uint64_t operator()(std::uint64_t left, std::uint64_t right) const {
    fold(&left, &right, context);
    return left;
  }
};

}  // namespace

// The fold of a swap. The plan folds the sent word with the word that came, in either order. This function
// finds which of the two came, and folds it with the caller's own operand.
struct Member::SwappedWord {
  const Swapped* swapped;
  static std::uint64_t result(const Swapped& s, std::uint64_t left, std::uint64_t right) {
    const std::uint64_t come = left ^ right ^ s.sent;
    if (s.fold == nullptr) return come;
    return s.left ? s.fold(s.kept, come) : s.fold(come, s.kept);
  }
  static void fold(void* acc, const void* other, void* context) {
    const std::uint64_t word =
        result(*static_cast<const Swapped*>(context), word_at(acc, 0, 8), word_at(other, 0, 8));
    std::memcpy(acc, &word, 8);
  }
  std::uint64_t operator()(std::uint64_t left, std::uint64_t right) const {
    return result(*swapped, left, right);
  }
  std::uint32_t bytes() const { return swapped->bytes; }
};

// Several words, which stay in register 0.
struct Member::SeveralWords {
  LineFold fold;
  std::uint32_t bytes;
};

void Member::prepare(PlanSlot slot, TeamCursor::PreparedSignal& signal, std::uint64_t own_tag) {
  lines_.prepare(slot, signal, log_.history().tag(own_tag));
}

// Runs after the first signal. True: a member is parked for that signal, or do_seldom_work() is due. It
// must be short and use no stack frame. A core sends two signals per transfer of the cache line only if the
// time between them is short, and that time is a whole call.
[[gnu::always_inline]] inline bool Member::follow(PlanSlot slot, TeamCursor::PreparedSignal& signal,
                                                  std::uint64_t call, std::uint64_t own_tag) {
  const Step* const steps = lines_.follow(slot, signal, log_.history(), own_tag);
  log_.say(call);
  return lines_.memory().must_wake(*steps) || waiter_.is_due(calls());
}

bool Member::do_seldom_work(PlanSlot slot) {
  const std::uint32_t plan = lines_.may_set_polling(slot) ? static_cast<std::uint32_t>(slot) : kPlanSlots;
  waiter_.do_seldom_work(calls(), plan, lines_.plan(slot).found);
  lines_.set_polling(static_cast<PlanSlot>(waiter_.timed_plan()), waiter_.found_polling());
  if (park_rate_.is_rare_in(log_.paced_calls())) lines_.memory().fences->lower();
  const Status broken = diagnosis_.broken_status();
  if (broken != Status::kOk) seat_.give_up(broken);
  return broken == Status::kOk;
}

template <Load L, class F>
[[gnu::always_inline]] inline Status Member::go(bool attend, std::uint64_t value, void* out, F fold) {
  if (attend) [[unlikely]]
    return attend_and_go<L>(value, out, fold);
  return go_round<L>(value, out, fold);
}

template <Load L, class F>
[[gnu::noinline, gnu::cold]] Status Member::attend_and_go(std::uint64_t value, void* out, F fold) {
  lines_.memory().ring(lines_.cursor().sent());
  constexpr PlanSlot kSlot = L == Load::kNothing   ? PlanSlot::kBarrier
                             : L == Load::kOneWord ? PlanSlot::kAllreduce8
                                                   : PlanSlot::kAllreduce56;
  if (waiter_.is_due(calls()) && !do_seldom_work(kSlot)) return seat_.broken();
  return go_round<L>(value, out, fold);
}

template <Load L, class F>
[[gnu::noinline]] Status Member::go_round(std::uint64_t value, void* out, F fold) {
  switch (lines_.cursor().round<L>(lines_.memory(), value, fold, waiter_.spins())) {
    case TeamCursor::Round::kOver: break;
    case TeamCursor::Round::kMore: return ring_and_go_round<L>(value, out, fold);
    case TeamCursor::Round::kLate: return late<L>(value, out, fold);
  }
  if constexpr (std::is_same_v<F, SwappedWord>) {
    copy_bytes(out, &value, fold.bytes());
  } else if constexpr (L != Load::kNothing) {
    copy_bytes(out, &value, 8);
  }
  log_.say_over();
  return Status::kOk;
}

template <Load L, class F>
[[gnu::noinline]] Status Member::ring_and_go_round(std::uint64_t value, void* out, F fold) {
  lines_.cursor().ring_again(lines_.memory());
  return go_round<L>(value, out, fold);
}

// Called after go_round() has stopped at an await whose signal has not come, or is of another call.
template <Load L, class F>
[[gnu::noinline, gnu::cold]] Status Member::late(std::uint64_t value, void* out, F fold) {
  seat_.close();
  if constexpr (L == Load::kNothing) {
    lines_.set_pending(L);
    return run();
  }
  if constexpr (L == Load::kWords) {
    lines_.set_pending(L, {.words = words_of(fold.bytes), .folds = {.line = fold.fold}}, {out, fold.bytes});
    return run();
  }
  Carried carried{.words = 1, .folds = lines_.repeated().folds};
  Taken taken{out, 8};
  if constexpr (std::is_same_v<F, WholeWord>) {
    carried.whole = fold.fold;
    carried.context = fold.context;
  }
  if constexpr (std::is_same_v<F, SwappedWord>) {
    carried.whole = SwappedWord::fold;
    carried.context = &lines_.swapped();
    taken.bytes = lines_.swapped().bytes;
  }
  lines_.set_pending(carried.whole != nullptr ? Load::kWords : L, carried, taken);
  lines_.result()[0] = value;
  return run();
}

// It ends with the fold, so that it needs no stack frame.
template <>
[[gnu::noinline]] Status Member::go_round<Load::kWords>(std::uint64_t, void* out, SeveralWords words) {
  const TeamCursor& cursor = lines_.cursor();
  if (!cursor.await_words(waiter_.spins())) [[unlikely]]
    return late<Load::kWords>(0, out, words);
  if (!cursor.is_last_round() || words.bytes % 8 != 0) [[unlikely]]
    return fold_and_go_on(out, words);
  log_.say_over();
  return cursor.fold_words(out, lines_.result(), words.fold, words.bytes / 8);
}

// The rest of a round that is not the last, or whose words have a part of a word.
[[gnu::noinline]] Status Member::fold_and_go_on(void* out, SeveralWords words) {
  TeamCursor& cursor = lines_.cursor();
  std::uint64_t* const mine = lines_.result();
  cursor.fold_words(mine, mine, words.fold, words_of(words.bytes));
  if (!cursor.is_last_round()) {
    cursor.send_words(lines_.memory(), mine, words_of(words.bytes));
    return ring_and_go_round<Load::kWords>(0, out, words);
  }
  copy_bytes(out, mine, words.bytes);
  log_.say_over();
  return Status::kOk;
}

Status Member::rest_of_barrier() {
  const bool attend =
      follow(PlanSlot::kBarrier, lines_.first_signals().barrier, Call{}.packed(), Call{}.packed());
  return go<Load::kNothing>(attend, 0, nullptr, nullptr);
}

// A sum of doubles is folded inline: a call by pointer and its stack frame cost 10 ns between far cores.
Status Member::rest_of_allreduce(std::uint64_t value, void* out) {
  lines_.first_signals().whole.forget();
  lines_.first_signals().swap.forget();
  const bool attend = follow(PlanSlot::kAllreduce8, lines_.first_signals().word, lines_.repeated().call,
                             lines_.repeated().tag);
  if (!lines_.repeated().sums_doubles)
    return go<Load::kOneWord>(attend, value, out, lines_.repeated().folds.word);
  return go<Load::kOneWord>(attend, value, out, [](std::uint64_t left, std::uint64_t right) {
    return std::bit_cast<std::uint64_t>(
        apply<Op::kSum>(std::bit_cast<double>(left), std::bit_cast<double>(right)));
  });
}

Status Member::first_allreduce_of_words(const Call& call, const void* in, void* out) {
  lines_.set_repeated_words(call);
  prepare(PlanSlot::kAllreduce56, lines_.first_signals().words, lines_.repeated_words().tag);
  return allreduce_words_again(lines_.first_signals(), in, out);
}

Status Member::rest_of_allreduce_words(const void* in, void* out) {
  const Repeat& call = lines_.repeated_words();
  FirstSignals& first_signals = lines_.first_signals();
  const bool attend = follow(PlanSlot::kAllreduce56, first_signals.words, call.call, call.tag);
  const SeveralWords words{call.folds.line, first_signals.words_bytes};
  lines_.fill(in, words.bytes);
  return go<Load::kWords>(attend, 0, out, words);
}

Status Member::rest_of_allreduce_whole(std::uint64_t value, void* data, WholeFold fold, void* context) {
  lines_.first_signals().word.forget();
  lines_.first_signals().swap.forget();
  const Call call = whole_call(8);
  const bool attend = follow(PlanSlot::kAllreduce8, lines_.first_signals().whole, call.packed(),
                             History::own_tag(call.packed()));
  return go<Load::kOneWord>(attend, value, data, WholeWord{fold, context});
}

Status Member::other_allreduce_whole(void* data, std::uint32_t bytes, WholeFold fold, void* context) {
  const Call call = whole_call(bytes);
  if (bytes == 8 && lines_.rounds() && seat_.is_open()) {
    prepare(PlanSlot::kAllreduce8, lines_.first_signals().whole, History::own_tag(call.packed()));
    return allreduce_whole(lines_.first_signals(), data, bytes, fold, context);
  }
  const Carried carried{.words = words_of(bytes), .folds = {}, .whole = fold, .context = context};
  return together(bytes <= 8 ? PlanSlot::kAllreduce8 : PlanSlot::kAllreduce56, call, bytes, data, carried,
                  {data, bytes});
}

Status Member::rest_of_swap(std::uint64_t sent, const Swap& swap) {
  lines_.first_signals().word.forget();
  lines_.first_signals().whole.forget();
  lines_.keep_swapped(sent, swap);
  const bool attend =
      follow(PlanSlot::kAllreduce8, lines_.first_signals().swap, lines_.swapped().call, lines_.swapped().tag);
  return go<Load::kOneWord>(attend, sent, swap.out, SwappedWord{&lines_.swapped()});
}

Status Member::swap(const Call& call, std::size_t count, FoldFn fold, const Swap& swap) {
  if (!seat_.is_open()) return seat_.refusal();
  lines_.set_swapped(call, count, fold);
  prepare(PlanSlot::kAllreduce8, lines_.first_signals().swap, lines_.swapped().tag);
  return swap_again(lines_.first_signals(), swap);
}

}  // namespace fermata::exec
