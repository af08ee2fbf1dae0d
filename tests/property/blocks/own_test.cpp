// User-defined elements and operators, of all sizes, in each order; and rounded sums, which must give the
// same bits at all members and in all runs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "fermata/collectives.hpp"
#include "team.hpp"

namespace fermata::test {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr int kFolds[] = {FERMATA_REDUCE, FERMATA_ALLREDUCE, FERMATA_REDUCE_SCATTER, FERMATA_SCAN,
                          FERMATA_EXSCAN};
constexpr std::size_t kElementBytes[] = {1, 5, 8, 100, 4096};

// Folds bytes. The ordered operator neither commutes nor associates, so its result shows the place of each
// step.
unsigned char folded(int order, unsigned char left, unsigned char right) {
  return static_cast<unsigned char>(order == FERMATA_ANY_ORDER ? left + right : 3 * left + right);
}

struct Operator {
  int order;
  std::size_t element;
};

void fold(void* out, const void* left, const void* right, std::size_t count, void* user) {
  const auto& o = *static_cast<const Operator*>(user);
  const auto* l = static_cast<const unsigned char*>(left);
  const auto* r = static_cast<const unsigned char*>(right);
  for (std::size_t i = 0; i < count * o.element; ++i)
    static_cast<unsigned char*>(out)[i] = folded(o.order, l[i], r[i]);
}

unsigned char given(int rank, std::size_t i) {
  return static_cast<unsigned char>(rank * 37 + static_cast<int>(i % 251) * 5 + 1);
}

bool run_one(Seat& seat, int collective, const Operator& own, std::size_t count) {
  const auto members = static_cast<std::size_t>(seat.members);
  const std::size_t block = own.element * count;
  const CollectiveRules& rules = rules_of(collective);
  const bool scatters = rules.differs_by_receiver();
  Bytes in(scatters ? block * members : block), out(block);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = given(seat.rank, i);
  Operator mine = own;
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = collective;
  o.in = in.data();
  o.out = out.data();
  o.count = count;
  o.root = seat.members - 1;
  o.element = own.element;
  o.fold = fold;
  o.user = &mine;
  o.ordered = own.order;
  const std::string what = "collective " + std::to_string(collective) + ", " + std::to_string(count) +
                           " elements of " + std::to_string(own.element) + ", order " +
                           std::to_string(own.order);
  if (!seat.holds(fermata_execute(seat.member, &o), what)) return false;
  seat.count_one();
  const int end = rules.folded(seat.rank, seat.members);
  const bool gets = rules.writes(seat.rank == o.root) && end != 0;
  const std::size_t first = scatters ? block * static_cast<std::size_t>(seat.rank) : 0;
  for (std::size_t i = 0; gets && i < block; ++i) {
    unsigned char expected = given(0, first + i);
    for (int r = 1; r < end; ++r) expected = folded(own.order, expected, given(r, first + i));
    if (out[i] != expected) return seat.holds(what + ": wrong at byte " + std::to_string(i));
  }
  return seat.holds("");
}

void every_size(Seat& seat) {
  for (const std::size_t element : kElementBytes)
    for (const std::size_t count : {std::size_t{1}, std::size_t{9}, std::size_t{400}})
      for (const int order : {FERMATA_ANY_ORDER, FERMATA_LEFT_TO_RIGHT})
        for (const int collective : kFolds)
          if (count * element < 200'000 && !run_one(seat, collective, {order, element}, count)) return;
}

// Magnitudes far apart: another tree would round differently.
double rounded(int rank, std::size_t i) {
  return std::ldexp(1.0 + 1.0 / (3.0 + rank + static_cast<double>(i % 100)), rank * 11 % 53);
}

void same_bits(Seat& seat) {
  for (const std::size_t count : {std::size_t{3}, std::size_t{40}, std::size_t{3000}, std::size_t{60'000}}) {
    std::vector<double> in(count), first(count), out(count);
    for (std::size_t i = 0; i < count; ++i) in[i] = rounded(seat.rank, i);
    for (int run = 0; run < 4; ++run) {
      if (run % seat.members == seat.rank) usleep(300);  // each run has another late member
      if (!seat.holds(
              fermata_allreduce(seat.member, in.data(), out.data(), count, FERMATA_DOUBLE, FERMATA_SUM),
              "allreduce"))
        return;
      if (run == 0) first = out;
      if (!seat.holds(std::memcmp(first.data(), out.data(), count * sizeof(double)) == 0
                          ? ""
                          : "other bits in another run"))
        return;
      if (run == 0) out = first;
      seat.count_one();
    }
    if (!seat.holds(fermata_broadcast(seat.member, out.data(), count * sizeof(double), 0), "broadcast"))
      return;
    if (!seat.holds(std::memcmp(first.data(), out.data(), count * sizeof(double)) == 0
                        ? ""
                        : "other bits than rank 0's"))
      return;
  }
}

class Own : public ::testing::TestWithParam<int> {
 protected:
  void expect(void (*body)(Seat&), long least) {
    for (const int members : {2, 3, 5}) {
      if (GetParam() == kMixed && members < 3) continue;
      long ran = 0;
      EXPECT_EQ(run_team({members, GetParam(), FERMATA_WAIT_AUTO}, body, &ran), "") << members;
      EXPECT_GE(ran, least * members);
      if (HasFailure()) return;
    }
  }
};

TEST_P(Own, OperatorsOnElementsOfEverySize) { expect(every_size, 140); }
TEST_P(Own, SumsThatRoundHaveTheSameBits) { expect(same_bits, 16); }

INSTANTIATE_TEST_SUITE_P(Engines, Own, ::testing::ValuesIn(engines()),
                         [](const auto& param) { return std::string(name_of_engine(param.param)); });

// A team that is too large for an operation gets an error.
TEST(Limits, LargeTeamsAndLongElements) {
  const struct {
    int members, collective, status;
    std::size_t element;
  } cases[] = {{257, FERMATA_ALLTOALL, FERMATA_ERR_UNSUPPORTED, 8},
               {1025, FERMATA_ALLGATHER, FERMATA_ERR_UNSUPPORTED, 8},
               {128, FERMATA_ALLGATHER, FERMATA_ERR_UNSUPPORTED, 4096}};
  for (const auto& c : cases) {
    if (FERMATA_TEST_SCALE > 1 && c.members > 1024) continue;  // its plans alone take 20 s under a sanitizer
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = c.members;
    fermata_team* team = nullptr;
    ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
    fermata_member* m = nullptr;
    ASSERT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK) << fermata_error_detail();
    Bytes in(c.element * static_cast<std::size_t>(c.members)), out(in.size());
    fermata_operation o = FERMATA_OPERATION_INIT;
    o.collective = c.collective;
    o.in = in.data();
    o.out = out.data();
    o.count = 1;
    o.element = c.element;
    EXPECT_EQ(fermata_execute(m, &o), c.status) << c.members << ": " << fermata_error_detail();
    fermata_request* request = nullptr;
    EXPECT_EQ(fermata_begin(m, &o, &request), c.status);
    EXPECT_EQ(request, nullptr);
    fermata_member_leave(m);
    fermata_team_destroy(team);
  }
}

}  // namespace
}  // namespace fermata::test
