// O and L of a placement, from a profile. For src/plan only.
#ifndef FERMATA_PLAN_SIGNAL_COSTS_HPP
#define FERMATA_PLAN_SIGNAL_COSTS_HPP

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "plan/plan.hpp"

namespace fermata {

std::int32_t rows_of(const Profile& profile);  // the rows whose CPUs the profile names

// Finds the profile's rows by the OS index of their CPUs.
class SignalRows {
 public:
  SignalRows(const Profile& profile, const Topology& topology);

  std::int32_t row(std::int32_t cpu) const {  // -1: the profile lacks it
    const auto at = row_.find(cpu);
    return at == row_.end() ? -1 : at->second;
  }
  // What two members cost whose CPUs have these OS indices and rows.
  LinkCost between(std::int32_t cpu_a, std::int32_t row_a, std::int32_t cpu_b, std::int32_t row_b) const;
  double idle(std::int32_t row) const;  // a stage without a signal; row -1: typical
  const LinkCost& typical() const;      // the median pair

 private:
  LinkCost guess(std::int32_t a, std::int32_t b) const;

  const Profile& profile_;
  const Topology& topology_;
  std::map<std::int32_t, std::int32_t> row_;
  // Only for members or CPUs without rows, so they are found when they are asked for.
  mutable std::optional<LinkCost> typical_;
  mutable std::optional<double> idle_;
  mutable std::optional<std::array<LinkCost, kLevelCount>> levels_;
};

// Fills the matrices O and L.
void fill_signals(CostModel& model, const Profile& profile, const Topology& topology, const PlanKey& key);

// O and L in groups; empty: they are not known to fall into groups, or the team is small. They do
// - if no member has a CPU: all pairs cost the same
// - if the profile has costs by level of all CPUs
// - if the profile's pairs cost the same wherever the topology says that they are alike, as in files of
//   published machines
GroupedCosts grouped_costs(const Profile& profile, const Topology& topology, const PlanKey& key);

}  // namespace fermata
#endif
