// Refreshes the profile of a team over hosts while the team runs (heterogeneous-mpi-barriers, section VIII).
// It derives costs from observations and decides whether other plans are worth a change. It measures nothing
// and has no threads: src/team/refresher.cpp passes observations and times.
#ifndef FERMATA_PLAN_REFRESH_HPP
#define FERMATA_PLAN_REFRESH_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "profile/profile.hpp"

namespace fermata {

struct LinkChange {
  std::int32_t a = 0, b = 0;  // hosts
  double before_ns = 0, now_ns = 0;
};

// In ns of the same clock.
struct RefreshTimes {
  double age = 0;       // since the team's first refresh
  double planning = 0;  // how long all plans took, when they were last made
  double change = 0;    // how long the last change to other plans took; before the first change, a guess
};

struct Judgement {
  // The plans to change to: one for each kind with a known plan, the better of the present and the new one.
  // Empty: the current plans stay.
  std::vector<std::optional<Plan>> plans;
  bool planned = false;  // judge() has made new plans, whatever it then decided
  bool again = false;    // the next refresh should come soon
  std::string why;       // empty: there was nothing to judge
};

class Refresh {
 public:
  // profile: the one from which the team's plans were made; its rows are the team's ranks, sorted by host.
  // running: the current plan of each kind of call. A kind without a known plan is neither judged nor
  // changed.
  Refresh(Profile profile, std::vector<std::optional<Plan>> running);

  // one_way: half of the observed round trips between hosts (hosts x hosts, ns, 0: not observed). A link
  // keeps its cost until an observation differs from it by a factor of 1.25; then it takes the observed cost.
  // Costs are not blended: observations are robust, and a mean of the old and the new cost would be wrong for
  // both. Links are symmetric, as in the paper.
  std::vector<LinkChange> observe(const Matrix& one_way);
  // uses: episodes of each kind's plan so far. judge() assumes that as many will follow, since it knows
  // nothing else about the program. It returns plans only if the judgement before found, too, that a change
  // pays.
  Judgement judge(const std::vector<double>& uses, const RefreshTimes& times);
  // The change could not be made, so the next refresh judges again.
  void reopen() { open_ = sure_ = true; }
  // Call it when these plans have replaced the running ones.
  void adopt(std::vector<std::optional<Plan>> plans) { running_ = std::move(plans); }

  const Profile& profile() const { return profile_; }
  std::int32_t hosts() const { return hosts_; }
  std::string name_of(std::int32_t host) const;
  double predicted_ns(const Plan& plan) const;

 private:
  template <class F>
  void for_each_link(F&& each_pair);

  Profile profile_;
  std::int32_t hosts_ = 0;
  std::vector<std::optional<Plan>> running_;
  Matrix link_;        // O between hosts, as in the profile
  bool open_ = false;  // there is something to judge: costs have changed, or a change did not pay yet
  bool sure_ = false;  // the last judgement found that a change pays
};

// Writes the changes into the newest cached profile of an MPI job on these hosts. Returns its path. Errors:
// kNotFound if there is none or the hosts' names are not known; those of save_profile() (profile/store.hpp).
Result<std::string> keep_links(const Refresh& refresh, const std::vector<LinkChange>& changes);

}  // namespace fermata
#endif
