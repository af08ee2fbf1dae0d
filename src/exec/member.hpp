// Member: the handle of one rank. Only one thread at a time makes its calls; meanwhile the progress thread
// may move data of its requests. Its parts have nearly all of the state; this class has the calls, and their
// steps through several parts.
#ifndef FERMATA_EXEC_MEMBER_HPP
#define FERMATA_EXEC_MEMBER_HPP

#include <cstdint>
#include <cstring>

#include "base/word.hpp"
#include "exec/call_log.hpp"
#include "exec/diagnosis.hpp"
#include "exec/first_signals.hpp"
#include "exec/fold.hpp"
#include "exec/lengths.hpp"
#include "exec/line_calls.hpp"
#include "exec/lookout.hpp"
#include "exec/park_rate.hpp"
#include "exec/request_engine.hpp"
#include "exec/request_queues.hpp"
#include "exec/seat.hpp"
#include "exec/waiter.hpp"
#include "sync/doorbell.hpp"

namespace fermata::exec {

class Member {
 public:
  static Status join(Team* team, std::uint32_t rank, Member** out, const char** detail);
  // join() in two halves, for a thread that does not exist yet. reserve() does everything that may fail. The
  // thread that will use the member calls settle().
  static Status reserve(Team* team, std::uint32_t rank, Member** out, const char** detail);
  void settle();
  void leave();  // frees it too

