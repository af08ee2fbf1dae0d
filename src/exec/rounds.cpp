// The fast path: barriers and one-word calls whose plans go in rounds and whose first signal is prepared.
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

// Prepares the first signal of the plan's next episode.
void Member::prepare(PlanSlot slot, TeamCursor::PreparedSignal& signal, std::uint64_t own_tag) {
  const Bound& plan = bound_[static_cast<std::uint32_t>(slot)];
  memory_.region = plan.region;
  signal = TeamCursor::prepare_signal(memory_, plan.steps, *plan.episodes + 1, history_.tag(own_tag));
}

// Runs after the first signal. True: a member is parked for that signal, or do_seldom_work() is due. It
// must be short and use no stack frame. A core sends two signals per transfer of the cache line only if the
// time between them is short, and that time is a whole call.
[[gnu::always_inline]] inline bool Member::follow(PlanSlot slot, TeamCursor::PreparedSignal& signal,
                                                  std::uint64_t call, std::uint64_t own_tag) {
  const Bound& plan = bound_[static_cast<std::uint32_t>(slot)];
  const Step* const steps = plan.steps;
  const std::uint64_t episode = ++*plan.episodes;
  memory_.region = plan.region;
  memory_.root = 0;
  cursor_.follow(memory_, steps, episode, signal.header);
  signal = TeamCursor::prepare_signal(memory_, steps, episode + 1, history_.tag(own_tag));
  say_call<RealAtomics>(*status_, ++sequence_, call);
  return memory_.must_wake(*steps) || sequence_ >= next_seldom_;
}

void Member::find_poll_interval() {
  poll_interval_.start(sequence_);
  next_seldom_ = poll_interval_.next();
}

bool Member::do_seldom_work() {
  if (sequence_ >= poll_interval_.next()) {
    poll_interval_.take_time(sequence_, os::now_ns());
    cursor_.set_pauses(poll_interval_.pauses());
  }
  next_seldom_ = poll_interval_.next() - sequence_ < kSeldom ? poll_interval_.next() : sequence_ + kSeldom;
  const Status broken = broken_status();
  if (broken == Status::kOk) return true;
  gate_ = 0;
  give_up(broken);
  return false;
}

template <Load L, class Folds>
[[gnu::always_inline]] inline Status Member::go(bool attend, std::uint64_t value, void* out, Folds fold) {
  if (attend) [[unlikely]]
    return attend_and_go<L>(value, out, fold);
  return go_round<L>(value, out, fold);
}

template <Load L, class Folds>
[[gnu::noinline, gnu::cold]] Status Member::attend_and_go(std::uint64_t value, void* out, Folds fold) {
  memory_.ring(cursor_.sent());
  if (sequence_ >= next_seldom_ && !do_seldom_work()) return broken_;
  return go_round<L>(value, out, fold);
}

template <Load L, class Folds>
[[gnu::noinline]] Status Member::go_round(std::uint64_t value, void* out, Folds fold) {
  switch (cursor_.round<L>(memory_, value, fold, spins_)) {
    case TeamCursor::Round::kOver: break;
    case TeamCursor::Round::kMore: return ring_and_go_round<L>(value, out, fold);
    case TeamCursor::Round::kLate: return late<L>(value, out, fold);
  }
  if constexpr (std::is_same_v<Folds, SwappedWord>) {
    copy_bytes(out, &value, fold.bytes());
  } else if constexpr (L != Load::kNothing) {
    copy_bytes(out, &value, 8);
  }
  say_over<RealAtomics>(*status_, sequence_);
  return Status::kOk;
}

template <Load L, class Folds>
[[gnu::noinline]] Status Member::ring_and_go_round(std::uint64_t value, void* out, Folds fold) {
  cursor_.ring_again(memory_);
  return go_round<L>(value, out, fold);
}

