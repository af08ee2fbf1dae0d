// Bounded waiting, as WAIT_NB of hybrid-collectives-p7ih (section 3.3): how long a call that only makes progress looks for the next piece
// after something has moved, before it gives up and returns to its caller. There a constant; here learned, since an answer that comes at
// once lets an operation go on by several stages in one call, and one that doesn't is time taken from the caller.
#ifndef FERMATA_EXEC_PATIENCE_HPP
#define FERMATA_EXEC_PATIENCE_HPP

#include <cstdint>

namespace fermata::exec {

class Patience {
 public:
  static constexpr std::int64_t kMostNs = 2000;

  // For the wait that begins now; 0: none.
  std::int64_t next_ns() {
    if (resting_ == 0) return limit_;
    --resting_;
    return 0;
  }
  // The answer came after so long: twice as long is enough for those like it.
  void came(std::int64_t ns) {
    in_vain_ = 0;
    rest_ = kFirstRest;
    limit_ += (2 * ns - limit_) / 8;
    if (limit_ < kLeastNs) limit_ = kLeastNs;
    if (limit_ > kMostNs) limit_ = kMostNs;
  }
  // It did not. The peer is elsewhere: ever fewer waits are tried.
  void gave_up() {
    if (++in_vain_ < kTrials) return;
    in_vain_ = 0;
    limit_ = kMostNs;  // it may come later than was thought
    resting_ = rest_;
    if (rest_ < kMostRest) rest_ *= 2;
  }
  // So many waits will be left out.
  std::uint32_t resting() const { return resting_; }

 private:
  static constexpr std::int64_t kLeastNs = 300;  // a signal there and one back
  static constexpr std::uint32_t kTrials = 4;
  static constexpr std::uint32_t kFirstRest = 16;
  static constexpr std::uint32_t kMostRest = 1024;

  std::int64_t limit_ = kMostNs;
  std::uint32_t in_vain_ = 0;  // waits in a row
  std::uint32_t resting_ = 0;
  std::uint32_t rest_ = kFirstRest;
};

}  // namespace fermata::exec
#endif