  // first_signals: this member's own first signals. The caller passes them if it knows their address.
  [[gnu::always_inline]] Status barrier(const FirstSignals& first_signals) {
    if (first_signals.barrier.is_known() && seat_.is_open()) [[likely]] {
      TeamCursor::send_prepared<Load::kNothing>(first_signals.barrier, 0);
      return rest_of_barrier();
    }
    return other_barrier();
  }
  [[gnu::always_inline]] Status barrier() { return barrier(lines_.first_signals()); }
  void keep_first_signals_in(FirstSignals* place) { lines_.keep_first_signals_in(place); }
  Status barrier_tagged(std::uint32_t tag);
  Status arrive();  // starts a barrier
  // Starts a broadcast, reduce or allreduce of at most 56 bytes. Only depart() fills `out` and ends the call,
  // also after test() has returned kOk. Null: no data here.
  Status arrive_with(const Call& call, const void* in, void* out);
  // Waits for the outstanding line call, split-phase or interrupted, and ends it. kArgument: there is none.
  // kRetracted: the caller repeats the call on blocks.
  Status depart();
  // kOk: depart() or resume() ends the outstanding call without a wait, or finds its error; or there is none.
  // kPending: the call is not over. kRetracted: the caller repeats the call on blocks.
  Status test();
  [[gnu::always_inline]] Status allreduce(const void* in, void* out, std::uint32_t count, Type type, Op op) {
    const std::uint32_t bytes = count << log2_size_of(type);
    const Call call{Collective::kAllreduce, static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(op), 0,
                    bytes};
    if (bytes == 8 && lines_.rounds() && seat_.is_open()) {
      const bool sums_doubles = op == Op::kSum && type == Type::kDouble;
      repeat({folds_of(op, type), call.packed(), History::own_tag(call.packed()), sums_doubles}, count, type,
             op);
      return allreduce_again(lines_.first_signals(), in, out);
    }
    if (bytes > 8 && lines_.rounds_of_words() && log2_size_of(type) <= 3 && seat_.is_open())
      return first_allreduce_of_words(call, in, out);
    if (bytes <= 8) return move<Load::kOneWord>(PlanSlot::kAllreduce8, call, in, out);
    return move<Load::kWords>(PlanSlot::kAllreduce56, call, in, out);
  }
  // True if this call repeats first_signals.word's call, and can start: its arguments are valid and its first
  // signal is prepared.
  [[gnu::always_inline]] bool repeats(const FirstSignals& first_signals, std::size_t count,
                                      std::uint32_t type, std::uint32_t op) const {
    return count == first_signals.count && type == first_signals.type && op == first_signals.op &&
           first_signals.word.is_known() && seat_.is_open();
  }
  [[gnu::always_inline]] Status allreduce_again(const FirstSignals& first_signals, const void* in,
                                                void* out) {
    const std::uint64_t value = word_at(in, 0, 8);
    TeamCursor::send_prepared<Load::kOneWord>(first_signals.word, value);
    return rest_of_allreduce(value, out);
  }
  // The same for more than 8 bytes.
  [[gnu::always_inline]] bool repeats_words(const FirstSignals& first_signals, std::size_t count,
                                            std::uint32_t type, std::uint32_t op) const {
    return count == first_signals.words_count && type == first_signals.words_type &&
           op == first_signals.words_op && first_signals.words.is_known() && seat_.is_open();
  }
  [[gnu::always_inline]] Status allreduce_words_again(const FirstSignals& first_signals, const void* in,
                                                      void* out) {
    TeamCursor::send_prepared(first_signals.words, in, first_signals.words_bytes);
    return rest_of_allreduce_words(in, out);
  }
  // Folds `data` (1..56 bytes) of all members with `fold`, in rank order if the plan folds in that order.
  [[gnu::always_inline]] Status allreduce_whole(const FirstSignals& first_signals, void* data,
                                                std::uint32_t bytes, WholeFold fold, void* context) {
    if (bytes != 8 || !first_signals.whole.is_known() || !seat_.is_open()) [[unlikely]]
      return other_allreduce_whole(data, bytes, fold, context);
    const std::uint64_t value = word_at(data, 0, 8);
    TeamCursor::send_prepared<Load::kOneWord>(first_signals.whole, value);
    return rest_of_allreduce_whole(value, data, fold, context);
  }
  // The two halves of an allreduce by the plan for kLinePayload bytes, for the member through which it goes.
  // All that it does before spread() is to await: collect() waits until all others have made the call, and
  // folds what they give with `in`. spread() gives the member's own part to the others, instead of their
  // fold, and ends the call. kArgument: there is no collected call, or it carries fewer words than `count`.
  Status collect(const Call& call, const void* in, const Carried& carried);
  Status spread(const std::uint64_t (&words)[kPayloadWords], std::uint32_t count);
  // After collect(): what the others gave.
  std::uint64_t collected(std::uint32_t word) { return lines_.result()[word]; }
  // Two members whose one-word allreduce is one exchange: each sends the other a block of at most 8 bytes.
  bool swaps() const { return lines_.swaps(); }
  [[gnu::always_inline]] bool repeats_swap(const FirstSignals& first_signals, Collective collective,
                                           std::size_t count, std::uint32_t type, std::uint32_t op) const {
    return count == first_signals.swapped_count && type == first_signals.swapped_type &&
           op == first_signals.swapped_op && collective == first_signals.swapped_collective &&
           first_signals.swap.is_known() && seat_.is_open();
  }
  [[gnu::always_inline]] Status swap_again(const FirstSignals& first_signals, const Swap& swap) {
    const std::uint64_t value = word_at(swap.sent, 0, first_signals.swapped_bytes);
    TeamCursor::send_prepared<Load::kOneWord>(first_signals.swap, value);
    return rest_of_swap(value, swap);
  }
  // fold: null if blocks are only moved.
  Status swap(const Call& call, std::size_t count, FoldFn fold, const Swap& swap);
  // True if the team has a plan for that slot.
  bool carries(PlanSlot slot) const { return lines_.carries(slot); }
  // A line call of a collective that has several blocks (api/together.cpp), with `bytes` (1..56) of payload.
  // in: this member's contribution to the payload; null: none. taken: which part of the payload is this
  // member's result.
  Status together(PlanSlot slot, const Call& call, std::uint32_t bytes, const void* in,
                  const Carried& carried, const Taken& taken);
  Status together(PlanSlot slot, const Call& call, std::uint32_t bytes, const void* in, const Folds& folds,
                  const Taken& taken) {
    return together(slot, call, bytes, in, Carried{.words = words_of(bytes), .folds = folds}, taken);
  }
  Status reduce(const void* in, void* out, std::uint32_t count, Type type, Op op, std::uint32_t root);
  Status broadcast(void* data, std::uint32_t bytes, std::uint32_t root);
  // Continues the call whose wait the time limit or the idle hook has ended.
  Status resume();

