// The auto policy's rules in every state: with any values in Pace, however long actions take, whoever is
// killed or times out, in any order of the members. Interleavings within a decision: tests/model/pace.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "sync/wait.hpp"

namespace fermata::wait_rules {
namespace {

constexpr std::int64_t kMs = 1'000'000, kQuick = 2'000, kSlice = 3 * kMs;
constexpr std::uint64_t kCall = 1'000'000;      // of the first wait
constexpr std::uint64_t kLongestHold = 32'000;  // calls of a team of four, for the longest stall that counts
constexpr std::uint64_t kSpread = 1'024;        // members may be so many calls apart

// Runs `play` with each sequence of answers to its choices.
class Choices {
 public:
  template <class Play>
  static std::uint64_t all(Play&& play) {
    Choices choices;
    std::uint64_t plays = 0;
    do {
      choices.at_ = 0;
      play(choices);
      ++plays;
    } while (choices.next() && !::testing::Test::HasFailure());
    return plays;
  }
  // One of 0 to n - 1.
  std::uint32_t below(std::uint32_t n) {
    if (at_ == made_.size()) made_.push_back({0, n});
    return made_[at_++].first;
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::uint32_t>(values.size()))];
  }

 private:
  bool next() {
    while (!made_.empty() && made_.back().first + 1 == made_.back().second) made_.pop_back();
    if (!made_.empty()) ++made_.back().first;
    return !made_.empty();
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made_;
  std::size_t at_ = 0;
};

struct Member {
  AutoWait policy;
  WaitView view;
  bool alive = true;

