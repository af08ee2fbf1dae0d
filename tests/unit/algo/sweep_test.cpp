// An entry that says something wrong of its algorithm is refused.
#include "algo/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace fermata {
namespace algo {
Algorithm pairs();
}
namespace {

// Wrong verdicts of the rows that `fermata verify --all` prints, as text; empty if there are none.
std::string wrong(const Algorithm& algorithm) {
  std::string text = sweep(algorithm, 2, {2, 3, 4, 5, 6, 7, 8, 9}).first_wrong;
  for (const BreakRow& row : broken_schedules({&algorithm, 1})) text += row.first_wrong;
  return text;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// The odd ranks signal member 0, too, which hears of them from the even ones.
Schedule with_needless_signals(const Request& request) {
  Schedule s = algo::pairs().build(request);
  if (s.collective != Collective::kBarrier || s.members < 4) return s;
  for (std::int32_t odd = 3; odd < s.members; odd += 2)
    s.stages[1].transfers.push_back({.from = odd, .to = 0});
  return s;
}

TEST(WrongEntry, TheExampleIsRight) { EXPECT_EQ(wrong(algo::pairs()), ""); }

TEST(WrongEntry, ThatHidesThatItIsMinimal) {
  Algorithm a = algo::pairs();
  a.minimal = false;
  EXPECT_EQ(wrong(a), "pairs: every signal is needed, so it is minimal");
}

TEST(WrongEntry, ThatIsNotMinimal) {
  Algorithm a = algo::pairs();
  a.build = with_needless_signals;
  EXPECT_TRUE(has(wrong(a), "pairs barrier P=4 root=0, stage 0")) << wrong(a);
  a.minimal = false;
  EXPECT_EQ(wrong(a), "");
}

TEST(WrongEntry, ThatFoldsBetterThanItSays) {
  Algorithm a = algo::pairs();
  for (const auto folding :
       {+[](const Request&) { return Folding::kRepeated; }, +[](const Request&) { return Folding::kOnce; }}) {
    a.folding = folding;
    EXPECT_FALSE(wrong(a).empty());
  }
}

TEST(WrongEntry, ThatFoldsWorseThanItSays) {
  int refused = 0;
  for (Algorithm a : algorithms()) {
    const Request request{.collective = Collective::kAllreduce, .members = 7};
    if (a.folding == nullptr || !a.applicable(request)) continue;
    a.folding = nullptr;
    EXPECT_FALSE(wrong(a).empty()) << a.name;
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

TEST(WrongEntry, ThatCanLessThanItSays) {
  Algorithm a = algo::pairs();
  a.applicable = [](const Request& r) { return r.collective == Collective::kAlltoall; };
  EXPECT_FALSE(wrong(a).empty());
}

}  // namespace
}  // namespace fermata
