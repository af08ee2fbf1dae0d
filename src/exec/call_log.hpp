// CallLog: the calls that a member has made, as it publishes them in its status line and as members compare
// them.
//
// sequence_ counts the calls that all members make in the same order. The status line shows the newest ones.
// history_ is the digest of these calls, without line calls that synchronize all members; own_ is the last
// call in the digest. No other process can write here, so own_ is right even if one overwrites the status
// line.
#ifndef FERMATA_EXEC_CALL_LOG_HPP
#define FERMATA_EXEC_CALL_LOG_HPP

#include <cstdint>

#include "exec/call.hpp"
#include "exec/team.hpp"
#include "sync/status_line.hpp"

namespace fermata::exec {

inline constexpr std::uint64_t kNoReview = ~std::uint64_t{0};  // the number of a call that never comes

class CallLog {
 public:
  explicit CallLog(StatusLine& line) : line_(line) {}

  // Publishes the member's next call.
  [[gnu::always_inline]] void say(std::uint64_t call) { say_call<RealAtomics>(line_, ++sequence_, call); }
  // Publishes that this call is over.
  [[gnu::always_inline]] void say_over() { fermata::say_over<RealAtomics>(line_, sequence_); }
  // For the present call, unless it is a line call that synchronizes all members.
  [[gnu::always_inline]] void remember(std::uint64_t call) {
    own_number_ = sequence_;
    own_ = call;
    history_.add(compared(call));
  }
  // Undoes the effect of say() and remember() on the number and the history, for the last call, which is
  // repeated. adapts: its caller repeats it, blocking, with the others' length.
  void retract(bool adapts) {
    if (adapts) adapted_ = sequence_;
    history_.remove(compared(own_));
    --sequence_;
  }
  // A start of a persistent operation: members may make such starts in any order.
  void count_unordered_start() { ++unordered_starts_; }

  std::uint64_t sequence() const { return sequence_; }
  // The call number for parking (sync/wait.hpp). Unordered starts count too: a member may start nothing else.
  std::uint64_t paced_calls() const { return sequence_ + unordered_starts_; }
  const History& history() const { return history_; }
  std::uint64_t own() const { return own_; }                     // the last call that was remembered
  bool last_is_own() const { return own_number_ == sequence_; }  // own() is the last call
  std::uint64_t adapted() const { return adapted_; }
  StatusLine& line() const { return line_; }

  // Looks up one of the member's own calls. False: it is not known. A call other than the last that was
  // remembered is read from the status line, which a faulty member may have written over. The present call is
  // not read from there if it claims to have a root: this member remembers such a call when it starts.
  bool find(std::uint64_t number, std::uint64_t* call) const {
    if (number == own_number_) {
      *call = own_;
      return true;
    }
    return recall<RealAtomics>(line_, number, *call) == Recalled::kKnown &&
           (number != sequence_ || !has_root(Call::unpack(*call).collective));
  }

  // on: lengths may differ in regular collectives with a root, but not in persistent operations. So the
  // digest leaves out the lengths of these calls, and of these calls alone (Call::without_length()).
  // Comparisons ignore these lengths until the call's length is settled (exec/diagnosis.cpp).
  void set_bounded(bool on) { bounded_ = on; }
  bool is_bounded() const { return bounded_; }
  // The call at which the owner of this member wants to review the team's placement or refresh its profile.
  void set_review(std::uint64_t call) { review_at_ = call; }
  bool review_due() const { return sequence_ >= review_at_; }

 private:
  std::uint64_t compared(std::uint64_t call) const { return bounded_ ? Call::without_length(call) : call; }

  std::uint64_t sequence_ = 0;
  StatusLine& line_;
  History history_;
  std::uint64_t review_at_ = kNoReview;
  std::uint64_t own_number_ = 0, own_ = 0;
  std::uint64_t adapted_ = 0;  // the last call that was repeated, blocking, with the others' length
  std::uint64_t unordered_starts_ = 0;
  bool bounded_ = false;
};

}  // namespace fermata::exec
#endif