  WaitAction begin(std::uint64_t call, std::int64_t now) {
    view = {};
    view.call = call;
    view.now_ns = now;
    return view.last_action = policy.next(view);
  }
  // The last action took so long.
  void pass(std::int64_t ns) {
    view.waited_ns += ns;
    view.now_ns += ns;
    view.last_action_ns = ns;
    view.first = false;
  }
  void end(std::int64_t ns) {
    pass(ns);
    policy.done(view);
  }
};

struct Differs {
  bool operator()(const Member& a, const Member& b) const {
    return std::memcmp(&a.policy, &b.policy, sizeof a.policy) < 0;
  }
};

// What a member may find in Pace: values of this hold, of others, and a faulty member's.
void write_any(Choices& choices, Pace& pace, std::uint64_t call) {
  constexpr std::uint64_t kMost = UINT64_MAX;
  pace.parks_until = choices.one_of<std::uint64_t>(
      {0, 1, call - 1, call, call + 1, call + 5'000, call + kLongestHold, kMost});
  pace.quick = choices.one_of<std::uint32_t>({0, 1, UINT32_MAX});
  pace.rest_ns = choices.one_of<std::int64_t>({0, kMs, INT64_MAX, INT64_MIN});
  pace.stalled_ns = choices.one_of<std::int64_t>({0, 1, INT64_MAX / 2, INT64_MIN});
  pace.stalled_call = choices.one_of<std::uint64_t>({0, call - 1, kMost});
  pace.busy_until = choices.one_of<std::uint64_t>({0, call + 1, kMost});
}

// It has shared its CPU for so long that its next wait moves.
AutoWait close_member(Room room, Pace& pace, Signs& signs) {
  AutoWait policy(room, 4, &pace, 0, &signs);
  for (std::uint64_t call = kCall - 10; call < kCall; ++call) {
    signs.woke_on[0] = signature(3, 0);
    WaitView view{.now_ns = kMs, .call = call};
    for (; policy.next(view) == WaitAction::kSpin; view.first = false) view.waited_ns += 25'000;
    view.first = false;
    policy.done(view);
  }
  signs.woke_on[0] = signature(3, 0);
  return policy;
}

// Faulty members write anything between any two actions. A wait's first park comes all the same.
TEST(AutoWaitRules, EveryWaitParksAfterABoundedNumberOfActions) {
  std::vector<std::uint64_t> values;
  Pace pace{};
  Signs signs{};
  Choices::all([&](Choices& choices) {
    write_any(choices, pace, kCall);
    values.push_back(pace.parks_until);
  });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  for (const Room room : {Room::kOwn, Room::kRationed, Room::kCrowded}) {
    // The states of a member whose wait has not parked.
    std::set<Member, Differs> waiting;
    waiting.insert({AutoWait(room, 4, &pace, 0, &signs), {.now_ns = kMs, .call = kCall}});
    waiting.insert({close_member(room, pace, signs), {.now_ns = 10 * kMs, .call = kCall}});
    // Yields; or spins, a move, and yields.
    const std::int64_t quick = room == Room::kOwn ? 25 * kQuick : kQuick;
    // In a crowd, 16 quick ones take more than the 20 us that its yields take at least.
    const std::int64_t most = room == Room::kCrowded ? 16 : 16 * kMs / quick + 17;
    for (std::int64_t actions = 0; actions <= most; ++actions) {
      std::set<Member, Differs> next;
      for (const Member& before : waiting)
        for (const std::uint64_t parks_until : values)
          for (const bool close : {false, true})
            for (const std::int64_t ns : {quick, kSlice}) {
              pace.parks_until = parks_until;
              signs.woke_on[0] = close ? signature(3, 0) : 0;
              signs.moved_ns = 0;
              Member member = before;
              member.view.last_action = member.policy.next(member.view);
              if (member.view.last_action == WaitAction::kPark) continue;
              member.pass(ns);
              next.insert(member);
            }
      waiting = std::move(next);
    }
    EXPECT_TRUE(waiting.empty()) << static_cast<int>(room);
  }
}

// A team of four in which some may be dead or never wait. Actions take what the test says.
struct Team {
  Pace pace{};
  std::vector<Member> members;
  std::int64_t now = 1'000 * kMs;
  std::uint64_t call = kCall;
  int scouts = 0;

  explicit Team(std::uint32_t alive) {
    for (std::uint32_t who = 0; who < alive; ++who)
      members.push_back({AutoWait(Room::kCrowded, 4, &pace, who), {}});
  }
  bool parks() const {
    const std::uint64_t until = pace.parks_until;
    return until != 0 && (call >= until || until - call <= kLongestHold + kSpread);
  }
  // All wait, from the first one on. Yields take so long; a member that yields is killed if kill(member).
  template <class Kill>
  void meet(std::size_t first, std::int64_t yield_ns, Kill&& kill) {
    const bool held = parks();
    std::size_t yields = 0;
    std::vector<bool> yielded(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::size_t m = (first + i) % members.size();
      if (!members[m].alive) continue;
      yielded[m] = members[m].begin(call, now) == WaitAction::kYield;
      yields += yielded[m];
      if (yielded[m] && held && kill(m)) members[m].alive = false;
    }
    if (held) {
      EXPECT_LE(yields, 1U) << "scouts";
      scouts += static_cast<int>(yields);
    }
    for (std::size_t m = 0; m < members.size(); ++m)
      if (members[m].alive) members[m].end(yielded[m] ? yield_ns : 16'000);
    now += yields > 0 ? yield_ns : 16'000;
    ++call;
  }
  // Passes over the calls in which all park anyway.
  void skip_hold() {
    const std::uint64_t until = pace.parks_until;
    if (!parks() || call >= until) return;
    now += static_cast<std::int64_t>(until - call) * 16'000;
    call = until;
  }
};

// Yields are quick. Whatever Pace has, and whichever scouts are killed, soon nobody parks.
TEST(AutoWaitRules, AHoldEndsOnceYieldsAreQuick) {
  Choices::all([](Choices& choices) {
    Team team(1 + choices.below(4));
    write_any(choices, team.pace, team.call);
    if (team.pace.stalled_ns != 0 || team.pace.rest_ns != 0 || team.pace.busy_until != 0) return;
    const std::size_t first = choices.below(2);
    const std::uint32_t killed = choices.below(4);  // so many scouts, but not the last member
    std::uint32_t kills = 0;
    team.skip_hold();
    const std::uint64_t begin = team.call;
    const auto kill = [&](std::size_t) { return kills < killed && ++kills < team.members.size(); };
    while (team.parks() && team.call < begin + 2'000) team.meet(first, kQuick, kill);
    EXPECT_LE(team.call - begin, 4 * (17 + kills) + 16);
    EXPECT_LE(team.scouts, 17 + static_cast<int>(kills))
        << "16 quick ones, or one more if the count is faulty";
  });
}

// Every yield takes a slice. Whatever Pace has, soon all park, and scouts are few.
TEST(AutoWaitRules, AHoldBeginsOnceEveryYieldIsSlow) {
  Choices::all([](Choices& choices) {
    Team team(2 + choices.below(2));
    write_any(choices, team.pace, team.call);
    const std::uint64_t begin = team.call;
    const auto holds = [&] { return team.parks() && team.call < team.pace.parks_until; };
    while (!holds() && team.call < begin + 2'000) team.meet(0, kSlice, [](std::size_t) { return false; });
    EXPECT_LE(team.call - begin, 171U + 1'030U) << "a rest takes 171 slices, slow work 1,030 calls";
    const int before = team.scouts;
    for (int hold = 0; hold < 10; ++hold) {
      team.skip_hold();
      for (int i = 0; i < 20; ++i) team.meet(0, kSlice, [](std::size_t) { return false; });
    }
    EXPECT_EQ(team.scouts - before, 10) << "one for each hold";
  });
}

// One member is away for a slice. The others wait for it in the same call or the next, and end their waits in
// any order. Stalls long ago count no more.
TEST(AutoWaitRules, OneStallBeginsNoHold) {
  Choices::all([](Choices& choices) {
    Team team(3);
    exclude_until(team.pace, 0);
    if (choices.below(2) == 1) {
      team.pace.stalled_ns = 1;
      team.pace.stalled_call = team.call - 1'000;  // a slice of 4 ms costs as much as parks in 250
    }
    std::vector<std::size_t> order = {0, 1, 2};
    for (std::uint32_t i = choices.below(6); i > 0; --i) std::next_permutation(order.begin(), order.end());
    for (Member& member : team.members)
      member.begin(team.call + choices.below(2), team.now + choices.one_of<std::int64_t>({-kMs, 0, kMs}));
    std::int64_t end = team.now + kSlice;
    for (const std::size_t m : order) {
      Member& member = team.members[m];
      member.end(end - member.view.now_ns);
      // It goes on while others are still in the stalled call.
      end += choices.one_of<std::int64_t>({0, 1'000});
      EXPECT_EQ(member.begin(member.view.call + 1, end), WaitAction::kYield);
      member.end(kQuick);
    }
    EXPECT_EQ(team.pace.parks_until, 0U);
  });
}

// Two stalls begin a hold if, and only if, they cost more than parks in all calls since the first one.
TEST(AutoWaitRules, TwoStallsBeginAHoldIfParksWouldHaveCostLess) {
  for (const std::uint32_t members : {2U, 4U, 16U, 64U, 1'024U})
    for (const std::int64_t ns : {kMs + 1, kSlice, 16 * kMs, 60'000 * kMs})
      for (std::uint64_t since = 1; since < 5'000; since += 1 + since / 50) {
        Pace pace{};
        exclude_until(pace, 0);
        Member member{AutoWait(Room::kCrowded, members, &pace), {}};
        for (const std::uint64_t call : {kCall, kCall + since}) {
          member.begin(call, 100 * kMs * static_cast<std::int64_t>(call));
          member.end(call == kCall ? 16 * kMs : ns);
        }
        const std::int64_t parks = 4'000LL * members * static_cast<std::int64_t>(since);
        const std::int64_t stall = std::min(ns, 16 * kMs);
        if (parks <= stall - 4'000LL * members) {
          EXPECT_NE(pace.parks_until, 0U) << members << " " << since;
        }
        if (parks >= stall) {
          EXPECT_EQ(pace.parks_until, 0U) << members << " " << since;
        }
      }
}

// Where many members share CPUs, also quiet calls take long, and members that begin late make them longer.
TEST(AutoWaitRules, TheLeastStallOfACrowdGrowsWithItsMembers) {
  struct Case {
    Room room;
    std::uint32_t members;
    std::int64_t us;
  };
  const Case cases[] = {{Room::kCrowded, 2, 500},     {Room::kCrowded, 31, 500},
                        {Room::kCrowded, 40, 640},    {Room::kCrowded, 64, 1'000},
                        {Room::kCrowded, 250, 1'000}, {Room::kCrowded, 1'024, 4'096},
                        {Room::kOwn, 64, 500},        {Room::kOwn, 1'024, 4'096}};
  for (const Case& c : cases)
    for (const std::int64_t more : {-1, 1}) {
      Pace pace{};
      exclude_until(pace, 0);
      Member member{AutoWait(c.room, c.members, &pace), {}};
      for (const std::uint64_t call : {kCall, kCall + 1}) {
        member.begin(call, 100 * kMs * static_cast<std::int64_t>(call));
        member.end(c.us * 1'000 + more);
      }
      EXPECT_EQ(pace.stalled_call, more > 0 ? kCall + 1 : 0U) << c.members;
    }
}

// Two members in the calls of slow work, whatever these take.
TEST(AutoWaitRules, SlowWorkBeginsNoHold) {
  Choices::all([](Choices& choices) {
    Team team(2);
    exclude_until(team.pace, kCall);
    for (std::uint64_t call = kCall; call <= kCall + kFirstCalls; ++call)
      for (Member& member : team.members) {
        member.begin(call, team.now);
        const std::int64_t ns = choices.one_of<std::int64_t>({kQuick, kSlice});
        member.end(ns);
        team.now += ns + 1'000;
        EXPECT_EQ(team.pace.parks_until, 0U) << call;
      }
  });
}

}  // namespace
}  // namespace fermata::wait_rules
