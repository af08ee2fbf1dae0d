// The data that each collective begins and ends with, compared with brute force on schedules with errors; and
// the messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "random_schedule.hpp"
#include "schedule/contents.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

using test::Random;

constexpr OpTraits kSum{.associative = true, .commutative = true, .idempotent = false};
constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};
constexpr OpTraits kMax{.associative = true, .commutative = true, .idempotent = true};
constexpr OpTraits kProduct{.associative = true, .commutative = false, .idempotent = false};
constexpr Collective kMoving[] = {Collective::kBroadcast, Collective::kGather, Collective::kScatter,
                                  Collective::kAllgather, Collective::kAlltoall};
constexpr Collective kFolding[] = {Collective::kReduce, Collective::kReduceScatter, Collective::kScan,
                                   Collective::kExscan};

void copy(Stage& stage, int from, int to, int chunk) {
  stage.transfers.push_back({from, to, chunk, 0, 0, Action::kCopy, Side::kRight});
}
void fold(Stage& stage, int from, int to, int chunk, Side side) {
  stage.transfers.push_back({from, to, chunk, 0, 0, Action::kCombine, side});
}
// Sends every contribution to `to`, nearest ranks first, and folds them in rank order.
void fold_all(Stage& stage, int members, int to, int chunk) {
  for (int i = to - 1; i >= 0; --i) fold(stage, i, to, chunk, Side::kLeft);
  for (int i = to + 1; i < members; ++i) fold(stage, i, to, chunk, Side::kRight);
}

// Each chunk goes directly from its source to its target; scans go along a chain.
Schedule direct(Collective collective, int members, int root, int segments = 1) {
  Schedule s;
  s.collective = collective;
  s.members = members;
  s.root = root;
  const int blocks = collective == Collective::kAlltoall ? members * members
                     : collective == Collective::kBroadcast || collective == Collective::kReduce ||
                             collective == Collective::kScan || collective == Collective::kExscan
                         ? 1
                         : members;
  s.chunks = blocks * segments;
  s.stages.resize(1);
  Stage& stage = s.stages[0];
  for (int c = 0; c < s.chunks; ++c) {
    const int b = c / segments;
    if (collective == Collective::kReduce) fold_all(stage, members, root, c);
    if (collective == Collective::kReduceScatter) fold_all(stage, members, b, c);
    if (collective == Collective::kGather && b != root) copy(stage, b, root, c);
    if (collective == Collective::kScatter && b != root) copy(stage, root, b, c);
    if (collective == Collective::kAlltoall && b / members != b % members)
      copy(stage, b / members, b % members, c);
    const int from = collective == Collective::kAllgather ? b : root;
    for (int i = 0;
         i < members && (collective == Collective::kAllgather || collective == Collective::kBroadcast); ++i)
      if (i != from) copy(stage, from, i, c);
  }
  if (collective != Collective::kScan && collective != Collective::kExscan) return s;
  s.stages.resize(members + 1);
  for (int c = 0; c < s.chunks; ++c) {
    const int first = collective == Collective::kExscan ? 1 : 0;
    for (int i = 0; first == 1 && i + 1 < members; ++i) copy(s.stages[0], i, i + 1, c);
    for (int i = first; i + 1 < members; ++i) fold(s.stages[i + 1], i, i + 1, c, Side::kLeft);
  }
  return s;
}

struct Value {
  std::string sorted;
  std::vector<int> order;
};

struct Brute {
  const Schedule& s;
  OpTraits op;
  int segments = s.chunks / (s.collective == Collective::kAlltoall ? s.members * s.members : blocks());
  int blocks() const {
    const bool one = s.collective == Collective::kBroadcast || s.collective == Collective::kReduce ||
                     s.collective == Collective::kScan || s.collective == Collective::kExscan;
    return one ? 1 : s.members;
  }

  bool starts(int block, int m) const {
    switch (s.collective) {
      case Collective::kBroadcast:
      case Collective::kScatter: return m == s.root;
      case Collective::kGather:
      case Collective::kAllgather: return m == block;
      case Collective::kAlltoall: return m == block / s.members;
      default: return true;
    }
  }
  // The members whose contributions must be at m; empty if none are required.
  std::vector<int> wanted(int block, int m) const {
    std::vector<int> all;
    for (int i = 0; i < s.members; ++i) all.push_back(i);
    switch (s.collective) {
      case Collective::kBroadcast: return {s.root};
      case Collective::kScatter: return m == block ? std::vector{s.root} : std::vector<int>{};
      case Collective::kGather: return m == s.root ? std::vector{block} : std::vector<int>{};
      case Collective::kAllgather: return {block};
      case Collective::kAlltoall:
        return m == block % s.members ? std::vector{block / s.members} : std::vector<int>{};
      case Collective::kReduce: return m == s.root ? all : std::vector<int>{};
      case Collective::kReduceScatter: return m == block ? all : std::vector<int>{};
      case Collective::kScan: return {all.begin(), all.begin() + m + 1};
      default: return {all.begin(), all.begin() + m};
    }
  }

