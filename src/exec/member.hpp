// Member: the handle of one rank. Only one thread at a time uses it.
#ifndef FERMATA_EXEC_MEMBER_HPP
#define FERMATA_EXEC_MEMBER_HPP

#include <cstdint>
#include <cstring>

#include "base/word.hpp"
#include "exec/differing.hpp"
#include "exec/first_signals.hpp"
#include "exec/fold.hpp"
#include "exec/patience.hpp"
#include "exec/poll_interval.hpp"
#include "exec/request_engine.hpp"
#include "exec/team.hpp"
#include "exec/team_memory.hpp"
#include "sync/status_line.hpp"

namespace fermata::exec {

class Member;
using IdleHook = int (*)(void* context);

inline constexpr std::uint64_t kNoReview = ~std::uint64_t{0};  // the number of a call that never comes

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
    if (first_signals.barrier.is_known() && gate_ == os::fork_generation()) [[likely]] {
      TeamCursor::send_prepared<Load::kNothing>(first_signals.barrier, 0);
      return rest_of_barrier();
    }
    return other_barrier();
  }
  [[gnu::always_inline]] Status barrier() { return barrier(*first_signals_); }
  void keep_first_signals_in(FirstSignals* place);
  Status barrier_tagged(std::uint32_t tag);
  Status arrive();
  // Starts a broadcast, reduce or allreduce of at most 56 bytes. depart() fills `out`. Null: no data here.
  Status arrive_with(const Call& call, const void* in, void* out);
  Status depart();
  Status test();
  [[gnu::always_inline]] Status allreduce(const void* in, void* out, std::uint32_t count, Type type, Op op) {
    const std::uint32_t bytes = count << log2_size_of(type);
    const Call call{Collective::kAllreduce, static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(op), 0,
                    bytes};
    if (bytes == 8 && rounds_ && gate_ == os::fork_generation()) {
      const bool sums_doubles = op == Op::kSum && type == Type::kDouble;
      repeat({fold_of(op, type), call.packed(), History::own_tag(call.packed()), sums_doubles}, count, type,
             op);
      return allreduce_again(*first_signals_, in, out);
    }
    if (bytes <= 8) return move<Load::kOneWord>(PlanSlot::kAllreduce8, call, in, out);
    return move<Load::kWords>(PlanSlot::kAllreduce56, call, in, out);
  }
  // True if this call repeats first_signals.word's call: its arguments are valid and its first signal is
  // prepared.
  [[gnu::always_inline]] bool repeats(const FirstSignals& first_signals, std::size_t count,
                                      std::uint32_t type, std::uint32_t op) const {
    return count == first_signals.count && type == first_signals.type && op == first_signals.op &&
           first_signals.word.is_known() && gate_ == os::fork_generation();
  }
  [[gnu::always_inline]] Status allreduce_again(const FirstSignals& first_signals, const void* in,
                                                void* out) {
    const std::uint64_t value = word_at(in, 0, 8);
    TeamCursor::send_prepared<Load::kOneWord>(first_signals.word, value);
    return rest_of_allreduce(value, out);
  }
  // Folds `data` (1..56 bytes) of all members with `fold`, in rank order if the plan folds in that order.
  [[gnu::always_inline]] Status allreduce_whole(const FirstSignals& first_signals, void* data,
                                                std::uint32_t bytes, WholeFold fold, void* context) {
    if (bytes != 8 || !first_signals.whole.is_known() || gate_ != os::fork_generation()) [[unlikely]]
      return other_allreduce_whole(data, bytes, fold, context);
    const std::uint64_t value = word_at(data, 0, 8);
    TeamCursor::send_prepared<Load::kOneWord>(first_signals.whole, value);
    return rest_of_allreduce_whole(value, data, fold, context);
  }
  // Two members whose one-word allreduce is one exchange: each sends the other a block of at most 8 bytes.
  bool swaps() const { return swaps_; }
  [[gnu::always_inline]] bool repeats_swap(const FirstSignals& first_signals, Collective collective,
                                           std::size_t count, std::uint32_t type, std::uint32_t op) const {
    return count == first_signals.swapped_count && type == first_signals.swapped_type &&
           op == first_signals.swapped_op && collective == first_signals.swapped_collective &&
           first_signals.swap.is_known() && gate_ == os::fork_generation();
  }
  [[gnu::always_inline]] Status swap_again(const FirstSignals& first_signals, const Swap& swap) {
    const std::uint64_t value = word_at(swap.sent, 0, first_signals.swapped_bytes);
    TeamCursor::send_prepared<Load::kOneWord>(first_signals.swap, value);
    return rest_of_swap(value, swap);
  }
  // fold: null if blocks are only moved.
  Status swap(const Call& call, std::size_t count, FoldFn fold, const Swap& swap);
  bool carries(PlanSlot slot) const { return bound_[static_cast<std::uint32_t>(slot)].steps != nullptr; }
  // A line call that carries several blocks: `bytes` (1..56) of payload. in: this member's part (null: none).
  // taken: which part is its result.
  Status together(PlanSlot slot, const Call& call, std::uint32_t bytes, const void* in, FoldFn fold,
                  const Taken& taken);
  Status reduce(const void* in, void* out, std::uint32_t count, Type type, Op op, std::uint32_t root);
  Status broadcast(void* data, std::uint32_t bytes, std::uint32_t root);
  Status resume();

  // The channel that ordered requests share; null if this team moves no blocks.
  Channel* shared_channel() { return channel_.base != nullptr ? &channel_ : nullptr; }
  // Records that a persistent operation is created. All members create theirs in the same order, like calls.
  Status prepares(Call call);
  // Starts a request, which stays active until it ends. Never waits.
  Status begin(BlockRequest* request);
  // Moves at most `most` bytes of each active request. After the time `until` (0: no limit) it begins with no
  // further request; the next call continues with the rest. True: something has moved.
  bool progress(std::size_t most = SIZE_MAX, std::int64_t until = 0);
  // Does the same for the calling thread's other members. True: there are other members.
  bool progress_others();
  // For the progress thread, which holds the lock; releases it. Only moves data: the member's own thread
  // notices completion and runs callbacks. True: something has moved.
  bool push_data();
  // True if no request is outstanding except the request that a call waits for.
  bool is_idle() const { return requests_.is_idle(); }
  // From now on the requests of this member belong to the calling thread.
  void adopt() { const Hold hold(*this); }
  // Makes progress for at most `ns` ns, also on the thread's other members. If ns <= 0, it does so once, and
  // a little longer while something moves.
  Status progress_for(std::int64_t ns);
  // Waits until one of the requests ends; set_timeout() and the idle hook apply. `several`: some are of other
  // members, which the calling thread has adopted.
  Status wait_for_any(BlockRequest* const* requests, std::size_t count, bool several = false);
  Status wait_for(BlockRequest* request) {
    const Status status = wait_for_any(&request, 1);
    return request->active ? status : request->status;
  }
  // Calls begin() and wait_for(). If it is interrupted, resume() continues the wait.
  Status execute(BlockRequest* request);
  Status test_for(BlockRequest* request);  // kPending, or the final status
  Status team_status();                    // what broke the team; then the member's requests have ended
  bool has_requests() const { return requests_.active != 0; }

  std::uint32_t rank() const { return rank_; }
  Team& team() const { return *team_; }
  const os::ProcessMemory& home() const { return home_; }  // its process, in a team of processes
  // True if that member lives in this member's process. Known once that member has joined.
  bool is_beside(std::uint32_t rank) const { return team_->where_is(rank, home_) == Where::kHere; }
  void set_timeout(std::int64_t ns) { timeout_ns_ = ns; }
  std::int64_t timeout() const { return timeout_ns_; }
  void set_idle_hook(IdleHook hook, void* context) { hook_ = hook, hook_context_ = context; }
  // While the idle hook is set: the longest sleep between two of its calls.
  void set_idle_sleep(std::int64_t ns) { idle_sleep_ns_ = ns; }
  std::uint64_t calls() const { return sequence_; }
  const Patience& patience() const { return patience_; }
  // The call number for parking (sync/wait.hpp). Unordered starts count too: a member may start nothing else.
  std::uint64_t paced_calls() const { return sequence_ + unordered_starts_; }
  // Announces a slow first call, so that its yields do not count as expensive (sync/wait.hpp).
  void exclude_call() const { exclude_until(team_->header().pace, paced_calls() + 1); }
  bool outstanding() const { return gate_ == 0 && broken_ == Status::kOk; }
  // From now on measures the poll interval, instead of using the pauses of programs that nobody has tuned.
  void find_poll_interval();
  std::uint32_t found_pauses() const { return poll_interval_.pauses(); }  // 0: the programs' own
  // The call at which the owner of this member wants to review its placement.
  void set_review(std::uint64_t call) { review_at_ = call; }
  bool review_due() const { return sequence_ >= review_at_; }
  // Episodes of a plan so far, over all roots.
  std::uint64_t uses(PlanSlot slot) const;
  void set_bounded(bool on) { bounded_ = on; }
  bool is_bounded() const { return bounded_; }
  std::uint64_t their_bytes() const { return differing_.bytes; }  // of a block in the retracted call
  const Split& split() const { return differing_.split; }         // the retracted call (exec/adapt.cpp)
  // Copies the user's settings from another member.
  void inherit(const Member& other);
  bool forked() const { return generation_ != os::fork_generation(); }  // the member belongs to the parent
  Status usable() const { return forked() ? Status::kForked : broken_; }
  // The text of the last error: what happened, and to which ranks.
  const char* detail() const { return detail_; }

 private:
  static constexpr auto kNoWord = [](std::uint32_t) { return std::uint64_t{0}; };
  // Starts a line call, which is outstanding until over().
  template <Load L, class Word>
  Status start(PlanSlot slot, const Call& call, std::uint32_t words, Word&& word);
  // Called after a call in which others may not wait for this member: the next call compares histories.
  [[gnu::always_inline]] void remember(std::uint64_t call) {
    differing_.own = {sequence_, call};
    history_.add(bounded_ ? Call::without_length(call) : call);
    first_signals_->barrier.forget();
    forget_words();
    barrier_carries_ = tagged_ || barrier_has_words_;
  }
  void forget_words() {
    first_signals_->word.forget();
    first_signals_->whole.forget();
    first_signals_->swap.forget();
  }
  // Adapts the poll interval, and checks whether the team is broken, because a member whose calls never wait
  // checks it nowhere else. False: the team is broken.
  [[gnu::noinline, gnu::cold]] bool do_seldom_work();
  // Returns this member's program for another root. Over several hosts each root has programs; on one host
  // ranks 0 and root exchange their programs. Null: no memory, or the program in the segment is not sound.
  const Step* steps_of_root(PlanSlot slot, std::uint32_t root);
  [[gnu::cold]] Status refuse_root();
  Status refusal() const;

  static std::uint32_t words_of(std::uint64_t bytes) { return static_cast<std::uint32_t>((bytes + 7) / 8); }

  // Starts a line call with data. in: this member's contribution, null if it has none.
  template <Load L>
  Status start_with(PlanSlot slot, const Call& call, const void* in, Carried& carried);
  // Like start_with(), and completes the call. out: where the result goes, null if this member gets none.
  template <Load L>
  Status move(PlanSlot slot, const Call& call, const void* in, void* out);
  static void carry_wide(Carried& carried, const Call& call);
  Status run() { return advance(spins_) ? finish() : wait(); }
  [[gnu::noinline]] bool advance(std::uint32_t spins);
  // The fast path after the first signal, for barriers and one-word allreduces that go in rounds. Separate
  // functions: no stack frame is set up before the signal or taken down after the last read.
  [[gnu::noinline]] Status rest_of_barrier();
  [[gnu::noinline]] Status rest_of_allreduce(std::uint64_t value, void* out);
  [[gnu::noinline]] Status rest_of_swap(std::uint64_t sent, const Swap& swap);
  [[gnu::noinline]] Status rest_of_allreduce_whole(std::uint64_t value, void* data, WholeFold fold,
                                                   void* context);
  [[gnu::noinline]] Status other_allreduce_whole(void* data, std::uint32_t bytes, WholeFold fold,
                                                 void* context);
  static Call whole_call(std::uint32_t bytes) {
    return {Collective::kAllreduce, Call::kOwnType, Call::kOwnOp, 0, bytes};
  }
  bool follow(PlanSlot slot, TeamCursor::PreparedSignal& signal, std::uint64_t call, std::uint64_t own_tag);
  template <Load L, class Folds>
  Status go(bool attend, std::uint64_t value, void* out, Folds fold);
  template <Load L, class Folds>
  Status attend_and_go(std::uint64_t value, void* out, Folds fold);
  template <Load L, class Folds>
  Status go_round(std::uint64_t value, void* out, Folds fold);
  template <Load L, class Folds>
  Status ring_and_go_round(std::uint64_t value, void* out, Folds fold);
  template <Load L, class Folds>
  Status late(std::uint64_t value, void* out, const Folds& fold);
  Status together(PlanSlot slot, const Call& call, std::uint32_t bytes, const void* in,
                  const Carried& carried, const Taken& taken);
  template <Load L>
  Status together(PlanSlot slot, const Call& call, std::uint32_t bytes, const void* in,
                  const Carried& carried, const Taken& taken);
  [[gnu::noinline]] Status other_barrier();
  void prepare(PlanSlot slot, TeamCursor::PreparedSignal& signal, std::uint64_t own_tag);
  // Ends a call that left the fast path: results, tags and errors.
  Status finish();
  void take(const Taken& taken);
  void over() {
    gate_ = generation_;
    say_over<RealAtomics>(*status_, sequence_);
  }
  // Steps of reserve().
  struct Memory;
  void set_team(Team* team, std::uint32_t rank);
  bool bind(const Memory& memory);
  void choose_paths();
  void choose_spins();
  // What wait() waits for: a line call, or a request.
  struct LineWait;
  struct BlockWait;
  struct Limits;
  static constexpr std::int64_t kLookNs = 20'000'000;  // between two checks of the other members
  Status time_out(std::int64_t waited_ns, std::uint32_t peer);
  template <class What>
  Status check_wait(Limits& limits, std::int64_t now, const What& what);
  template <class What>
  Status wait(What what);
  template <class Policy, class What>
  Status wait_with(Policy& policy, What what);
  Status wait(), look_around(std::int64_t waited_ns), look_at_others(std::int64_t waited_ns, bool unsettled);
  std::uint32_t awaited_member() const;
  Status break_team(Status status, std::uint32_t rank);
  // Ends this member's wait in a broken team, and tells the other hosts.
  Status give_up(Status status) {
    team_->tell_abroad();
    return broken_ = status;
  }
  Status lost(std::uint32_t rank), look_for_givers(const BlockRequest& r),
      look_for_requests(std::int64_t waited_ns), look_now_and_then();
  Status look_for(const BlockRequest& request, std::int64_t waited_ns, bool unsettled),
      look_for_ride(std::int64_t waited_ns);
  bool own_call(std::uint64_t number, std::uint64_t* packed) const, differs_from(std::uint32_t rank),
      differs_now(std::uint32_t rank),
      is_another(std::uint64_t number, std::uint32_t rank, std::uint64_t theirs);
  void name_lost(std::uint32_t rank),
      name_difference(std::uint64_t number, std::uint64_t mine, std::uint32_t rank, std::uint64_t theirs);
  bool is_only_call() const, may_settle(const BlockRequest* request) const,
      is_unsettled(const BlockRequest& request) const;
  Status settle_length(bool retractable), settle_come(const Call& call, bool retractable),
      settle_met_length(bool retractable);
  bool adapts(BlockRequest* request), adapts_to(BlockRequest* request, std::uint64_t bytes), advance_ride();
  Status find_firsts(Call* call), meets_first(),
      find_theirs(const Call& call, std::uint64_t number, std::uint64_t* theirs) const;
  bool may_retract() const, ride(BlockRequest* r, const Call& c), takes(BlockRequest* r, const Call& theirs),
      may_come_later(const Call& c, std::uint64_t number, Overtaken& seen) const;
  std::uint32_t find_come(const Call& call, const BlockRequest* request, Call* theirs);
  const Step* on_line(PlanSlot slot, std::uint32_t root, TeamMemory* memory);
  void count_episodes(BlockRequest* request) const;
  Status adapt_first(), look_at_line(), make_again(), end_again(), retract_line(), retract(),
      settle_begun(BlockRequest* request);
  Status met_another_call(std::uint32_t rank), compare_abroad(std::uint64_t number, std::uint64_t call);
  // In its scope only this thread works on this member's requests. Callbacks already run in such a scope.
  class Hold {
   public:
    explicit Hold(Member& member) : member_(member), outer_(member.requests_.hold(&member)) {}
    ~Hold() {
      if (outer_) member_.requests_.let_go(&member_);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Member& member_;
    bool outer_;
  };
  friend class BusyMembers;
  bool advance_request(BlockRequest* request, std::size_t most);
  bool begin_now(BlockRequest* request);
  void be_patient();
  void end_request(BlockRequest* request, Status status);
  Status outcome(const BlockRequest& request);
  void advance_line();
  void fail_requests(Status status);
  void take_back();
  void ring(std::uint32_t rank) {
    fermata::ring<RealAtomics>(team_->segment().door(rank), memory_.full_fence(), memory_.calls);
  }
  Status broken_status(), status_of_broken();
  bool report_stall(std::int64_t waited_ns);
  Status barrier_with_tag(std::uint64_t folded);
  Status start_barrier_with(std::uint64_t folded);

  Team* team_ = nullptr;
  std::uint32_t rank_ = 0;
  os::ProcessMemory home_;  // this process, in a team of processes
  std::uint32_t generation_ = 0;
  std::uint32_t spins_ = 0;
  Status broken_ = Status::kOk;
  std::uint32_t gate_ = 0;  // generation_: a call may start; 0: one is outstanding, or the team broke
  void repeat(const Repeat& call, std::size_t count, Type type, Op op) {
    repeat_ = call;
    first_signals_->count = count;
    first_signals_->type = static_cast<std::uint32_t>(type);
    first_signals_->op = static_cast<std::uint32_t>(op);
    prepare(PlanSlot::kAllreduce8, first_signals_->word, repeat_.tag);
  }
  struct SwappedWord;
  bool rounds_ = false;          // the plan of a one-word allreduce goes in rounds
  bool swaps_ = false;           // that plan is one exchange of two members
  bool barrier_rounds_ = false;  // the barrier's plan goes in rounds and carries no tags
  Load load_ = Load::kNothing;
  Repeat repeat_;
  Swapped swapped_;
  FirstSignals own_first_signals_;
  FirstSignals* first_signals_ = &own_first_signals_;
  TeamCursor cursor_;
  TeamMemory memory_;
  Carried carried_;
  std::uint64_t sequence_ = 0, unordered_starts_ = 0;
  std::uint64_t review_at_ = kNoReview;
  StatusLine* status_ = nullptr;
  Bound bound_[kPlanSlots];
  Step** of_roots_ = nullptr;  // the steps for each plan and root; null: not used yet
  bool tagged_ = false;        // this team's barrier carries tags
  bool over_hosts_ = false;
  bool attends_ = false;            // requests also drive a port
  bool barrier_has_words_ = false;  // words carry no history; an 8-byte allreduce does
  bool barrier_carries_ = false;    // the next barrier carries tags or the history
  History history_;
  alignas(16) std::uint64_t regs_[kMaxRegisters][kPayloadWords] = {};

  Channel channel_;  // base null: this team moves no blocks
  RequestEngine requests_;
  Patience patience_;
  static constexpr std::uint64_t kSeldom = 16384;  // calls from one do_seldom_work() to the next, at most
  std::uint64_t next_seldom_ = kSeldom;
  PollInterval poll_interval_;

  Taken taken_;  // where the result of the outstanding call goes
  bool tag_check_ = false, bounded_ = false;

  AutoWait auto_;
  std::uint32_t joined_seen_ = 0;  // the number of members that auto_ is for
  std::int64_t timeout_ns_ = 0;
  IdleHook hook_ = nullptr;
  void* hook_context_ = nullptr;
  std::int64_t idle_sleep_ns_ = 0;  // 0: no limit
  char detail_[240] = {};
  Differing differing_;  // rarely used, so it lies after the fields that each call needs
};

}  // namespace fermata::exec

#include "exec/line_calls.hpp"
#endif
