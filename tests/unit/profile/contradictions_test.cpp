// Profiles that contradict the declared topology.
#include <gtest/gtest.h>

#include "costs.hpp"
#include "profile/measure.hpp"

namespace fermata {
namespace {

using test::with_costs;

TEST(Contradictions, NoneWhereCostsFollowTheTopology) {
  const Profile p = with_costs("pack:2 l3:1 core:4 pu:1",
                               [](const Cpu& a, const Cpu& b) { return a.l3 == b.l3 ? 50 : 150; });
  EXPECT_TRUE(contradictions(p).empty());
}

TEST(Contradictions, NearAndFarInOneDeclaredDomain) {
  const Profile p = with_costs("pack:1 l3:1 core:4 pu:1", [](const Cpu& a, const Cpu& b) {
    return a.core / 2 == b.core / 2 ? 58 : 220;
  });
  const auto remarks = contradictions(p);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("Fermata uses the measured costs"), std::string::npos);
}

TEST(Contradictions, AllAlikeAlthoughSeveralDomainsAreDeclared) {
  const Profile p = with_costs("pack:2 l3:1 core:2 pu:1", [](const Cpu&, const Cpu&) { return 60; });
  const auto remarks = contradictions(p);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("measure alike"), std::string::npos);
}

TEST(Contradictions, AFartherLevelThatIsNearer) {
  const Profile p = with_costs("pack:2 l3:1 core:2 pu:1",
                               [](const Cpu& a, const Cpu& b) { return a.l3 == b.l3 ? 120 : 60; });
  ASSERT_EQ(contradictions(p).size(), 1u);
}

TEST(Contradictions, AVirtualMachinesSharedCacheThatIsFar) {
  Profile p = with_costs("pack:1 l3:1 core:2 pu:1", [](const Cpu&, const Cpu&) { return 220; });
  EXPECT_TRUE(contradictions(p).empty());
  p.topology.virtual_machine = true;
  EXPECT_EQ(contradictions(p).size(), 1u);
}

}  // namespace
}  // namespace fermata
