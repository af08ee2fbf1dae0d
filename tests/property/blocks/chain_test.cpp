// Chains: persistent operations of one or several teams as one request, which is reset, fails, or is freed.
#include <gtest/gtest.h>

#include <array>

#include "../../operation.hpp"
#include "team.hpp"

namespace fermata::test {
namespace {

constexpr int kRounds = FERMATA_TEST_SCALE > 1 ? 3 : 12;

struct Over {
  int times = 0;
  int status = FERMATA_PENDING;
};
void note(fermata_request*, int status, void* user) {
  auto& over = *static_cast<Over*>(user);
  ++over.times;
  over.status = status;
}

// A sum, then an allgather of it, then a reduce_scatter of that. Members start several such chains in
// different orders.
struct ThreeLinks {
  ThreeLinks(Seat& seat, std::size_t n)
      : count(n), in(n), sum(n), all(n * static_cast<std::size_t>(seat.members)), back(n) {
    const fermata_operation steps[] = {
        operation(FERMATA_ALLREDUCE, in.data(), sum.data(), n, FERMATA_DOUBLE),
        operation(FERMATA_ALLGATHER, sum.data(), all.data(), n, FERMATA_DOUBLE),
        operation(FERMATA_REDUCE_SCATTER, all.data(), back.data(), n, FERMATA_DOUBLE)};
    fermata_request* links[3] = {};
    for (int i = 0; i < 3; ++i)
      if (!seat.holds(fermata_prepare(seat.member, &steps[i], &links[i]), "prepare")) return;
    if (!seat.holds(fermata_chain(links, 3, &chain), "chain")) return;
    first = links[0];
    seat.holds(fermata_request_set_callback(links[1], note, &middle), "set_callback");
    seat.holds(fermata_request_set_callback(chain, note, &whole), "set_callback");
  }
  void fill(Seat& seat, int round) {
    for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<double>(i % 5) + seat.rank + round;
    back.assign(count, -1);
  }
  bool holds(Seat& seat, int round) {
    const int p = seat.members;
    for (std::size_t i = 0; i < count; ++i)
      if (back[i] != p * (p * (static_cast<double>(i % 5) + round) + p * (p - 1) / 2))
        return seat.holds("a wrong sum");
    seat.count_one();
    return seat.holds(middle.times == round + 1 && whole.times == round + 1 && whole.status == FERMATA_OK
                          ? ""
                          : "callbacks");
  }
  std::size_t count;
  std::vector<double> in, sum, all, back;
  fermata_request* chain = nullptr;
  fermata_request* first = nullptr;
  Over middle, whole;
};

void several_chains(Seat& seat) {
  ThreeLinks chains[] = {{seat, 3}, {seat, 700}, {seat, 20'000}};
  for (int round = 0; round < kRounds; ++round) {
    fermata_request* all[3];
    for (int i = 0; i < 3; ++i) {
      ThreeLinks& c = chains[(i + seat.rank + round) % 3];
      c.fill(seat, round);
      if (!seat.holds(fermata_request_start(c.chain), "start")) return;
      all[i] = c.chain;
    }
    if (round % 3 == 0 && !seat.holds(fermata_barrier(seat.member), "barrier")) return;
    std::size_t index = 0;
    if (round % 3 == 1 && !seat.holds(fermata_request_wait_any(all, 3, &index), "wait_any")) return;
    if (!seat.holds(fermata_request_wait_all(all, 3), "wait_all")) return;
    for (ThreeLinks& c : chains)
      if (!c.holds(seat, round)) return;
  }
  for (ThreeLinks& c : chains) {
    const bool refused = fermata_request_start(c.first) == FERMATA_ERR_ARGUMENT &&
                         fermata_request_free(c.first) == FERMATA_ERR_ARGUMENT;
    if (!seat.holds(refused ? "" : "a link was started or freed by itself")) return;
    if (!seat.holds(fermata_request_free(c.chain), "free")) return;
  }
}

// A hierarchy as one request: sums in pairs, then among the pairs' leaders, then back.
void hierarchy(Seat& seat) {
  fermata_member* near = nullptr;
  fermata_member* leaders = nullptr;
  if (!seat.holds(fermata_team_split(seat.member, seat.rank / 2, 0, &near), "split")) return;
  const bool leads = seat.rank % 2 == 0;
  if (!seat.holds(fermata_team_split(seat.member, leads ? 0 : -1, 0, &leaders), "split")) return;
  constexpr std::size_t kCount = 5000;
  std::vector<double> a(kCount), b(kCount), result(kCount);
  std::vector<fermata_request*> links;
  const auto add = [&](fermata_member* member, const fermata_operation& o) {
    links.emplace_back();
    return seat.holds(fermata_prepare(member, &o, &links.back()), "prepare");
  };
  bool ok = add(near, operation(FERMATA_REDUCE, a.data(), b.data(), kCount, FERMATA_DOUBLE));
  if (leads)
    ok = ok && add(leaders, operation(FERMATA_ALLREDUCE, b.data(), result.data(), kCount, FERMATA_DOUBLE));
  ok = ok && add(near, operation(FERMATA_BROADCAST, nullptr, result.data(), kCount, FERMATA_DOUBLE));
  fermata_request* chain = nullptr;
  ok = ok && seat.holds(fermata_chain(links.data(), links.size(), &chain), "chain");
  for (int round = 0; ok && round < kRounds; ++round) {
    a.assign(kCount, seat.rank + round);
    result.assign(kCount, -1);
    ok = seat.holds(fermata_request_start(chain), "start");
    int status = FERMATA_PENDING;
    if (round % 2 == 0) status = fermata_request_wait(chain);
    while (status == FERMATA_PENDING) status = fermata_request_test(chain);
    ok = ok && seat.holds(status, "wait");
    const double expected = seat.members * (seat.members - 1) / 2.0 + seat.members * round;
    for (const double v : result)
      ok = ok && seat.holds(v == expected ? "" : "a wrong sum over the hierarchy");
    seat.count_one();
  }
  if (chain != nullptr) seat.holds(fermata_request_free(chain), "free");
  fermata_member_leave(leaders);
  fermata_member_leave(near);
}

// The chain walks along a buffer: it is reset between its uses.
void along_a_buffer(Seat& seat) {
  constexpr std::size_t kPart = 900, kParts = 5;
  std::vector<double> in(kPart * kParts, seat.rank), out(kPart * kParts, -1), between(kPart);
  const fermata_operation first =
      operation(FERMATA_ALLREDUCE, in.data(), between.data(), kPart, FERMATA_DOUBLE);
  const fermata_operation last =
      operation(FERMATA_ALLREDUCE, between.data(), out.data(), kPart, FERMATA_DOUBLE);
  fermata_request* links[2] = {};
  fermata_request* chain = nullptr;
  bool ok = seat.holds(fermata_prepare(seat.member, &first, &links[0]), "prepare");
  ok = ok && seat.holds(fermata_prepare(seat.member, &last, &links[1]), "prepare");
  ok = ok && seat.holds(fermata_chain(links, 2, &chain), "chain");
  for (std::size_t part = 0; ok && part < kParts; ++part) {
    ok = seat.holds(fermata_request_reset(chain, &in[part * kPart], &out[part * kPart]), "reset");
    ok = ok && seat.holds(fermata_request_start(chain), "start") &&
         seat.holds(fermata_request_wait(chain), "wait");
  }
  const double expected = seat.members * seat.members * (seat.members - 1) / 2.0;
  for (const double v : out) ok = ok && seat.holds(v == expected ? "" : "a wrong sum along the buffer");
  if (ok)
    seat.holds(fermata_request_reset(chain, nullptr, nullptr) == FERMATA_ERR_ARGUMENT ? ""
                                                                                      : "reset to nothing");
  if (ok) seat.count_one();
  if (ok) seat.holds(fermata_request_free(chain), "free");
}

// A member leaves: the chain ends once, with the error of its link, and starts no further link.
void failing(Seat& seat) {
  ThreeLinks c(seat, 20'000);
  if (!seat.holds(fermata_barrier(seat.member), "barrier")) return;
  if (seat.rank == 0) {
    seat.holds(fermata_request_free(c.chain), "free");
    seat.count_one();
    return;
  }
  int status = fermata_request_start(c.chain);
  if (status == FERMATA_OK) status = fermata_request_wait(c.chain);
  if (!seat.holds(status < 0 ? "" : "no error though a member has left")) return;
  seat.holds(c.whole.times == (c.whole.status == FERMATA_PENDING ? 0 : 1) && c.middle.times == 0
                 ? ""
                 : "callbacks of a failed chain");
  seat.holds(fermata_request_start(c.chain) < 0 ? "" : "a broken team's chain was started");
  if (seat.holds(fermata_request_free(c.chain), "free")) seat.count_one();
}

class Chains : public ::testing::TestWithParam<int> {
 protected:
  void expect(void (*body)(Seat&), std::initializer_list<int> sizes) {
    for (const int members : sizes) {
      long ran = 0;
      const TeamCase test{members, GetParam(), FERMATA_WAIT_AUTO};
      EXPECT_EQ(run_team(test, body, &ran), "") << describe(test);
      EXPECT_GE(ran, members);
      if (HasFailure()) return;
    }
  }
};

TEST_P(Chains, SeveralAtOnce) { expect(several_chains, {1, 2, 3}); }
TEST_P(Chains, AcrossTeamsOfAHierarchy) { expect(hierarchy, {2, 4, 6}); }
TEST_P(Chains, AreResetAlongABuffer) { expect(along_a_buffer, {1, 2, 3}); }
TEST_P(Chains, EndWithTheFirstError) { expect(failing, {2, 3}); }

std::string name_of(const ::testing::TestParamInfo<int>& info) { return name_of_engine(info.param); }

INSTANTIATE_TEST_SUITE_P(Engines, Chains, ::testing::ValuesIn(engines()), name_of);

// A call that makes no chain has no effect.
void refused(Seat& seat) {
  double v = 1;
  const fermata_operation o = operation(FERMATA_ALLREDUCE, FERMATA_IN_PLACE, &v, 1, FERMATA_DOUBLE);
  std::array<fermata_request*, 3> r{};
  if (!seat.holds(fermata_prepare(seat.member, &o, &r[0]), "prepare") ||
      !seat.holds(fermata_prepare(seat.member, &o, &r[1]), "prepare") ||
      !seat.holds(fermata_begin(seat.member, &o, &r[2]), "begin") ||
      !seat.holds(fermata_request_wait(r[2]), "wait"))
    return;
  fermata_request* chain = nullptr;
  const auto argument = [&](std::array<fermata_request*, 2> links, std::size_t count) {
    return seat.holds(fermata_chain(links.data(), count, &chain) == FERMATA_ERR_ARGUMENT && chain == nullptr
                          ? ""
                          : "a bad chain was made");
  };
  if (!argument({r[0], r[1]}, 0) || !argument({r[0], nullptr}, 2) || !argument({r[0], r[0]}, 2) ||
      !argument({r[0], r[2]}, 2))
    return;
  if (!seat.holds(fermata_chain(r.data(), 2, &chain), "chain")) return;
  fermata_request* of_chain = nullptr;
  seat.holds(fermata_chain(&chain, 1, &of_chain) == FERMATA_ERR_ARGUMENT ? "" : "a chain of chains");
  seat.holds(fermata_chain(r.data(), 1, &of_chain) == FERMATA_ERR_ARGUMENT ? "" : "a link of two chains");
  for (fermata_request* request : {chain, r[2]}) seat.holds(fermata_request_free(request), "free");
  seat.count_one();
}

TEST(Chains, BadOnesAreRefused) {
  long ran = 0;
  EXPECT_EQ(run_team({2, FERMATA_THREADS, FERMATA_WAIT_AUTO}, refused, &ran), "");
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace fermata::test