  bool right() const {
    for (int c = 0; c < s.chunks; ++c)
      if (!chunk_right(c)) return false;
    return true;
  }

  using Held = std::map<std::pair<int, int>, Value>;

  static bool bring(Held& now, std::map<std::pair<int, int>, int>& touched, const Transfer& t,
                    const Value& in) {
    const std::pair to{t.to, t.dst_reg};
    if (t.action == Action::kCopy && touched[to] > 0) return false;
    ++touched[to];
    if (t.action == Action::kCopy) {
      now[to] = in;
      return true;
    }
    const auto at = now.find(to);
    if (at == now.end()) return false;
    const Value &a = t.side == Side::kLeft ? in : at->second, &b = t.side == Side::kLeft ? at->second : in;
    Value both{"(" + std::min(a.sorted, b.sorted) + "+" + std::max(a.sorted, b.sorted) + ")", a.order};
    both.order.insert(both.order.end(), b.order.begin(), b.order.end());
    at->second = both;
    return true;
  }

  bool chunk_right(int c) const {
    Held now;
    for (int m = 0; m < s.members; ++m)
      if (starts(c / segments, m)) now[{m, 0}] = {std::to_string(m), {m}};
    for (const Stage& stage : s.stages) {
      const Held before = now;
      std::map<std::pair<int, int>, int> touched;
      for (const Transfer& t : stage.transfers) {
        if (t.chunk != c) continue;
        const auto in = before.find({t.from, t.src_reg});
        if (in == before.end() || !bring(now, touched, t, in->second)) return false;
      }
    }
    for (int m = 0; m < s.members; ++m) {
      const std::vector<int> want = wanted(c / segments, m);
      if (!want.empty() && (now.count({m, 0}) == 0 || !holds(now.at({m, 0}).order, want))) return false;
    }
    return true;
  }

  bool holds(std::vector<int> order, const std::vector<int>& want) const {
    if (!op.commutative) return order == want;
    std::sort(order.begin(), order.end());
    if (op.idempotent) order.erase(std::unique(order.begin(), order.end()), order.end());
    return order == want;
  }
};

// Drops, repeats, redirects, moves or changes one transfer.
void mutate(Schedule& s, Random& random) {
  Stage& stage = s.stages[random.below(static_cast<int>(s.stages.size()))];
  if (stage.transfers.empty()) return;
  const auto at = stage.transfers.begin() + random.below(static_cast<int>(stage.transfers.size()));
  Transfer copy = *at;
  switch (random.below(8)) {
    case 0: stage.transfers.erase(at); break;
    case 1: stage.transfers.push_back(copy); break;
    case 2: s.stages[random.below(static_cast<int>(s.stages.size()))].transfers.push_back(copy); break;
    case 3: at->to = random.below(s.members); break;
    case 4: at->from = random.below(s.members); break;
    case 5: at->chunk = random.below(s.chunks); break;
    case 6: at->side = at->side == Side::kLeft ? Side::kRight : Side::kLeft; break;
    default: std::iter_swap(at, stage.transfers.begin()); break;
  }
  for (const Stage& each : s.stages)
    for (const Transfer& t : each.transfers) ASSERT_TRUE(t.action != Action::kSignal);
}

TEST(Collectives, AgreeWithBruteForceWhateverIsWrong) {
  Random random(5);
  std::map<Collective, std::pair<int, int>> verdicts;  // accepted and refused
  for (int trial = 0; trial < 12000 / FERMATA_TEST_SCALE; ++trial) {
    const bool folding = trial % 2 == 0;
    const Collective collective = folding ? kFolding[random.below(4)] : kMoving[random.below(5)];
    const int members = 2 + random.below(4);
    Schedule s =
        direct(collective, members, has_root(collective) ? random.below(members) : 0, 1 + random.below(2));
    for (int changes = random.below(3); changes > 0; --changes) mutate(s, random);
    for (const OpTraits op : {kSum, kMax, kProduct}) {
      const auto verdict = verify(s, op);
      ASSERT_EQ(verdict.ok(), (Brute{.s = s, .op = op}.right()))
          << name_of(collective) << " trial " << trial << (verdict ? "" : ": " + verdict.error().message);
      ++(verdict.ok() ? verdicts[collective].first : verdicts[collective].second);
    }
  }
  EXPECT_EQ(verdicts.size(), 9u);
  for (const auto& [collective, counts] : verdicts) {
    EXPECT_GT(counts.first, 300 / FERMATA_TEST_SCALE) << name_of(collective);
    EXPECT_GT(counts.second, 300 / FERMATA_TEST_SCALE) << name_of(collective);
  }
}

