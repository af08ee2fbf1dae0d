// Lengths: calls that this member has begun with another length than the other members. They are settled only
// for a bounded member (fermata_member_set_bounded()), in regular collectives with a root. A member that only
// gives data does not notice the difference, unless data of another length come to it, as in the tree of a
// reduce: then the team breaks. A member that gets data retracts the call: it undoes the start, repeats the
// call with the others' length, and takes the elements that fit. It can retract a call as long as it has
// neither sent nor taken anything. A nonblocking broadcast or reduce goes on with the others' length instead.
// So does a blocking one on blocks over several hosts. A nonblocking gather or scatter cannot: there a
// different length breaks the team.
//
// A call is settled at most once, to the length of the members from which its data come. If they make a
// request as a line call, this member carries it out as one too. Then ride_ has the cursor of that line call,
// until the request ends.
#ifndef FERMATA_EXEC_LENGTHS_HPP
#define FERMATA_EXEC_LENGTHS_HPP

#include <cstdint>

#include "exec/diagnosis.hpp"
#include "exec/line_calls.hpp"

namespace fermata::exec {

// A retracted call, as its caller made it. `out` and `in` are only for a line call.
struct Split {
  Call call;
  void* out = nullptr;
  std::uint64_t in[kPayloadWords] = {};
};

// A request that is carried out as a line call, with a cursor of its own.
struct Ride {
  TeamCursor cursor;
  TeamMemory memory;
  Carried carried;
  Load load = Load::kNothing;
  std::uint64_t bytes = 0;
  alignas(16) std::uint64_t regs[kMaxRegisters][kPayloadWords] = {};
};

// The parts of a member that Lengths, RequestEngine and Lookout (lookout.hpp: checks on the others) share.
struct Parts {
  Seat& seat_;
  LineCalls& lines_;
  CallLog& log_;
  RequestQueues& queues_;
  Diagnosis& diagnosis_;
  Team& team_;
};

class Lengths : Parts {
 public:
  explicit Lengths(const Parts& parts) : Parts(parts) {}
  ~Lengths();
  Lengths(const Lengths&) = delete;
  Lengths& operator=(const Lengths&) = delete;

  // The retracted call, and the others' block size in it.
  const Split& split() const { return split_; }
  std::uint64_t their_bytes() const { return their_bytes_; }

  // splits(): the outstanding line call is split-phase and has data. depart() and departed() say that
  // Member::depart(), which ends such a call, begins and ends.
  bool splits() const { return splits_; }
  void set_splits() { splits_ = true; }
  void depart();
  void departed();
  // Before a further wait: late data may be at the port to other hosts, which the wait looks at.
  void look_anew() { overtaken_ = {}; }
  // True if the present line call has sent and taken nothing, and its caller can repeat it. The second one is
  // for Member::test(), which can repeat only split-phase calls.
  bool may_retract() const { return retractable(departs_ == splits_); }
  bool may_retract_tested() const { return log_.is_bounded() && retractable(splits_); }
  // Compares the length of the present call with the lengths at the members from which its data come: the
  // root, or all others. Over several hosts, or if a call of theirs is too old to be known, it compares with
  // the length of data that have come. kRetracted: repeat the call with their length. kOk: no difference of
  // the lengths is known. kPending: some member has not published its call yet. A difference breaks the team
  // if the call is not retractable, or if the lengths of the others differ from each other.
  Status settle(bool retractable);
  // For a member that has met the tag of another call. kRetracted: repeat the call. kPending: the member goes
  // on waiting, because members send signals before they publish their calls, and some may not have reached
  // this call yet. Over several hosts, this call's data may also come after a later call's, for up to 5 s.
  // kOk: the other tag is an error; it always is one if the call is not retractable. Otherwise the error that
  // has broken the team.
  Status settle_met(bool retractable);
  // Undoes the start of the present line call, or of the present block call. Returns kRetracted.
  Status retract_line();
  Status retract();
  // For a retracted split-phase call. True: `again` runs as a line call into result(), and end_again() then
  // copies the result; false: its caller repeats it as a block call.
  bool begins_again(Call* again);
  void set_again() { again_ = true; }
  bool again() const { return again_; }
  std::uint64_t* result() { return result_; }
  Status end_again();

  // True if the request is the member's blocking call on blocks, and no earlier ordered request is active.
  // The caller of such a call can repeat it.
  bool may_settle(const BlockRequest* request) const;
  // True if the member's newest call is a blocking one on blocks, and no earlier ordered request is active.
  bool is_only_call() const;
  // True if the request has met a piece of another call, and may wait until the others publish their calls or
  // their data come.
  bool is_unsettled(const BlockRequest& request) const {
    return request.operation.status() == Status::kMismatch && log_.is_bounded() && may_settle(&request);
  }
  // If a request has met a piece of another length, continues with that length. False: it has not met one,
  // cannot continue, or is a call that its caller repeats.
  bool adapts(BlockRequest* request);
  // For the first ordered request, if it has met a piece of another call and no caller repeats it. The piece
  // is a later call's if the others make this request as a line call. kRetracted: the request itself
  // continues with the others' call. kPending: that is not known yet (as in settle_met()), or the present
  // line call must be retracted first. kOk: the request does not continue.
  Status settle_begun(BlockRequest* request);
  // The first ordered request may wait for ever because of its length. Continues it with the others' call, if
  // it can. kPending: some member has not published that call yet.
  Status adapt_first();
  // For a request that begins, and may continue with the others' length: notes how many episodes the line
  // plans of its collective have had for its root. Line calls of other collectives count, if they use the
  // plan.
  void count_episodes(BlockRequest* request) const;

  // The line call of the first ordered request; null: that request is not carried out as one.
  Ride* ride() const { return ride_; }
  // Advances it. True: the request is over.
  bool advance_ride();

 private:
  // The last call that met another call's data before its own, and when it first met them.
  struct Overtaken {
    std::uint64_t number = 0;
    std::int64_t since_ns = 0;
  };

  bool retractable(bool repeatable) const { return repeatable && lines_.cursor().is_at_start() && !again_; }
  Status settle_come(const Call& call, bool retractable);
  Status settle_to(const Call& theirs, bool behind);
  bool may_come_later(const Call& call, std::uint64_t number, Overtaken& seen) const;
  Status find_theirs(const Call& call, std::uint64_t number, std::uint64_t* theirs) const;
  Status find_firsts(Call* call);
  std::uint32_t find_come(const Call& own, const BlockRequest* request, Call* theirs);
  Status meets_first();
  bool adapts_to(BlockRequest* request, std::uint64_t bytes);
  bool takes(BlockRequest* request, const Call& theirs);
  bool start_ride(BlockRequest* request, const Call& call);

  std::uint64_t their_bytes_ = 0;
  bool on_line_ = false;  // the retracted call is repeated as a line call
  // The retracted call is repeated unchanged, after a request that the others make as a line call.
  bool behind_ = false;
  bool departs_ = false;  // this member is in depart()
  bool splits_ = false;
  bool again_ = false;  // split_ runs again as a line call
  std::uint64_t result_[kPayloadWords] = {};
  Split split_;
  Ride* ride_ = nullptr;
  std::uint64_t settled_ = 0;              // the last call that was settled to the others' length
  Overtaken overtaken_, first_overtaken_;  // for the present call, and for the first request
};

}  // namespace fermata::exec
#endif
