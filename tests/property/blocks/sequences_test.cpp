// Random sequences of calls of the C ABI, compared with a model of it. FERMATA_TEST_SEQUENCES=N runs N
// sequences for each engine and number of members instead of a few; FERMATA_TEST_SEED=S begins with sequence
// S. A failure names its sequence.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sequence.hpp"

namespace fermata::test {
namespace {

constexpr int kSteps = 60;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class Sequences : public ::testing::TestWithParam<int> {};

TEST_P(Sequences, OfRandomCallsFollowTheModel) {
  const std::uint64_t first = number_from("FERMATA_TEST_SEED", 1);
  const std::uint64_t count = number_from("FERMATA_TEST_SEQUENCES", FERMATA_TEST_SCALE > 1 ? 3 : 12);
  long ran = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    for (const int members : {1, 2, 3, 5}) {
      const TeamCase test{members, GetParam(), static_cast<int>(seed % 4)};
      const auto body = [&](Seat& seat) { Sequence(seat, seed).run(kSteps); };
      ASSERT_EQ(run_team(test, body, &ran), "") << describe(test) << " FERMATA_TEST_SEED=" << seed;
    }
  }
  EXPECT_GE(ran, static_cast<long>(count) * kSteps * 5);
}

INSTANTIATE_TEST_SUITE_P(Engines, Sequences, ::testing::ValuesIn(engines()),
                         [](const auto& of) { return name_of_engine(of.param); });

}  // namespace
}  // namespace fermata::test