// Called after go_round() has stopped at an await whose signal has not come, or is of another call.
template <Load L, class Folds>
[[gnu::noinline, gnu::cold]] Status Member::late(std::uint64_t value, void* out, const Folds& fold) {
  gate_ = 0;
  load_ = L;
  if constexpr (L != Load::kNothing) {
    carried_ = {.words = 1, .fold = repeat_.fold};
    taken_ = {out, 8};
    if constexpr (std::is_same_v<Folds, WholeWord>) {
      load_ = Load::kWords;
      carried_.whole = fold.fold;
      carried_.context = fold.context;
    }
    if constexpr (std::is_same_v<Folds, SwappedWord>) {
      load_ = Load::kWords;
      carried_.whole = SwappedWord::fold;
      carried_.context = &swapped_;
      taken_.bytes = swapped_.bytes;
    }
    regs_[0][0] = value;
  }
  return run();
}

Status Member::rest_of_barrier() {
  const bool attend = follow(PlanSlot::kBarrier, first_signals_->barrier, Call{}.packed(), Call{}.packed());
  return go<Load::kNothing>(attend, 0, nullptr, nullptr);
}

// A sum of doubles is folded inline: a call by pointer and its stack frame cost 10 ns between far cores.
Status Member::rest_of_allreduce(std::uint64_t value, void* out) {
  first_signals_->whole.forget();
  first_signals_->swap.forget();
  const bool attend = follow(PlanSlot::kAllreduce8, first_signals_->word, repeat_.call, repeat_.tag);
  if (!repeat_.sums_doubles) return go<Load::kOneWord>(attend, value, out, repeat_.fold);
  return go<Load::kOneWord>(attend, value, out, [](std::uint64_t left, std::uint64_t right) {
    return std::bit_cast<std::uint64_t>(
        apply<Op::kSum>(std::bit_cast<double>(left), std::bit_cast<double>(right)));
  });
}

Status Member::rest_of_allreduce_whole(std::uint64_t value, void* data, WholeFold fold, void* context) {
  first_signals_->word.forget();
  first_signals_->swap.forget();
  const Call call = whole_call(8);
  const bool attend =
      follow(PlanSlot::kAllreduce8, first_signals_->whole, call.packed(), History::own_tag(call.packed()));
  return go<Load::kOneWord>(attend, value, data, WholeWord{fold, context});
}

Status Member::other_allreduce_whole(void* data, std::uint32_t bytes, WholeFold fold, void* context) {
  const Call call = whole_call(bytes);
  if (bytes == 8 && rounds_ && gate_ == os::fork_generation()) {
    prepare(PlanSlot::kAllreduce8, first_signals_->whole, History::own_tag(call.packed()));
    return allreduce_whole(*first_signals_, data, bytes, fold, context);
  }
  const Carried carried{.words = words_of(bytes), .fold = nullptr, .whole = fold, .context = context};
  return together(bytes <= 8 ? PlanSlot::kAllreduce8 : PlanSlot::kAllreduce56, call, bytes, data, carried,
                  {data, bytes});
}

Status Member::rest_of_swap(std::uint64_t sent, const Swap& swap) {
  first_signals_->word.forget();
  first_signals_->whole.forget();
  swapped_.sent = sent;
  swapped_.kept = word_at(swap.kept, 0, swapped_.bytes);
  if (swap.kept_to != nullptr) copy_bytes(swap.kept_to, &swapped_.kept, swapped_.bytes);
  const bool attend = follow(PlanSlot::kAllreduce8, first_signals_->swap, swapped_.call, swapped_.tag);
  return go<Load::kOneWord>(attend, sent, swap.out, SwappedWord{&swapped_});
}

Status Member::swap(const Call& call, std::size_t count, FoldFn fold, const Swap& swap) {
  if (gate_ != os::fork_generation()) return refusal();
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
  prepare(PlanSlot::kAllreduce8, o.swap, swapped_.tag);
  return swap_again(o, swap);
}

}  // namespace fermata::exec