  // The channel that ordered requests share; null if this team moves no blocks.
  Channel* shared_channel() { return queues_.channel.base != nullptr ? &queues_.channel : nullptr; }
  // Records that a persistent operation is created. All members create theirs in the same order, like calls.
  Status prepares(Call call);
  Status begin(BlockRequest* request) { return engine_.begin(request); }
  // See RequestEngine::progress().
  bool progress(std::size_t most = SIZE_MAX, std::int64_t until = 0) { return engine_.progress(most, until); }
  // Does the same for the calling thread's other members that have requests, except those whose data the
  // progress thread moves now. True: it did so for at least one.
  bool progress_others();
  // For the progress thread. Only moves data: the member's own thread notices completion and runs callbacks.
  bool push_data() { return engine_.push_data(); }
  bool is_idle() const { return queues_.is_idle(); }  // see RequestQueues::is_idle()
  // From now on the requests of this member belong to the calling thread.
  void adopt() { const RequestQueues::Hold hold(queues_); }
  // Makes progress for at most `ns` ns, also on the thread's other members. If ns <= 0, it does so once, and
  // a little longer while something moves. kPending: this member still has requests. kOk: it has none.
  // Otherwise what broke the team.
  Status progress_for(std::int64_t ns);
  // Waits until one of the requests ends; the time limit and the idle hook apply. `several`: for some of
  // them, requests of this thread's other members must advance, too.
  Status wait_for_any(BlockRequest* const* requests, std::size_t count, bool several = false);
  Status wait_for(BlockRequest* request) {
    const Status status = wait_for_any(&request, 1);
    return request->active ? status : request->status;
  }
  // Calls begin() and wait_for(). If the time limit or the idle hook ends the wait, resume() continues it.
  Status execute(BlockRequest* request);
  Status test_for(BlockRequest* request);  // kPending, or the final status
  // What broke the team; kOk: nothing. It also makes the checks of Lookout::test_requests() if the member has
  // requests. If the team is broken, it ends these requests.
  Status team_status();
  bool has_requests() const { return queues_.active != 0; }
  // For a member that cannot go on in a step that all members take: breaks the team, for the reason that the
  // text gives. No later call of this member starts: its signals would let the others pass that step.
  [[gnu::cold]] Status break_team(Status status, const char* text);

  std::uint32_t rank() const { return seat_.rank; }
  Team& team() const { return seat_.team; }
  const os::ProcessMemory& home() const { return seat_.home; }  // its process, in a team of processes
  // True if that member lives in this member's process. Known once that member has joined.
  bool is_beside(std::uint32_t rank) const { return team().where_is(rank, home()) == Where::kHere; }
  void set_idle_hook(IdleHook hook, void* context) {
    waiter_.settings.hook = hook;
    waiter_.settings.hook_context = context;
  }
  CallLog& log() { return log_; }
  const CallLog& log() const { return log_; }
  Waiter& waiter() { return waiter_; }
  const LineCalls& lines() const { return lines_; }
  const Lengths& lengths() const { return lengths_; }
  std::uint64_t calls() const { return log_.sequence(); }
  const Patience& patience() const { return engine_.patience(); }
  // Announces a slow first call, so that waits for it do not count as stalls (sync/wait.hpp).
  void exclude_call() const { exclude_until(team().header().pace, log_.paced_calls() + 1); }
  bool outstanding() const { return seat_.outstanding(); }
  // From now on measures the poll interval, instead of using the pauses of the compiled programs.
  void find_poll_interval() { waiter_.find_poll_interval(calls()); }
  std::uint64_t uses(PlanSlot slot) const { return lines_.uses(slot); }
  // Copies the user's settings from another member.
  void inherit(const Member& other) {
    waiter_.settings = other.waiter_.settings;
    log_.set_bounded(other.log_.is_bounded());
  }
  bool forked() const { return seat_.forked(); }  // the member belongs to the parent
  Status usable() const { return seat_.usable(); }
  // The text of the last error: what happened, and to which ranks.
  const char* detail() const { return diagnosis_.text(); }

 private:
  Member(Team& team, std::uint32_t rank);

