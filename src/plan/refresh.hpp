// The profile of a team over hosts as it is refreshed while the team runs (heterogeneous-mpi-barriers, section VIII): what was observed
// becomes costs, and other plans are worth a change or not. No clock, no threads: src/api/refresh.cpp brings observations and times.
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

// What planning and the way to other plans take, and how long the team has run: times of the same clock, ns.
struct RefreshTimes {
  double age = 0;
  double planning = 0;  // of all plans, the last time
  double change = 0;    // to others, likewise, or a guess
};

struct Judgement {
  std::vector<std::optional<Plan>> plans;  // to change to; none: those that run stay
  bool planned = false;
  bool again = false;  // the next refresh is to come soon
  std::string why;     // empty: there was nothing to judge
};

class Refresh {
 public:
  // The profile that the team's plans were made by, its rows the team's ranks; of each kind of call the plan that it runs. Of kinds whose
  // plan isn't known nothing is judged, or changed.
  Refresh(Profile profile, std::vector<std::optional<Plan>> running);

  // Half of the round trips that were observed between hosts (hosts x hosts, ns, 0: none). A link keeps its cost until it is observed to
  // differ by a quarter; then it has the observed one, whole: what is handed in is robust, and a blend would be right for neither. The
  // paper's links are symmetric.
  std::vector<LinkChange> observe(const Matrix& one_way);
  // uses: episodes of each kind's plan so far, which is also what is expected to come: nothing else is known of a program.
  Judgement judge(const std::vector<double>& uses, const RefreshTimes& times);
  // What was judged could not be: it is judged again.
  void reopen() { open_ = sure_ = true; }
  // Those are what runs from now on.
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
  Matrix link_;        // O between hosts, as they are in the profile
  bool open_ = false;  // costs have changed since other plans were looked for, or didn't pay yet
  bool sure_ = false;  // the last judgement found that they pay, too
};

// Into the newest profile of an MPI job in the cache that has these hosts. Returns its path. Errors: kNotFound: none has.
Result<std::string> keep_links(const Refresh& refresh, const std::vector<LinkChange>& changes);

}  // namespace fermata
#endif
