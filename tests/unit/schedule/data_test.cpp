// Expression trees, compared with brute-force strings, and what is refused for which operators.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "random_schedule.hpp"
#include "schedule/expression.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

using test::Random;

constexpr OpTraits kSum{.associative = true, .commutative = true, .idempotent = false};
constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};
constexpr OpTraits kMax{.associative = true, .commutative = true, .idempotent = true};
constexpr OpTraits kProduct{.associative = true, .commutative = false, .idempotent = false};
constexpr OpTraits kFloatProduct{.associative = false, .commutative = false, .idempotent = false};

// A value in three forms: as it was folded, with operands sorted, and as the list of contributions.
struct Value {
  std::string exact, sorted;
  std::vector<int> order;
};

Value fold(const Value& a, const Value& b) {
  Value v{"(" + a.exact + "+" + b.exact + ")", {}, a.order};
  v.sorted = "(" + std::min(a.sorted, b.sorted) + "+" + std::max(a.sorted, b.sorted) + ")";
  v.order.insert(v.order.end(), b.order.begin(), b.order.end());
  return v;
}

bool brute_force(const Schedule& s, OpTraits op) {
  std::vector<Value> now(s.members);
  for (int m = 0; m < s.members; ++m) now[m] = {std::to_string(m), std::to_string(m), {m}};
  for (const Stage& stage : s.stages) {
    const std::vector<Value> before = now;
    for (const Transfer& t : stage.transfers) {
      const Value& in = before[t.from];
      Value& mine = now[t.to];
      mine = t.action == Action::kCopy ? in : t.side == Side::kLeft ? fold(in, mine) : fold(mine, in);
    }
  }
  for (const Value& v : now) {
    std::map<int, int> times;
    for (const int m : v.order) ++times[m];
    if (static_cast<int>(times.size()) != s.members) return false;
    const bool once = static_cast<int>(v.order.size()) == s.members;
    if (!once && !op.idempotent) return false;
    if (!op.commutative && !(once && std::is_sorted(v.order.begin(), v.order.end()))) return false;
    if (op.associative) continue;
    if (op.commutative ? v.sorted != now[0].sorted : v.exact != now[0].exact) return false;
  }
  return true;
}

// An exchange over random pairs, or a tree with copies, sometimes with an error.
Schedule random_allreduce(Random& random) {
  Schedule s;
  s.collective = Collective::kAllreduce;
  s.chunks = 1;
  s.members = 1 << random.below(4);
  for (int bit = 1; bit < s.members; bit *= 2) {
    Stage& stage = s.stages.emplace_back();
    for (int i = 0; i < s.members; ++i) {
      const int to = random.chance(20) ? (i + bit) % s.members : i ^ bit;
      const Side side = random.chance(90) == (i < to) ? Side::kLeft : Side::kRight;
      if (to != i && !random.chance(2)) stage.transfers.push_back({i, to, 0, 0, 0, Action::kCombine, side});
    }
  }
  if (random.chance(30) && s.members > 1) {
    Stage& stage = s.stages.emplace_back();
    const int from = random.below(s.members);
    for (int i = 0; i < s.members; ++i) {
      if (i != from) stage.transfers.push_back({from, i, 0, 0, 0, Action::kCopy, Side::kRight});
    }
  }
  return s;
}

TEST(Data, AgreesWithBruteForceOnRandomExchanges) {
  Random random(7);
  const OpTraits ops[] = {kSum, kFloatSum, kMax, kProduct, kFloatProduct};
  int accepted[5] = {}, refused[5] = {};
  for (int trial = 0; trial < 5000 / FERMATA_TEST_SCALE; ++trial) {
    const Schedule s = random_allreduce(random);
    for (int i = 0; i < 5; ++i) {
      const auto verdict = verify(s, ops[i]);
      ASSERT_EQ(verdict.ok(), brute_force(s, ops[i]))
          << "trial " << trial << " op " << i << (verdict ? "" : ": " + verdict.error().message);
      ++(verdict.ok() ? accepted : refused)[i];
    }
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_GT(accepted[i], 100 / FERMATA_TEST_SCALE) << i;
    EXPECT_GT(refused[i], 100 / FERMATA_TEST_SCALE) << i;
  }
}

Schedule reduce_of_three() {
  Schedule s;
  s.collective = Collective::kReduce;
  s.chunks = 1;
  s.members = 3;
  s.stages = {
      {{{1, 0, 0, 0, 0, Action::kCombine, Side::kRight}, {2, 0, 0, 0, 0, Action::kCombine, Side::kRight}}}};
  return s;
}

