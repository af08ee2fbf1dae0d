// Progress: a thread that waits in one of its members advances the others, in every order of waits. Each call
// does a fair and bounded part of the work. Members move between threads with requests outstanding.
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "instance.hpp"
#include "team.hpp"

namespace fermata::test {
namespace {

// doubles: too long for a ring buffer, so both ends must take part
constexpr std::size_t kLong = std::size_t{1} << 17;
constexpr int kRounds = FERMATA_TEST_SCALE > 1 ? 3 : 10;

// A second team of the same members.
struct Second {
  explicit Second(Seat& seat) {
    ok = seat.holds(fermata_team_split(seat.member, 0, seat.rank, &member), "split");
  }
  ~Second() { fermata_member_leave(member); }
  fermata_member* member = nullptr;
  bool ok = false;
};

struct Sum {
  Sum(Seat& seat, std::size_t count)
      : values(count, seat.rank + 1.0), expected(seat.members * (seat.members + 1) / 2.0) {
    operation.collective = FERMATA_ALLREDUCE;
    operation.in = FERMATA_IN_PLACE;
    operation.out = values.data();
    operation.count = count;
    operation.type = FERMATA_DOUBLE;
    operation.op = FERMATA_SUM;
  }
  bool begin(Seat& seat, fermata_member* member) {
    return seat.holds(fermata_begin(member, &operation, &request), "begin");
  }
  bool prepare(Seat& seat, fermata_member* member) {
    return seat.holds(fermata_prepare(member, &operation, &request), "prepare");
  }
  bool wait(Seat& seat) { return seat.holds(fermata_request_wait(request), "wait") && holds(seat); }
  bool holds(Seat& seat) {
    for (const double v : values)
      if (v != expected) return seat.holds("a wrong sum");
    const int freed = fermata_request_free(request);
    request = nullptr;
    seat.count_one();
    return seat.holds(freed, "free");
  }
  std::vector<double> values;
  double expected;
  fermata_operation operation = FERMATA_OPERATION_INIT;
  fermata_request* request = nullptr;
};

void crossed_waits(Seat& seat) {
  Second second(seat);
  for (int round = 0; second.ok && round < kRounds; ++round) {
    Sum a(seat, kLong), b(seat, kLong);
    if (!a.begin(seat, seat.member) || !b.begin(seat, second.member)) return;
    const bool a_first = (seat.rank + round) % 2 == 0;
    if (!(a_first ? a : b).wait(seat) || !(a_first ? b : a).wait(seat)) return;
  }
}

void crossed_polls(Seat& seat) {
  Second second(seat);
  for (int round = 0; second.ok && round < kRounds; ++round) {
    Sum a(seat, kLong), b(seat, kLong);
    if (!a.begin(seat, seat.member) || !b.begin(seat, second.member)) return;
    const bool a_first = (seat.rank + round) % 2 == 0;
    for (Sum* sum : {a_first ? &a : &b, a_first ? &b : &a}) {
      fermata_member* const member = sum == &a ? seat.member : second.member;
      int status = FERMATA_PENDING;
      while (status == FERMATA_PENDING) {
        status = round % 3 == 0 ? fermata_request_test(sum->request)
                                : fermata_progress(member, round % 3 == 1 ? 0 : 20);
        if (status == FERMATA_PENDING) std::this_thread::yield();
      }
      if (!seat.holds(status, "poll") || !sum->holds(seat)) return;
    }
  }
}

// Some members are in a call on lines or on blocks of one team, while others wait for a request of the other
// team.
void calls_beside_requests(Seat& seat) {
  Second second(seat);
  for (int round = 0; second.ok && round < kRounds; ++round) {
    Sum a(seat, kLong);
    if (!a.begin(seat, seat.member)) return;
    const bool wait_first = (seat.rank + round) % 2 == 0;
    if (wait_first && !a.wait(seat)) return;
    if (round % 2 == 0) {
      if (!seat.holds(fermata_barrier(second.member), "barrier")) return;
    } else {
      const std::vector<double> in(kLong, 1.0);
      std::vector<double> out(kLong);
      const int status =
          fermata_allreduce(second.member, in.data(), out.data(), kLong, FERMATA_DOUBLE, FERMATA_SUM);
      if (!seat.holds(status, "allreduce") ||
          !seat.holds(out[kLong - 1] == seat.members ? "" : "a wrong sum"))
        return;
    }
    if (!wait_first && !a.wait(seat)) return;
  }
}

// A barrier that this member has arrived at also progresses while the member waits for a request.
void arrived_beside_requests(Seat& seat) {
  Sum a(seat, kLong);
  if (!a.prepare(seat, seat.member)) return;
  for (int round = 0; round < kRounds; ++round) {
    a.values.assign(kLong, seat.rank + 1.0);
    if (!seat.holds(fermata_arrive(seat.member), "arrive")) return;
    const bool wait_first = (seat.rank + round) % 2 == 0;
    if (!wait_first && !seat.holds(fermata_depart(seat.member), "depart")) return;
    if (!seat.holds(fermata_request_start(a.request), "start")) return;
    if (!seat.holds(fermata_request_wait(a.request), "wait")) return;
    if (wait_first && !seat.holds(fermata_depart(seat.member), "depart")) return;
    seat.count_one();
  }
  a.holds(seat);
}

// Waits for any of several members' requests, and tests them.
void any_of_several(Seat& seat) {
  Second second(seat);
  for (int round = 0; second.ok && round < kRounds; ++round) {
    Sum sums[] = {{seat, kLong}, {seat, 3}, {seat, kLong}, {seat, 3}};
    for (int i = 0; i < 4; ++i)
      if (!sums[i].begin(seat, i < 2 ? seat.member : second.member)) return;
    fermata_request* requests[5] = {};
    for (int i = 0; i < 4; ++i) requests[(i + seat.rank) % 4] = sums[i].request;
    for (int left = 4; left > 0; --left) {
      std::size_t index = 5;
      int status = FERMATA_PENDING;
      while (status == FERMATA_PENDING) {
        status = round % 2 == 0 ? fermata_request_wait_any(requests, 5, &index)
                                : fermata_request_test_any(requests, 5, &index);
        if (status == FERMATA_PENDING && !seat.holds(index == 5 ? "" : "index written while all are active"))
          return;
        if (status == FERMATA_PENDING) std::this_thread::yield();
      }
      if (!seat.holds(status, "any") ||
          !seat.holds(index < 4 && requests[index] != nullptr ? "" : "any's index"))
        return;
      Sum& sum = sums[(static_cast<int>(index) + 4 - seat.rank % 4) % 4];
      requests[index] = nullptr;
      if (!sum.holds(seat)) return;
    }
    std::size_t index = 0;
    if (!seat.holds(
            fermata_request_test_any(requests, 5, &index) == FERMATA_ERR_ARGUMENT ? "" : "test_any of none"))
      return;
  }
}

// A short operation ends long before a long one that was started first, and no call does all the work of the
// long one.
void short_beside_long(Seat& seat) {
  constexpr std::size_t kVeryLong = std::size_t{1} << 21;
  Sum big(seat, kVeryLong), small(seat, 2);
  if (!big.prepare(seat, seat.member) || !small.prepare(seat, seat.member)) return;
  if (!seat.holds(fermata_request_start(big.request), "start") ||
      !seat.holds(fermata_request_start(small.request), "start"))
    return;
  int calls = 0;
  int small_after = 0;
  for (int status = FERMATA_PENDING; status == FERMATA_PENDING; ++calls) {
    status = fermata_progress(seat.member, 0);
    if (status < 0) seat.holds(status, "progress");
    if (small_after == 0 && fermata_request_test(small.request) == FERMATA_OK) small_after = calls + 1;
    if (small_after == 0) std::this_thread::yield();
  }
  if (!big.holds(seat) || !small.holds(seat)) return;
  // A call locks a request at most 9 times, and moves at most 64 KiB each time. A member
  // reads or writes at least 1/P of the 16 MiB.
  const int least = static_cast<int>(kVeryLong * sizeof(double) / 65536 / 9) / seat.members;
  if (!seat.holds(seat.members == 1 || calls >= least
                      ? ""
                      : "only " + std::to_string(calls) + " calls for the long one"))
    return;
  seat.holds(seat.members == 1 || small_after < calls ? "" : "the short one came last");
}

void thousands(Seat& seat) {
  constexpr std::size_t kMany = 4000 / FERMATA_TEST_SCALE;
  std::vector<std::unique_ptr<Sum>> sums;
  for (std::size_t i = 0; i < kMany; ++i) {
    sums.push_back(std::make_unique<Sum>(seat, 1 + i % 7));
    if (i % 4 == 0) {
      if (!sums.back()->prepare(seat, seat.member) ||
          !seat.holds(fermata_request_start(sums.back()->request), "start"))
        return;
    } else if (!sums.back()->begin(seat, seat.member)) {
      return;
    }
  }
  for (std::size_t i = 0; i < kMany; ++i)
    if (!sums[(i * 7 + static_cast<std::size_t>(seat.rank)) % kMany]->wait(seat)) return;
}

struct Param {
  int engine, wait;
};

class Progress : public ::testing::TestWithParam<Param> {
 protected:
  void expect(void (*body)(Seat&), std::initializer_list<int> sizes = {2, 3, 4}) {
    for (const int members : sizes) {
      long ran = 0;
      const TeamCase test{members, GetParam().engine, GetParam().wait};
      EXPECT_EQ(run_team(test, body, &ran), "") << describe(test);
      EXPECT_GE(ran, 2 * members);
      if (HasFailure()) return;
    }
  }
};

TEST_P(Progress, WaitsInCrossedOrder) { expect(crossed_waits); }
TEST_P(Progress, PollsInCrossedOrder) { expect(crossed_polls); }
TEST_P(Progress, CallsOfOneTeamBesideRequestsOfAnother) { expect(calls_beside_requests); }
TEST_P(Progress, SplitPhaseBarriersBesideRequests) { expect(arrived_beside_requests); }
TEST_P(Progress, AnyOfSeveralMembersRequests) { expect(any_of_several); }
TEST_P(Progress, ShortOnesAreNotHeldUpByLongOnes) { expect(short_beside_long, {1, 2, 3}); }
TEST_P(Progress, ThousandsOutstanding) { expect(thousands, {1, 2, 3}); }

std::string name_of(const ::testing::TestParamInfo<Param>& info) {
  constexpr const char* kWaits[] = {"auto", "spin", "yield", "park"};
  return std::string(name_of_engine(info.param.engine)) + "_" + kWaits[info.param.wait];
}

INSTANTIATE_TEST_SUITE_P(Engines, Progress,
                         ::testing::ValuesIn(of_engines<Param>({{FERMATA_THREADS, FERMATA_WAIT_AUTO},
                                                                {FERMATA_THREADS, FERMATA_WAIT_PARK},
                                                                {FERMATA_PROCESSES, FERMATA_WAIT_AUTO},
                                                                {FERMATA_PROCESSES, FERMATA_WAIT_PARK},
                                                                {kMixed, FERMATA_WAIT_AUTO}})),
                         name_of);

// Passes control from one thread to another.
class Baton {
 public:
  void pass() {
    const std::lock_guard lock(mutex_);
    passed_ = true;
    changed_.notify_one();
  }
  void take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return passed_; });
    passed_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool passed_ = false;
};

// A thread gives a member with an outstanding request to another thread. It then waits in another team, and
// so advances the members that it still has.
void given_away(Seat& seat) {
  Second second(seat);
  if (!second.ok) return;
  for (int round = 0; round < kRounds; ++round) {
    Sum kept(seat, kLong), given(seat, kLong);
    Baton baton;
    std::thread other([&] {
      baton.take();
      int status = FERMATA_PENDING;
      while (status == FERMATA_PENDING) status = fermata_progress(seat.member, 10);
      seat.holds(status, "progress of the new owner");
      given.holds(seat);
    });
    bool ok = given.begin(seat, seat.member);
    ok = kept.begin(seat, second.member) && ok;
    baton.pass();
    if (ok) kept.wait(seat);
    other.join();
    if (!seat.holds("")) return;
  }
}

TEST(Progress, MembersChangeHandsWithRequestsOutstanding) {
  for (const int members : {2, 3}) {
    long ran = 0;
    const TeamCase test{members, FERMATA_THREADS, FERMATA_WAIT_AUTO};
    EXPECT_EQ(run_team(test, given_away, &ran), "") << describe(test);
    EXPECT_EQ(ran, 2L * kRounds * members);
  }
}

}  // namespace
}  // namespace fermata::test