  // Starts a line call, which is outstanding until over(). in, bytes: see LineCalls::start().
  template <Load L>
  [[gnu::always_inline]] Status start(PlanSlot slot, const Call& call, const void* in, std::uint32_t bytes) {
    const Bound& plan = lines_.plan(slot);
    if (!seat_.is_open() || plan.steps == nullptr) [[unlikely]]
      return seat_.refusal();
    const std::uint64_t packed = call.packed();
    if (!lines_.start<L>(slot, plan, call.root, packed, log_.history(), in, bytes)) [[unlikely]]
      return refuse_root();
    // After the first signal: members read the status line mostly after a long wait.
    seat_.close();
    log_.say(packed);
    if (waiter_.is_due(calls()) && !do_seldom_work(slot)) [[unlikely]]
      return seat_.broken();
    if (!synchronizes(call.collective)) remember(packed);
    return Status::kOk;
  }
  // Starts a line call with data. in: this member's contribution, null if it has none.
  template <Load L>
  [[gnu::always_inline]] Status start_with(PlanSlot slot, const Call& call, const void* in,
                                           Carried& carried) {
    const auto bytes = static_cast<std::uint32_t>(call.bytes);
    const Status ready = start<L>(slot, call, in, bytes);
    if (ready != Status::kOk) [[unlikely]]
      return ready;
    carried.words = L == Load::kOneWord ? 1 : words_of(bytes);
    if (call.collective != Collective::kBroadcast)
      carried.folds = folds_of(static_cast<Op>(call.op), static_cast<Type>(call.type));
    if constexpr (L == Load::kWords)
      if (log2_size_of(static_cast<Type>(call.type)) > 3) [[unlikely]]
        carry_wide(carried, call);
    return Status::kOk;
  }
  // Like start_with(), and completes the call. out: where the result goes, null if this member gets none.
  template <Load L>
  [[gnu::always_inline]] Status move(PlanSlot slot, const Call& call, const void* in, void* out) {
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
  // For a started call that another member can end without a signal from this one, so a mismatch may go
  // unnoticed: the next call compares histories.
  [[gnu::always_inline]] void remember(std::uint64_t call) {
    log_.remember(call);
    lines_.history_has_changed();
  }
  // Adapts the poll interval, and checks whether the team is broken, because a member whose calls never wait
  // checks it nowhere else. False: the team is broken.
  [[gnu::noinline, gnu::cold]] bool do_seldom_work(PlanSlot slot);
  // There is no memory for this root's program, or the program is not sound: breaks the team.
  [[gnu::cold]] Status refuse_root();
  Status run() { return lines_.advance(waiter_.spins()) ? finish() : wait(); }
  // The fast path after the first signal, for barriers and allreduces that go in rounds. Separate
  // functions: no stack frame is set up before the signal or taken down after the last read.
  [[gnu::noinline]] Status rest_of_barrier();
  [[gnu::noinline]] Status rest_of_allreduce(std::uint64_t value, void* out);
  [[gnu::noinline]] Status rest_of_allreduce_words(const void* in, void* out);
  [[gnu::noinline]] Status first_allreduce_of_words(const Call& call, const void* in, void* out);
  [[gnu::noinline]] Status rest_of_swap(std::uint64_t sent, const Swap& swap);
  [[gnu::noinline]] Status rest_of_allreduce_whole(std::uint64_t value, void* data, WholeFold fold,
                                                   void* context);
  [[gnu::noinline]] Status other_allreduce_whole(void* data, std::uint32_t bytes, WholeFold fold,
                                                 void* context);
  static Call whole_call(std::uint32_t bytes) {
    return {Collective::kAllreduce, Call::kOwnType, Call::kOwnOp, 0, bytes};
  }
  void prepare(PlanSlot slot, TeamCursor::PreparedSignal& signal, std::uint64_t own_tag);
  void repeat(const Repeat& call, std::size_t count, Type type, Op op) {
    lines_.set_repeated(call, count, static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(op));
    prepare(PlanSlot::kAllreduce8, lines_.first_signals().word, call.tag);
  }
  bool follow(PlanSlot slot, TeamCursor::PreparedSignal& signal, std::uint64_t call, std::uint64_t own_tag);
  template <Load L, class F>
  Status go(bool attend, std::uint64_t value, void* out, F fold);
  template <Load L, class F>
  Status attend_and_go(std::uint64_t value, void* out, F fold);
  template <Load L, class F>
  Status go_round(std::uint64_t value, void* out, F fold);
  template <Load L, class F>
  Status ring_and_go_round(std::uint64_t value, void* out, F fold);
  struct SeveralWords;
  Status fold_and_go_on(void* out, SeveralWords words);
  template <Load L, class F>
  Status late(std::uint64_t value, void* out, F fold);
  template <Load L>
  Status together(PlanSlot slot, const Call& call, std::uint32_t bytes, const void* in,
                  const Carried& carried, const Taken& taken);
  [[gnu::noinline]] Status other_barrier();
  Status start_barrier_with(std::uint64_t folded);
  Status barrier_with_tag(std::uint64_t folded);
  // Ends a line call that did not end on a shorter path: results, tags and errors.
  Status finish();
  Status make_again();
  void over() {
    seat_.open();
    log_.say_over();
  }
  // Advances an outstanding line call, split-phase or interrupted.
  void advance_line() {
    if (outstanding() && queues_.interrupted == nullptr) lines_.advance(0);
  }
  // Steps of reserve().
  struct Memory;
  bool bind(const Memory& memory);
  // What wait() waits for: a line call, or requests.
  struct Wait;
  struct LineWait;
  struct BlockWait;
  template <class What>
  Status wait(const What& what);
  Status wait();

  struct SwappedWord;

  // The fast path uses the first four.
  Seat seat_;
  LineCalls lines_;
  CallLog log_;
  Waiter waiter_;
  RequestQueues queues_;
  Diagnosis diagnosis_;
  const Parts parts_;
  Lengths lengths_;
  RequestEngine engine_;
  Lookout lookout_;
  Guard<RealAtomics> guard_;
  ParkRate park_rate_;
  bool tag_check_ = false;  // the outstanding barrier compares tags
};

}  // namespace fermata::exec
#endif
