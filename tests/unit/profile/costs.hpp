// Profiles with costs that a test makes up.
#ifndef FERMATA_TESTS_UNIT_PROFILE_COSTS_HPP
#define FERMATA_TESTS_UNIT_PROFILE_COSTS_HPP

#include <functional>
#include <string>

#include "profile/profile.hpp"

namespace fermata::test {

// A profile of the synthetic machine `spec`. The cost is O; L is 1 ns.
inline Profile with_costs(const std::string& spec,
                          const std::function<double(const Cpu&, const Cpu&)>& cost) {
  Profile p = estimate_profile(*topology_from_synthetic(spec));
  for (std::int32_t i = 0; i < p.o.n; ++i)
    for (std::int32_t j = 0; j < p.o.n; ++j)
      p.o.at(i, j) =
          cost(p.topology.cpus[static_cast<std::size_t>(i)], p.topology.cpus[static_cast<std::size_t>(j)]),
                p.l.at(i, j) = 1;
  return p;
}

}  // namespace fermata::test
#endif
