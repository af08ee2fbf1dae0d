// Requests: several outstanding, mixed with calls that wait; persistent ones started in different orders;
// callbacks that restart them further along a buffer; waits for any or for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "../../operation.hpp"
#include "instance.hpp"
#include "team.hpp"

namespace fermata::test {
namespace {

constexpr int kRounds = FERMATA_TEST_SCALE > 1 ? 2 : 6;

Shape shape_of(std::uint64_t n, int members) {
  constexpr std::size_t kCounts[] = {1, 6, 40, 257, 2100, 9000};
  Shape s;
  s.collective = static_cast<int>(n % 10) + 1;
  s.element = kElements[n / 3 % std::size(kElements)];
  s.count = kCounts[n * 7 % 6];
  s.root = static_cast<int>(n % static_cast<unsigned>(members));
  s.in_place = n % 4 == 1;
  s.seed = n;
  return s;
}

struct Begun {
  std::unique_ptr<Instance> instance;
  fermata_request* request = nullptr;
};

bool check_and_free(Seat& seat, Begun& one) {
  if (!seat.holds(one.instance->check()) || !seat.holds(fermata_request_free(one.request), "free"))
    return false;
  one.request = nullptr;
  seat.count_one();
  return true;
}

// A barrier, a small allreduce or nothing in between.
bool wait_in_between(Seat& seat, std::uint64_t n) {
  if (n % 3 == 0) return seat.holds(fermata_barrier(seat.member), "barrier");
  if (n % 3 == 1) return true;
  std::int64_t sum = seat.rank;
  if (!seat.holds(fermata_allreduce(seat.member, FERMATA_IN_PLACE, &sum, 1, FERMATA_INT64, FERMATA_SUM),
                  "allreduce"))
    return false;
  return seat.holds(sum == seat.members * (seat.members - 1) / 2 ? "" : "wrong sum beside requests");
}

void outstanding(Seat& seat) {
  std::uint64_t n = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Begun> all(1 + static_cast<std::size_t>(round) % 7);
    std::vector<fermata_request*> requests;
    for (Begun& one : all) {
      one.instance = std::make_unique<Instance>(shape_of(++n, seat.members), seat.rank, seat.members);
      if (!seat.holds(fermata_begin(seat.member, &one.instance->operation(), &one.request), "begin")) return;
      requests.push_back(one.request);
      if (!wait_in_between(seat, n)) return;
      // A call on blocks after requests that have begun.
      if (n % 5 == 0) {
        const Instance call(shape_of(n + 3, seat.members), seat.rank, seat.members);
        if (!seat.holds(call.call(seat.member, true), "call") || !seat.holds(call.check())) return;
      }
    }
    if (round % 2 == 0) {
      if (!seat.holds(fermata_request_wait_all(requests.data(), requests.size()), "wait_all")) return;
      for (Begun& one : all)
        if (!check_and_free(seat, one)) return;
      continue;
    }
    for (std::size_t left = all.size(); left > 0; --left) {
      std::size_t index = requests.size();
      if (!seat.holds(fermata_request_wait_any(requests.data(), requests.size(), &index), "wait_any")) return;
      if (!seat.holds(index < requests.size() && requests[index] != nullptr ? "" : "wait_any's index"))
        return;
      if (!check_and_free(seat, all[index])) return;
      requests[index] = nullptr;
    }
  }
}

// Each member starts the requests in an order of its own, which changes every round.
void persistent(Seat& seat) {
  constexpr std::size_t kRequests = 6;
  std::vector<Begun> all(kRequests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    all[i].instance = std::make_unique<Instance>(shape_of(i * 3 + 1, seat.members), seat.rank, seat.members);
    if (!seat.holds(fermata_prepare(seat.member, &all[i].instance->operation(), &all[i].request), "prepare"))
      return;
  }
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
  std::uint64_t state = static_cast<std::uint64_t>(seat.rank) * 77 + 1;
  for (int round = 0; round < 3 * kRounds; ++round) {
    for (std::size_t i = kRequests - 1; i > 0; --i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      std::swap(order[i], order[(state >> 33) % (i + 1)]);
    }
    std::vector<fermata_request*> requests;
    for (const std::size_t i : order) {
      all[i].instance->fill(static_cast<std::uint64_t>(round) * 10 + i);
      const fermata_operation& o = all[i].instance->operation();
      if (!seat.holds(fermata_request_reset(all[i].request, o.in, o.out), "reset")) return;
      if (!seat.holds(fermata_request_start(all[i].request), "start")) return;
      requests.push_back(all[i].request);
      // Some members start them with progress in between, others all at once.
      if ((round + seat.rank) % 4 == 0 && !seat.holds(fermata_progress(seat.member, 0) < 0 ? "progress" : ""))
        return;
    }
    // A barrier that ends after some of the requests and before others.
    if (round % 3 == 0 && !seat.holds(fermata_barrier(seat.member), "barrier")) return;
    if (!seat.holds(fermata_request_wait_all(requests.data(), requests.size()), "wait_all")) return;
    for (const Begun& one : all)
      if (!seat.holds(one.instance->check())) return;
    seat.count_one();
  }
  for (Begun& one : all)
    if (!seat.holds(fermata_request_free(one.request), "free")) return;
}

// Far more requests than slots. Each member frees them in an order of its own, some long after the others.
void made_and_freed(Seat& seat) {
  constexpr std::size_t kKept = 5;
  // doubles: slots of 16 KiB and less; the parts do not repeat
  constexpr std::size_t kCounts[] = {2100, 3, 700, 1500, 60};
  constexpr int kMade = 2000 / FERMATA_TEST_SCALE;
  std::vector<Begun> kept(kKept);
  for (int n = 0; n < kMade; ++n) {
    Begun& one = kept[static_cast<std::size_t>(n + seat.rank * (n / 7)) % kKept];
    if (one.request != nullptr && !check_and_free(seat, one)) return;
    Shape s;
    s.collective = n % 3 == 0 ? FERMATA_ALLTOALL : FERMATA_ALLREDUCE;
    s.count = kCounts[static_cast<std::size_t>(n) % 5] / static_cast<std::size_t>(seat.members);
    s.seed = static_cast<std::uint64_t>(n);
    one.instance = std::make_unique<Instance>(s, seat.rank, seat.members);
    if (!seat.holds(fermata_prepare(seat.member, &one.instance->operation(), &one.request), "prepare"))
      return;
    if (!seat.holds(fermata_request_start(one.request), "start") ||
        !seat.holds(fermata_request_wait(one.request), "wait"))
      return;
  }
  for (Begun& one : kept)
    if (one.request != nullptr && !check_and_free(seat, one)) return;
}

// One operation walks along a buffer, segment by segment: its own callback restarts it.
struct Walk {
  std::vector<double> data;
  std::size_t segment = 0, at = 0;
  int status = FERMATA_OK;
  int over = 0;
};

void go_on(fermata_request* request, int status, void* user) {
  auto& walk = *static_cast<Walk*>(user);
  ++walk.over;
  walk.at += walk.segment;
  if (status == FERMATA_OK && walk.at < walk.data.size()) {
    status = fermata_request_reset(request, FERMATA_IN_PLACE, &walk.data[walk.at]);
    if (status == FERMATA_OK) status = fermata_request_start(request);
  }
  if (status != FERMATA_OK) walk.status = status;
}

void chain(Seat& seat) {
  constexpr std::size_t kSegments = 12;
  for (const std::size_t segment : {std::size_t{1}, std::size_t{300}, std::size_t{5000}}) {
    Walk walks[3];
    fermata_request* requests[3] = {};
    for (Walk& walk : walks) {
      walk.segment = segment;
      walk.data.resize(segment * kSegments);
      for (std::size_t i = 0; i < walk.data.size(); ++i)
        walk.data[i] = static_cast<double>((i * 3 + static_cast<unsigned>(seat.rank)) % 16);
      const fermata_operation o = in_place_sum(walk.data.data(), segment);
      fermata_request*& request = requests[&walk - walks];
      if (!seat.holds(fermata_prepare(seat.member, &o, &request), "prepare")) return;
      if (!seat.holds(fermata_request_set_callback(request, go_on, &walk), "set_callback")) return;
    }
    for (int i = 0; i < 3; ++i)
      if (!seat.holds(fermata_request_start(requests[(i + seat.rank) % 3]), "start")) return;
    if (!seat.holds(fermata_barrier(seat.member), "barrier")) return;
    int pending = FERMATA_PENDING;
    while (pending == FERMATA_PENDING) pending = fermata_progress(seat.member, 100);
    if (!seat.holds(pending, "progress")) return;
    for (const Walk& walk : walks) {
      if (!seat.holds(walk.status, "callback")) return;
      if (!seat.holds(walk.over == static_cast<int>(kSegments) ? ""
                                                               : "callbacks: " + std::to_string(walk.over)))
        return;
      for (std::size_t i = 0; i < walk.data.size(); ++i) {
        double sum = 0;
        for (unsigned r = 0; r < static_cast<unsigned>(seat.members); ++r)
          sum += static_cast<double>((i * 3 + r) % 16);
        if (walk.data[i] != sum) {
          seat.holds("wrong at " + std::to_string(i) + " of segments of " + std::to_string(segment));
          return;
        }
      }
    }
    for (fermata_request* request : requests)
      if (!seat.holds(fermata_request_free(request), "free")) return;
    seat.count_one();
  }
}

struct Param {
  int engine, wait;
};

class Requests : public ::testing::TestWithParam<Param> {
 protected:
  void expect(void (*body)(Seat&)) {
    for (const int members : {1, 2, 3, 5}) {
      long ran = 0;
      const TeamCase test{members, GetParam().engine, GetParam().wait};
      EXPECT_EQ(run_team(test, body, &ran), "") << describe(test);
      EXPECT_GE(ran, 3 * members);
      if (HasFailure()) return;
    }
  }
};

TEST_P(Requests, ManyOutstanding) { expect(outstanding); }
TEST_P(Requests, StartedInAnyOrder) { expect(persistent); }
TEST_P(Requests, SlotsAreGivenBack) { expect(made_and_freed); }
TEST_P(Requests, CallbacksGoOnAlongABuffer) { expect(chain); }

std::string name_of(const ::testing::TestParamInfo<Param>& info) {
  constexpr const char* kWaits[] = {"auto", "spin", "yield", "park"};
  return std::string(name_of_engine(info.param.engine)) + "_" + kWaits[info.param.wait];
}

INSTANTIATE_TEST_SUITE_P(Engines, Requests,
                         ::testing::ValuesIn(of_engines<Param>({{FERMATA_THREADS, FERMATA_WAIT_AUTO},
                                                                {FERMATA_THREADS, FERMATA_WAIT_YIELD},
                                                                {FERMATA_THREADS, FERMATA_WAIT_PARK},
                                                                {FERMATA_PROCESSES, FERMATA_WAIT_AUTO},
                                                                {FERMATA_PROCESSES, FERMATA_WAIT_YIELD},
                                                                {FERMATA_PROCESSES, FERMATA_WAIT_PARK},
                                                                {kMixed, FERMATA_WAIT_AUTO},
                                                                {kMixed, FERMATA_WAIT_PARK}})),
                         name_of);

}  // namespace
}  // namespace fermata::test
