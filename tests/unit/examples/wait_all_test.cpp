// Requests of the C++ headers that wait for another member. One thread has both members of a team: the idle
// hook of rank 0 begins and advances the operations of rank 1.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include "fermata/fermata.hpp"

namespace {

using fermata::Member;
using fermata::Request;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kValues = 3000;
constexpr std::chrono::duration<double> kLimit(0.2);
constexpr std::chrono::duration<double> kEach(0.15);  // from one operation's end to the next one's

// Rank 1, which begins an operation each time that `each` has passed; the second one only when the hook was
// called twice after `limit`, and the wait has looked at the clock in between.
struct Late {
  Member& member;
  std::chrono::duration<double> each, limit;
  Clock::time_point start = {};  // the hook's first call
  int calls_after_limit = 0;
  std::vector<std::vector<double>> data = {};
  std::vector<Request> requests = {};

  static int begin(fermata_member*, void* user) {
    auto& late = *static_cast<Late*>(user);
    if (late.start == Clock::time_point()) late.start = Clock::now();
    const auto passed = Clock::now() - late.start;
    if (passed >= late.limit) ++late.calls_after_limit;
    const bool may = late.requests.empty() || late.calls_after_limit >= 2;
    if (may && passed >= late.each * static_cast<double>(late.requests.size() + 1)) {
      late.data.emplace_back(kValues, 1.0);
      late.requests.push_back(
          late.member.begin(fermata::allreduce(fermata::in_place, late.data.back(), fermata::Op::kSum)));
    }
    late.member.progress();
    return 0;
  }
};

class WaitAll : public testing::Test {
 protected:
  void begin_two() {
    for (std::vector<double>& values : data_)
      requests_.push_back(first_.begin(fermata::allreduce(fermata::in_place, values, fermata::Op::kSum)));
    requests_.emplace_back();  // an empty entry
  }
  // The members go after the requests, and rank 1's requests after its hook.
  void wait_with(std::chrono::duration<double> each, std::chrono::duration<double> limit) {
    late_.each = each;
    late_.limit = limit;
    late_.data.reserve(2);  // the operations use the buffers
    first_.set_idle_hook(Late::begin, &late_);
    fermata::wait_all(requests_);
  }
  void TearDown() override {
    first_.set_timeout(std::chrono::seconds(20));
    for (Request& r : requests_)
      if (r) r.wait();
    fermata::wait_all(late_.requests);
    first_.set_idle_hook(nullptr, nullptr);
  }

  fermata::Team team_{2};
  Member first_ = team_.join(0), second_ = team_.join(1);
  std::vector<double> data_[2] = {std::vector<double>(kValues, 1.0), std::vector<double>(kValues, 1.0)};
  Late late_{second_, {}, {}};
  std::vector<Request> requests_;
};

TEST_F(WaitAll, HasOneTimeLimitForTheWholeCall) {
  begin_two();
  first_.set_timeout(kLimit);
  try {
    wait_with(kEach, kLimit);
    ADD_FAILURE() << "the second request was waited for with a limit of its own";
  } catch (const fermata::Error& e) {
    EXPECT_EQ(e.status(), FERMATA_ERR_TIMEOUT);
  }
}

TEST_F(WaitAll, ThrowsWhatAContinuationThrewAfterAllRequestsAreOver) {
  begin_two();
  requests_[0].then([](int) { throw std::runtime_error("of a continuation"); });
  EXPECT_THROW(wait_with({}, {}), std::runtime_error);
  for (const std::vector<double>& values : data_) EXPECT_EQ(values, std::vector<double>(kValues, 2.0));
}

// A start that is refused because the request is active changes nothing: a coroutine that waits for the
// request is resumed after the run that goes on, not before.
TEST_F(WaitAll, ARefusedStartResumesNoCoroutine) {
  std::vector<double> mine(kValues, 1.0), other(kValues, 1.0);
  Request r = first_.prepare(fermata::allreduce(fermata::in_place, mine, fermata::Op::kSum));
  int runs = 0, resumed = 0;
  r.then([&](int) {
    if (++runs == 1) r.start();
  });
  r.then([&](int) {
    if (runs > 1) return;
    EXPECT_THROW(r.start(), fermata::Error);
  });
  const auto wait = [&]() -> fermata::Task<> {
    co_await r.start();
    ++resumed;
  };
  fermata::Task<> task = wait();
  task.start();
  Request of_second = second_.prepare(fermata::allreduce(fermata::in_place, other, fermata::Op::kSum));
  for (int run = 1; run <= 2; ++run) {
    of_second.start();
    for (int i = 0; i < 1'000'000 && runs < run; ++i) {
      second_.progress();
      first_.progress();
    }
    EXPECT_EQ(runs, run);
    EXPECT_EQ(resumed, run - 1);
  }
}

}  // namespace
