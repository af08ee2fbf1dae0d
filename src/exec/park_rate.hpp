// ParkRate: whether a member parks so often that signals should have fences, and not parks (sync/fences.hpp).
#ifndef FERMATA_EXEC_PARK_RATE_HPP
#define FERMATA_EXEC_PARK_RATE_HPP

#include <cstdint>

namespace fermata::exec {

class ParkRate {
 public:
  // Call it before each park, with the number of the call (CallLog::paced_calls()). True: they are frequent.
  bool parks_in(std::uint64_t call) {
    if (call != last_) ++parks_;
    last_ = call;
    return parks_ >= kLeast && is_frequent(call);
  }
  // Call it now and then. True: they have become rare.
  bool is_rare_in(std::uint64_t call) {
    if (call - since_ < kWindow) return false;
    const bool rare = !is_frequent(call);
    since_ = call;
    parks_ = 0;
    return rare;
  }

 private:
  // A membarrier takes 0.7 us, and the fence of a signal 8 ns (AMD Zen 4): a park's costs as much as those of
  // some 90 calls. A member that never parks takes the fences back once in kWindow calls, if others park
  // often.
  static constexpr std::uint64_t kCallsOfPark = 128;
  static constexpr std::uint64_t kLeast = 16;       // calls with parks: a few in a row say nothing
  static constexpr std::uint64_t kWindow = 16'384;  // calls

  bool is_frequent(std::uint64_t call) const { return parks_ * kCallsOfPark >= call - since_; }

  std::uint64_t since_ = 0;  // the call in which counting began
  std::uint64_t parks_ = 0;  // calls with parks since then
  std::uint64_t last_ = 0;   // the last of them
};

}  // namespace fermata::exec
#endif
