// All constants of the default wait policy, but for kFirstCalls (sync/pace.hpp) and those of moves and of
// gathering. docs/waiting.md says how each was measured, and what a wrong one costs.
#ifndef FERMATA_SYNC_WAIT_CONSTANTS_HPP
#define FERMATA_SYNC_WAIT_CONSTANTS_HPP

#include <cstdint>

namespace fermata {

struct WaitConstants {
  static constexpr std::uint32_t kSpins = 256;     // pauses between two looks at the clock
  static constexpr std::int64_t kSpinNs = 20'000;  // ns: about a park, with two futex calls and two switches
  static constexpr std::uint8_t kInVain = 3;       // waits: after so many fruitless spins in a row,
  static constexpr std::uint8_t kSkips = 255;      // waits: so many don't spin
  static constexpr std::uint8_t kFew = 2;          // yields: after more, the awaited member was elsewhere
  static constexpr std::uint8_t kLong = 16;        // calls: if more than one has a stall, waits do not yield
  static constexpr std::uint8_t kYields = 16;    // of 1,000 waits in a crowd for itself, 999 end within these
  static constexpr std::uint8_t kUnwatched = 4;  // yields: most waits in a crowd for itself end within these
  static constexpr std::int64_t kStallNs = 500'000;  // ns: above quiet yields (0.13 ms), below time slices
  static constexpr std::int64_t kLateCalls = 4;  // calls: a crowd's stall takes as long as parks in so many,
  static constexpr std::int64_t kMostLateNs = 1'000'000;    // ns: up to that: below time slices
  static constexpr std::int64_t kMostStallNs = 16'000'000;  // ns: longer stalls count as so long
  static constexpr std::int64_t kParkNs = 4'000;            // ns: what parks cost a call, for each member
  static constexpr std::int64_t kHold = 32;       // stalls: what a hold's parks cost; scouts take 1 / kHold
  static constexpr std::uint32_t kScouts = 16;    // quick scouts that end a hold; with more members, so many
  static constexpr std::uint64_t kTurn = 4;       // calls in a row in which the same member may be a scout
  static constexpr std::uint32_t kTurns = 16;     // in one of so many turns a member asks its policy at once
  static constexpr std::uint64_t kSpread = 1024;  // calls: members are seldom further apart
  static constexpr std::int64_t kRestNs = kHold * kMostStallNs;
  static constexpr std::int64_t kDoubt = 16;            // times: so often a stall counts in a rest, at most
  static constexpr std::int64_t kCalmNs = 16'000'000;   // ns: most stalls in a hold come sooner after another
  static constexpr std::uint8_t kMostFalse = 6;         // kCalmNs doubles up to so often
  static constexpr std::int64_t kUnseenNs = 8'000'000;  // ns: in so long a stall may be missed
  static constexpr std::int64_t kGoodPart = 4;          // a stall takes 1 / kGoodPart of a wait for work
  static constexpr std::int64_t kMostWorkNs = 50'000;   // ns: in so long an idle CPU falls asleep
};

}  // namespace fermata
#endif
