// Collectives on blocks over several hosts, which threads simulate: every collective, regular and irregular.
// The sizes are around the limits of a line, a piece and a ring buffer. Links delay, reorder and lose
// messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "instance.hpp"
#include "team.hpp"

namespace fermata::test {
namespace {

struct Layout {
  int members, hosts;
  bool scattered;
};
constexpr Layout kLayouts[] = {{2, 2, false}, {3, 2, false}, {4, 2, true}, {5, 3, true}, {8, 4, false}};
constexpr int kIrregular[] = {FERMATA_GATHER, FERMATA_SCATTER, FERMATA_ALLGATHER, FERMATA_REDUCE_SCATTER,
                              FERMATA_ALLTOALL};
constexpr int kIrregulars = static_cast<int>(std::size(kIrregular));

// All collectives with all sizes, each starting at another size.
std::vector<Shape> shapes(int members, const std::vector<std::size_t>& sizes, std::size_t first) {
  std::vector<Shape> all;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    for (int which = 0; which < FERMATA_EXSCAN + kIrregulars; ++which) {
      Shape s;
      s.seed = first + all.size();
      s.irregular = which >= FERMATA_EXSCAN;
      s.collective = s.irregular ? kIrregular[which - FERMATA_EXSCAN] : which + 1;
      s.element = kElements[s.seed % std::size(kElements)];
      s.count = (sizes[k] + size_of(s.element) - 1) / size_of(s.element);
      s.root = static_cast<int>(s.seed) % members;
      s.in_place = s.seed % 3 == 0;
      all.push_back(s);
    }
  return all;
}

bool run_one(Seat& seat, const Shape& shape) {
  Instance one(shape, seat.rank, seat.members);
  int status = FERMATA_OK;
  fermata_request* request = nullptr;
  if (shape.seed % 3 != 0) {
    status = one.call(seat.member, shape.seed % 3 == 1);
  } else {
    status = fermata_begin(seat.member, &one.operation(), &request);
    while (status == FERMATA_OK && (status = fermata_request_test(request)) == FERMATA_PENDING) {
      std::this_thread::yield();
      status = FERMATA_OK;
    }
  }
  if (!seat.holds(status, describe(shape)) || !seat.holds(one.check()) ||
      !seat.holds(fermata_request_free(request), "free"))
    return false;
  seat.count_one();
  return true;
}

void expect_all(const TeamCase& test, const std::vector<Shape>& all) {
  long ran = 0;
  const std::string problem = run_team(
      test,
      [&](Seat& seat) {
        for (const Shape& shape : all)
          if (!run_one(seat, shape)) return;
      },
      &ran);
  EXPECT_EQ(problem, "") << describe(test);
  EXPECT_EQ(ran, static_cast<long>(all.size()) * test.members);
}

TEST(BlocksOverHosts, EveryCollectiveOverGoodAndBadLinks) {
  const std::vector<std::size_t> sizes = {0, 8, 48, 57, 600, 16385};
  std::size_t first = 0;
  for (const Layout& l : kLayouts)
    for (const net::LoopOptions& links : {kGoodLinks, kBadLinks}) {
      if (FERMATA_TEST_SCALE > 1 && l.members > 4) continue;
      const TeamCase test{.members = l.members, .hosts = l.hosts, .scattered = l.scattered, .links = links};
      expect_all(test, shapes(l.members, sizes, first += 5));
      if (HasFailure()) return;
    }
}

// Blocks longer than a part of a ring buffer, and blocks one longer than a whole number of pieces; by ports
// with long messages and without.
TEST(BlocksOverHosts, LongBlocks) {
  for (const Layout& l : kLayouts)
    for (const bool moves_long : {true, false}) {
      net::LoopOptions links = l.members == 4 ? kBadLinks : kGoodLinks;
      links.moves_long = moves_long;
      expect_all({.members = l.members, .hosts = l.hosts, .scattered = l.scattered, .links = links},
                 shapes(l.members, {std::size_t{300'001} / (moves_long ? 1 : FERMATA_TEST_SCALE)},
                        static_cast<std::size_t>(l.members)));
    }
}

TEST(BlocksOverHosts, EveryWaitPolicy) {
  for (const int wait : {FERMATA_WAIT_SPIN, FERMATA_WAIT_YIELD, FERMATA_WAIT_PARK})
    expect_all({.members = 4, .wait = wait, .hosts = 2, .links = kLateLinks},
               shapes(4, {57, 3000}, static_cast<std::size_t>(wait)));
}

// Broadcasts, which need no answer, stream: the sender is ahead by the contents of a ring buffer, and its
// lines arrive in any order.
TEST(BlocksOverHosts, StreamsOfShortAndLongBroadcasts) {
  long ran = 0;
  const int calls = 400 / FERMATA_TEST_SCALE;
  const std::string problem = run_team(
      {.members = 4, .hosts = 2, .links = kBadLinks},
      [&](Seat& seat) {
        std::vector<std::uint32_t> data(12'000);
        for (int i = 0; i < calls; ++i) {
          const std::size_t count = i % 7 == 0 ? data.size() : 15 + static_cast<std::size_t>(i) % 5;
          for (std::size_t k = 0; k < count; ++k)
            data[k] = seat.rank == 1 ? static_cast<std::uint32_t>(i + 3 * k) : 0;
          if (!seat.holds(fermata_broadcast(seat.member, data.data(), 4 * count, 1), "broadcast")) return;
          for (std::size_t k = 0; k < count; ++k)
            if (data[k] != static_cast<std::uint32_t>(i + 3 * k) &&
                !seat.holds("call " + std::to_string(i) + " brought other data"))
              return;
          seat.count_one();
        }
      },
      &ran);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(ran, 4L * calls);
}

// Persistent operations are freed and made again: they reuse slots while lines of the last use may still
// arrive.
TEST(BlocksOverHosts, PreparedOnesUseTheirSlotsAgain) {
  for (const Layout& l : kLayouts) {
    long ran = 0;
    const std::vector<Shape> all = shapes(l.members, {57, 9000}, 1);
    const int rounds = 8 / FERMATA_TEST_SCALE + 2;
    const TeamCase test{.members = l.members, .hosts = l.hosts, .scattered = l.scattered, .links = kBadLinks};
    const std::string problem = run_team(
        test,
        [&](Seat& seat) {
          for (int round = 0; round < rounds; ++round)
            for (const Shape& shape : all) {
              Instance one(shape, seat.rank, seat.members);
              fermata_request* request = nullptr;
              if (!seat.holds(fermata_prepare(seat.member, &one.operation(), &request),
                              "prepare: " + describe(shape)))
                return;
              for (std::uint64_t use = 0; use < 2; ++use) {
                one.fill(shape.seed + use);
                if (!seat.holds(fermata_request_start(request), "start") ||
                    !seat.holds(fermata_request_wait(request), describe(shape)))
                  return;
                if (!seat.holds(one.check())) return;
                seat.count_one();
              }
              if (!seat.holds(fermata_request_free(request), "free")) return;
            }
        },
        &ran);
    EXPECT_EQ(problem, "") << describe(test);
    EXPECT_EQ(ran, 2L * rounds * static_cast<long>(all.size()) * l.members);
  }
}

// An allgather of two members whose longest block has 16 elements.
Shape allgather_of_16(bool irregular) {
  Shape s{.collective = FERMATA_ALLGATHER, .count = 16, .irregular = irregular, .seed = 1};
  const auto fits = [&] {
    const Instance one(s, 0, 2);
    const std::size_t* const counts = one.operation().out_counts;
    return counts == nullptr || std::max(counts[0], counts[1]) == s.count;
  };
  while (!fits()) ++s.seed;
  return s;
}

// A freed request's part serves a regular collective after an irregular one, and the other way round. The
// requests whose parts lie behind it are still held, and start again and again.
TEST(BlocksOverHosts, FreedPartsServeOthersWhileSomeAreHeld) {
  for (const bool irregular : {true, false}) {
    long ran = 0;
    const std::string problem = run_team(
        {.members = 2, .hosts = 2},
        [&](Seat& seat) {
          std::vector<Shape> of(4, allgather_of_16(irregular));
          of.push_back(allgather_of_16(!irregular));
          std::vector<Instance> all;
          all.reserve(of.size());
          std::vector<fermata_request*> requests(of.size(), nullptr);
          for (const Shape& shape : of) all.emplace_back(shape, seat.rank, seat.members);
          for (std::size_t i = 0; i < of.size(); ++i) {
            // The last one comes when the first is free at both members, and rank 0 has heard of it.
            if (i == of.size() - 1) {
              if (!seat.holds(fermata_request_free(requests[0]), "free")) return;
              for (int k = 0; k < 10; ++k)
                if (!seat.holds(fermata_barrier(seat.member), "barrier")) return;
            }
            if (!seat.holds(fermata_prepare(seat.member, &all[i].operation(), &requests[i]), "prepare"))
              return;
          }
          for (std::uint64_t use = 0; use < 200; ++use) {
            for (std::size_t i = 1; i < of.size(); ++i) {
              all[i].fill(of[i].seed + use);
              if (!seat.holds(fermata_request_start(requests[i]), "start")) return;
            }
            for (std::size_t i = 1; i < of.size(); ++i)
              if (!seat.holds(fermata_request_wait(requests[i]), describe(of[i])) ||
                  !seat.holds(all[i].check()))
                return;
          }
          for (std::size_t i = 1; i < of.size(); ++i) fermata_request_free(requests[i]);
        },
        &ran);
    EXPECT_EQ(problem, "") << irregular;
  }
}

// Runs calls and requests in a team of `members`, in which this member has `rank`.
bool works(Seat& seat, fermata_member* member, int rank, int members, std::uint64_t seed) {
  if (!seat.holds(fermata_member_rank(member) == rank ? "" : "another rank than its key says")) return false;
  for (const int collective : {FERMATA_ALLREDUCE, FERMATA_BROADCAST, FERMATA_ALLTOALL}) {
    Shape s;
    s.collective = collective;
    s.count = 1 + (seed + static_cast<std::uint64_t>(collective)) * 211 % 700;
    s.root = static_cast<int>(seed) % members;
    s.seed = seed;
    Instance one(s, rank, members);
    if (!seat.holds(one.call(member, true), "in a team of a split: " + describe(s)) ||
        !seat.holds(one.check()))
      return false;
  }
  return seat.holds(fermata_barrier(member), "barrier");
}

// Splits over all hosts, by parity and in reverse; splits by halves, over few hosts; splits one of these
// again; some members join no part.
TEST(BlocksOverHosts, SplitTeamsWorkBesideTheirs) {
  for (const Layout& l : kLayouts)
    for (const net::LoopOptions& links : {kGoodLinks, kBadLinks}) {
      long ran = 0;
      const TeamCase test{.members = l.members, .hosts = l.hosts, .scattered = l.scattered, .links = links};
      const std::string problem = run_team(
          test,
          [&](Seat& seat) {
            for (std::uint64_t round = 0; round < 3; ++round) {
              const int r = seat.rank, odd = r % 2;
              fermata_member *parity = nullptr, *half = nullptr, *quarter = nullptr, *none = nullptr;
              if (!seat.holds(fermata_team_split(seat.member, odd, -r, &parity), "split by parity")) return;
              const int of_parity = (seat.members + 1 - odd) / 2;
              if (!works(seat, parity, of_parity - 1 - r / 2, of_parity, round)) return;
              const int middle = seat.members / 2, low = r < middle;
              if (!seat.holds(fermata_team_split(seat.member, low, r, &half), "split by halves")) return;
              const int in_half = low ? r : r - middle, of_half = low ? middle : seat.members - middle;
              if (!works(seat, half, in_half, of_half, round)) return;
              if (!seat.holds(fermata_team_split(half, in_half % 2, 0, &quarter), "split of a split")) return;
              if (!works(seat, quarter, in_half / 2, (of_half + 1 - in_half % 2) / 2, round)) return;
              if (!seat.holds(fermata_team_split(seat.member, r == 0 ? -1 : 0, 0, &none),
                              "split without rank 0"))
                return;
              if (r != 0 && !works(seat, none, r - 1, seat.members - 1, round)) return;
              if (!seat.holds((none == nullptr) == (r == 0) ? "" : "rank 0 goes into no team")) return;
              // The sub-teams work beside each other, and the parity team still works after the others.
              if (!works(seat, parity, of_parity - 1 - r / 2, of_parity, round + 7)) return;
              if (!seat.holds(fermata_barrier(seat.member), "barrier")) return;
              for (fermata_member* m : {quarter, half, none, parity}) fermata_member_leave(m);
              seat.count_one();
            }
          },
          &ran);
      EXPECT_EQ(problem, "") << describe(test);
      EXPECT_EQ(ran, 3L * l.members);
    }
}

// Far more requests than the heap can hold at once.
TEST(BlocksOverHosts, PreparedOnesByTheThousand) {
  long ran = 0;
  const int calls = 1200 / FERMATA_TEST_SCALE;
  const std::string problem = run_team(
      {.members = 4, .hosts = 2},
      [&](Seat& seat) {
        std::vector<double> data(4000), sum(4000);
        fermata_operation operation = FERMATA_OPERATION_INIT;
        operation.collective = FERMATA_ALLREDUCE;
        operation.in = data.data();
        operation.out = sum.data();
        operation.count = data.size();
        for (int i = 0; i < calls; ++i) {
          fermata_request* request = nullptr;
          if (!seat.holds(fermata_prepare(seat.member, &operation, &request), "prepare " + std::to_string(i)))
            return;
          if (!seat.holds(fermata_request_free(request), "free")) return;
          seat.count_one();
        }
      },
      &ran);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(ran, 4L * calls);
}

}  // namespace
}  // namespace fermata::test
