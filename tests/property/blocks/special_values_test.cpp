// Folds of NaNs with different payloads, infinities, signed zeros, subnormal numbers and values that
// overflow. In every kind of call, all members get the bits that base/element.hpp's apply() gives in rank
// order. The results do not depend on order or grouping, so the bits show a path that swaps operands or
// leaves a NaN to the processor.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "base/element.hpp"
#include "fermata/collectives.hpp"
#include "team.hpp"

namespace fermata::test {
namespace {

constexpr int kColumns = 10;  // of special(), repeated along an array

template <class T>
T special(int rank, int members, std::size_t i) {
  using Bits = FloatBits<T>;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  constexpr Bits kQuiet = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
  constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  const auto r = static_cast<Bits>(rank);
  const auto rows = static_cast<Bits>(i / kColumns % 50);  // so that vectors hold different payloads
  const bool last = rank == members - 1;
  switch (i % kColumns) {
    // the largest NaN isn't always the first or the last
    case 0: return std::bit_cast<T>(kQuiet | (1 + rows + (r * 5 + 3) % 7 * 64));
    case 1:
      return rank == 0 ? std::bit_cast<T>(kQuiet | (77 + rows)) : T(rank);  // one NaN, at the first member
    // a signalling NaN
    case 2: return last ? std::bit_cast<T>(std::bit_cast<Bits>(kInfinity) | (5 + rows)) : T(1);
    case 3: return std::bit_cast<T>(kQuiet | (r % 2 == 0 ? kSign : 0) | (9 + r));
    case 4: return rank == 0 ? kInfinity : -kInfinity;
    case 5: return rank == 0 ? T(0) : kInfinity;
    case 6: return last ? T(0) : -T(0);
    case 7: return -T(0);
    case 8: return std::numeric_limits<T>::denorm_min() * T(rank + 1);
    default: return std::numeric_limits<T>::max();
  }
}

template <Op O, class T>
T folded(int first, int end, int members, std::size_t i) {
  T sum = special<T>(first, members, i);
  for (int r = first + 1; r < end; ++r) sum = apply<O>(sum, special<T>(r, members, i));
  return sum;
}

enum Way { kBlocking, kBegun, kPersistent, kWays };

int carry_out(fermata_member* m, const fermata_operation& o, Way way) {
  if (way == kBlocking) {
    switch (o.collective) {
      case FERMATA_ALLREDUCE: return fermata_allreduce(m, o.in, o.out, o.count, o.type, o.op);
      case FERMATA_REDUCE: return fermata_reduce(m, o.in, o.out, o.count, o.type, o.op, o.root);
      default: return fermata_execute(m, &o);
    }
  }
  fermata_request* request = nullptr;
  int status = way == kBegun ? fermata_begin(m, &o, &request) : fermata_prepare(m, &o, &request);
  if (status == FERMATA_OK && way == kPersistent) status = fermata_request_start(request);
  if (status == FERMATA_OK) status = fermata_request_wait(request);
  fermata_request_free(request);
  return status;
}

template <Op O, class T>
std::string check(Seat& seat, int collective, std::size_t count, Way way) {
  const int n = seat.members;
  const CollectiveRules& rules = rules_of(collective);
  const std::size_t blocks = rules.differs_by_receiver() ? static_cast<std::size_t>(n) : 1;
  std::vector<T> in(count * blocks), out(count);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = special<T>(seat.rank, n, i);
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = collective;
  o.in = in.data();
  o.out = out.data();
  o.count = count;
  o.type = std::is_same_v<T, float> ? FERMATA_FLOAT : FERMATA_DOUBLE;
  o.op = static_cast<int>(O);
  o.root = n - 1;
  const std::string what = std::string(name_of(O)) + ", collective " + std::to_string(collective) + ", " +
                           std::to_string(count) + " of " + std::to_string(sizeof(T)) + " bytes, way " +
                           std::to_string(way);
  if (const int status = carry_out(seat.member, o, way); status != FERMATA_OK)
    return what + ": " + fermata_status_string(status) + ": " + fermata_error_detail();
  const int end = rules.folded(seat.rank, n);
  if (!rules.writes(seat.rank == o.root) || end == 0) return "";
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = blocks > 1 ? static_cast<std::size_t>(seat.rank) * count + i : i;
    const T expected = folded<O, T>(0, end, n, at);
    if (std::memcmp(&out[i], &expected, sizeof(T)) != 0)
      return what + ": other bits in element " + std::to_string(i);
  }
  seat.count_one();
  return "";
}

constexpr int kFolding[] = {FERMATA_ALLREDUCE, FERMATA_REDUCE, FERMATA_REDUCE_SCATTER, FERMATA_SCAN,
                            FERMATA_EXSCAN};

void body(Seat& seat) {
  const std::size_t long_one = FERMATA_TEST_SCALE > 1 ? 700 : 9000;
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{45}, std::size_t{300}, long_one})
    for (const int collective : kFolding)
      for (int way = 0; way < kWays; ++way) {
        const auto w = static_cast<Way>(way);
        if (!seat.holds(check<Op::kSum, double>(seat, collective, count, w)) ||
            !seat.holds(check<Op::kProd, double>(seat, collective, count, w)) ||
            !seat.holds(check<Op::kSum, float>(seat, collective, count, w)) ||
            !seat.holds(check<Op::kMax, double>(seat, collective, count, w)))
          return;
      }
  // The shortest path: repeated calls of one word, whose fold is compiled into the path.
  for (std::size_t i = 0; i < kColumns; ++i)
    for (int again = 0; again < 3; ++again) {
      const double in = special<double>(seat.rank, seat.members, i);
      const double expected = folded<Op::kSum, double>(0, seat.members, seat.members, i);
      double out = 1;
      if (!seat.holds(fermata_allreduce(seat.member, &in, &out, 1, FERMATA_DOUBLE, FERMATA_SUM), "allreduce"))
        return;
      if (std::memcmp(&out, &expected, sizeof out) != 0 &&
          !seat.holds("one word: other bits in column " + std::to_string(i)))
        return;
      seat.count_one();
    }
}

void expect_all(const TeamCase& test) {
  long ran = 0;
  EXPECT_EQ(run_team(test, body, &ran), "") << describe(test);
  EXPECT_GT(ran, 0);
}

TEST(SpecialValues, Threads) {
  for (const int members : {2, 3, 4, 6}) expect_all({.members = members});
}
TEST(SpecialValues, Processes) {
  for (const int members : {2, 5}) expect_all({.members = members, .engine = FERMATA_PROCESSES});
}
TEST(SpecialValues, Mixed) { expect_all({.members = 6, .engine = kMixed}); }
TEST(SpecialValues, Hosts) {
  expect_all({.members = 2, .hosts = 2});
  expect_all({.members = 5, .hosts = 2, .scattered = true});
}
TEST(SpecialValues, EveryWait) {
  for (const int wait : {FERMATA_WAIT_YIELD, FERMATA_WAIT_PARK}) expect_all({.members = 2, .wait = wait});
}

}  // namespace
}  // namespace fermata::test