TEST(Data, FoldsInListOrderOnTheGivenSide) {
  Schedule s = reduce_of_three();
  EXPECT_EQ(result_expression(s, 0), "((0+1)+2)");
  std::swap(s.stages[0].transfers[0], s.stages[0].transfers[1]);
  EXPECT_EQ(result_expression(s, 0), "((0+2)+1)");
  EXPECT_TRUE(verify(s, kFloatSum).ok());
  EXPECT_FALSE(verify(s, kProduct).ok());
  s.stages[0].transfers[1].side = Side::kLeft;
  EXPECT_EQ(result_expression(s, 0), "(1+(0+2))");
  EXPECT_EQ(result_expression(s, 1), "1");
}

TEST(Data, NamesWhatIsMissingAndWhatIsRepeated) {
  Schedule s = reduce_of_three();
  s.stages[0].transfers[1].from = 1;
  auto verdict = verify(s, kSum);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().message, "member 0 lacks the contribution of member 2");
  s = reduce_of_three();
  s.stages.push_back({{{1, 0, 0, 0, 0, Action::kCombine, Side::kRight}}});
  verdict = verify(s, kSum);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().message,
            "member 0 has the contribution of member 1 more than once, since stage 1 at member 0");
  EXPECT_TRUE(verify(s, kMax).ok());
}

TEST(Data, RefusesRegistersThatHoldNothing) {
  Schedule s;
  s.collective = Collective::kBroadcast;
  s.chunks = 1;
  s.members = 3;
  s.stages = {{{{1, 2, 0, 0, 0, Action::kCopy, Side::kRight}, {0, 1, 0, 0, 0, Action::kCopy, Side::kRight}}}};
  EXPECT_EQ(verify(s, kSum).error().message,
            "stage 0: member 1 sends register 0 of chunk 0, which holds nothing");
  s.stages = {
      {{{0, 1, 0, 0, 0, Action::kCopy, Side::kRight}, {0, 2, 0, 0, 0, Action::kCombine, Side::kRight}}}};
  EXPECT_EQ(verify(s, kSum).error().message,
            "stage 0: member 2 combines into register 0 of chunk 0, which holds nothing");
  s.stages[0].transfers[1].action = Action::kCopy;
  EXPECT_TRUE(verify(s, kSum).ok());
}

TEST(Data, RegistersServeScans) {
  Schedule s = reduce_of_three();  // member 0 folds 1 and 2 in register 1, then sends it to itself
  s.registers = 2;
  s.stages = {
      {{{1, 0, 0, 0, 1, Action::kCopy, Side::kRight}, {2, 0, 0, 0, 1, Action::kCombine, Side::kRight}}},
      {{{0, 0, 0, 1, 0, Action::kCombine, Side::kRight}}}};
  EXPECT_EQ(result_expression(s, 0), "(0+(1+2))");
  EXPECT_TRUE(verify(s, kProduct).ok());
  s.stages[1].transfers[0].src_reg = 2;
  EXPECT_EQ(verify(s, kSum).error().message, "stage 1, transfer 0: register out of range");
}

TEST(Data, EveryChunkIsProved) {
  Schedule s = reduce_of_three();
  s.chunks = 2;
  for (int i = 0; i < 2; ++i) {
    s.stages[0].transfers.push_back(s.stages[0].transfers[i]);
    s.stages[0].transfers.back().chunk = 1;
  }
  EXPECT_TRUE(verify(s, kSum).ok());
  s.stages[0].transfers.back().from = 1;
  EXPECT_EQ(verify(s, kSum).error().message, "chunk 1: member 0 lacks the contribution of member 2");
  s.stages[0].transfers.pop_back();
  EXPECT_EQ(verify(s, kSum).error().message, "chunk 1: fewer transfers than members - 1");
}

TEST(Data, ExplosiveRepetitionIsCountedNotListed) {
  Schedule s;  // two members double their contributions 200 times
  s.collective = Collective::kAllreduce;
  s.chunks = 1;
  s.members = 2;
  for (int i = 0; i < 200; ++i) {
    s.stages.push_back(
        {{{0, 1, 0, 0, 0, Action::kCombine, Side::kRight}, {1, 0, 0, 0, 0, Action::kCombine, Side::kRight}}});
  }
  EXPECT_NE(result_expression(s, 0).find("contributions"), std::string::npos);
  EXPECT_FALSE(verify(s, kSum).ok());
  EXPECT_TRUE(verify(s, kMax).ok());
}

}  // namespace
}  // namespace fermata
