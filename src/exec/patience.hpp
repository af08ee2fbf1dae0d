// Bounded waiting, like WAIT_NB in hybrid-collectives-p7ih (section 3.4): how long a call for progress looks
// for the next piece after something has moved. In the paper the limit is a constant; here it is learned. If
// the answer comes at once, the operation advances by several stages in one call. If not, the wait costs the
// caller time.
#ifndef FERMATA_EXEC_PATIENCE_HPP
#define FERMATA_EXEC_PATIENCE_HPP

#include <cstdint>

namespace fermata::exec {

class Patience {
 public:
  static constexpr std::int64_t kMostNs = 2000;

  // The limit of the wait that begins now; 0: do not wait.
  std::int64_t next_ns() {
    if (resting_ == 0) return limit_;
    --resting_;
    return 0;
  }
  // The answer came after `ns`. A limit of twice that time is enough for similar answers.
  void came(std::int64_t ns) {
    in_vain_ = 0;
    rest_ = kFirstRest;
    limit_ += (2 * ns - limit_) / 8;
    if (limit_ < kLeastNs) limit_ = kLeastNs;
    if (limit_ > kMostNs) limit_ = kMostNs;
  }
  // The answer did not come. The peer is busy elsewhere, so fewer and fewer waits are tried.
  void gave_up() {
    if (++in_vain_ < kTrials) return;
    in_vain_ = 0;
    limit_ = kMostNs;  // answers may take longer than the limit
    resting_ = rest_;
    if (rest_ < kMostRest) rest_ *= 2;
  }
  // How many waits will be skipped.
  std::uint32_t resting() const { return resting_; }

 private:
  static constexpr std::int64_t kLeastNs = 300;  // a signal and its answer
  static constexpr std::uint32_t kTrials = 4;
  static constexpr std::uint32_t kFirstRest = 16;
  static constexpr std::uint32_t kMostRest = 1024;

  std::int64_t limit_ = kMostNs;
  std::uint32_t in_vain_ = 0;  // waits in a row without an answer
  std::uint32_t resting_ = 0;
  std::uint32_t rest_ = kFirstRest;
};

}  // namespace fermata::exec
#endif
