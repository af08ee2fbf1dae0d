// For tests of the search: machines, what is searched for, and what holds of every plan that it finds.
#ifndef FERMATA_TESTS_UNIT_PLAN_SEARCH_HPP
#define FERMATA_TESTS_UNIT_PLAN_SEARCH_HPP

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/line_search.hpp"

namespace fermata::test {

inline Topology machine(const RegularShape& shape) {
  auto topology = topology_from_regular(shape);
  EXPECT_TRUE(topology.ok());
  return *topology;
}

inline PlanOptions options_for(const Topology& topology, Collective collective, std::int32_t members,
                               std::int32_t payload = 0) {
  PlanOptions o;
  o.key.collective = collective;
  o.key.members = members;
  o.key.payload = collective == Collective::kBarrier ? payload : std::max(8, payload);
  o.key.cpus = place(topology, members, Placement::kCore);
  return o;
}

inline void expect_sound(const Plan& plan) {
  EXPECT_EQ(prove(plan), "");
  const auto program = compile_lines(plan);
  EXPECT_TRUE(program.ok()) << program.error().message;
  EXPECT_FALSE(plan.candidates.empty());
  EXPECT_EQ(plan.candidates.front().verdict, "chosen");
  EXPECT_EQ(plan.levels.ranks.size(), static_cast<std::size_t>(plan.key.members));
}

}  // namespace fermata::test
#endif