std::string why_not(const Schedule& s, OpTraits op = kSum) {
  const auto verdict = verify(s, op);
  return verdict ? "proved" : verdict.error().message;
}

TEST(Collectives, MessagesNameMemberChunkAndWhatIsWrong) {
  Schedule s = direct(Collective::kGather, 4, 2);
  s.stages[0].transfers.pop_back();
  EXPECT_EQ(why_not(s), "chunk 3 (3 to 2): member 2 has no result");
  s = direct(Collective::kAlltoall, 3, 0);
  s.stages[0].transfers[0].to = 2;  // chunk 1, from 0 to 1
  EXPECT_EQ(why_not(s), "chunk 1 (0 to 1): member 1 has no result");
  s = direct(Collective::kAllgather, 3, 0);
  s.stages[0].transfers.push_back(s.stages[0].transfers.front());
  EXPECT_EQ(why_not(s),
            "stage 0: member 1 copies over register 0 of chunk 0, which this stage has written already");
  s.stages[0].transfers.pop_back();
  s.stages.emplace_back();
  fold(s.stages[1], 0, 2, 2, Side::kLeft);
  EXPECT_EQ(why_not(s), "chunk 2: member 2 has (2+2) instead of the value of member 2");
  s = direct(Collective::kReduceScatter, 3, 0);
  s.stages[0].transfers[2].from = 2;  // the contribution of member 0 to chunk 1
  EXPECT_EQ(why_not(s), "chunk 1: member 1 lacks the contribution of member 0");
  s = direct(Collective::kReduceScatter, 3, 0);
  std::swap(s.stages[0].transfers[4], s.stages[0].transfers[5]);
  EXPECT_EQ(why_not(s), "proved");
  EXPECT_EQ(why_not(s, kProduct), "chunk 2: member 2 folds (1+(0+2)), which is not rank order");
  s = direct(Collective::kScan, 3, 0);
  s.stages.emplace_back();
  fold(s.stages.back(), 2, 1, 0, Side::kRight);
  EXPECT_EQ(why_not(s), "member 1 has the contribution of member 2, which is no part of its result");
  s = direct(Collective::kScan, 3, 0);
  fold(s.stages[1], 0, 1, 0, Side::kLeft);
  EXPECT_EQ(why_not(s),
            "member 1 has the contribution of member 0 more than once, since stage 1 at member 1");
}

TEST(Collectives, ChunksAreAMultipleOfTheBlocks) {
  Schedule s = direct(Collective::kAlltoall, 3, 0);
  EXPECT_EQ(s.chunks, 9);
  s.chunks = 10;
  EXPECT_EQ(why_not(s), "alltoall of 3 members has a multiple of 9 chunks");
  s = direct(Collective::kGather, 4, 1, 3);
  EXPECT_EQ(s.chunks, 12);
  EXPECT_EQ(block_of(s, 11), 3);
  EXPECT_EQ(why_not(s), "proved");
  s.chunks = 3;
  EXPECT_EQ(why_not(s), "gather of 4 members has a multiple of 4 chunks");
  Schedule wide;
  wide.collective = Collective::kAlltoall;
  wide.members = kMaxAlltoallMembers + 1;
  wide.chunks = kMaxScheduleChunks;
  EXPECT_EQ(why_not(wide), "alltoall of 257 members has a multiple of 66049 chunks");
}

TEST(Collectives, AnExscanAsksNothingOfMemberZero) {
  Schedule s = direct(Collective::kExscan, 4, 0);
  EXPECT_EQ(why_not(s, kProduct), "proved");
  EXPECT_EQ(result_expression(s, 3), "((0+1)+2)");
  fold(s.stages.back(), 3, 0, 0, Side::kRight);
  EXPECT_EQ(why_not(s, kProduct), "proved");
}

TEST(Collectives, OneValueAtTwoMembersOfAScanIsJudgedForEach) {
  Schedule s = direct(Collective::kScan, 2, 0);
  s.stages[1].transfers[0].action = Action::kCopy;
  EXPECT_EQ(why_not(s), "member 1 lacks the contribution of member 1");
}

TEST(Collectives, ScansOfFloatingPointNumbersNeedNoCommonTree) {
  Schedule s = direct(Collective::kScan, 4, 0);
  EXPECT_EQ(why_not(s, kFloatSum), "proved");
}

TEST(Collectives, OneMessageOfSeveralChunksIsOneHazard) {
  const Schedule s = direct(Collective::kGather, 3, 0, 4);
  EXPECT_EQ(s.transfer_count(), 8u);
  const std::vector<Hazard> hazards = reuse_hazards(s, 1, true);
  ASSERT_EQ(hazards.size(), 2u);
  EXPECT_EQ(hazards[0].transfer, 0);
  EXPECT_EQ(hazards[1].transfer, 4);
}

}  // namespace
}  // namespace fermata
