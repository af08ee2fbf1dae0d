#include "plan/refresh.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "profile/store.hpp"
#include "schedule/cost.hpp"

namespace fermata {
namespace {

constexpr double kDiffers = 1.25;        // factor from which a link's cost counts as changed
constexpr double kMostShare = 0.8;       // of the current plans' time; slower plans are not worth a change
constexpr double kPlanningShare = 0.05;  // largest share of RefreshTimes::age that planning may take

std::int32_t host_at(const Profile& profile, std::int32_t row) {
  return profile.topology.cpus[static_cast<std::size_t>(row)].host;
}

std::string in_ms(double ns) { return format("%.3g ms", ns * 1e-6); }

}  // namespace

Refresh::Refresh(Profile profile, std::vector<std::optional<Plan>> running)
    : profile_(std::move(profile)), running_(std::move(running)) {
  for (const Cpu& cpu : profile_.topology.cpus) hosts_ = std::max(hosts_, cpu.host + 1);
  link_ = Matrix(hosts_);
  Matrix pairs(hosts_);
  for_each_link([&](std::int32_t a, std::int32_t b, double& o) { link_.at(a, b) += o, ++pairs.at(a, b); });
  for (std::size_t k = 0; k < link_.v.size(); ++k)
    if (pairs.v[k] > 0) link_.v[k] /= pairs.v[k];
}

// Calls each_pair(host, host, O) for each pair of ranks on different hosts.
template <class F>
void Refresh::for_each_link(F&& each_pair) {
  for (std::int32_t i = 0; i < profile_.o.n; ++i)
    for (std::int32_t j = 0; j < profile_.o.n; ++j) {
      const std::int32_t a = host_at(profile_, i), b = host_at(profile_, j);
      if (a != b) each_pair(a, b, profile_.o.at(i, j));
    }
}

std::string Refresh::name_of(std::int32_t host) const {
  const auto at = static_cast<std::size_t>(host);
  return at < profile_.hosts.size() ? profile_.hosts[at] : "host " + std::to_string(host);
}

std::vector<LinkChange> Refresh::observe(const Matrix& one_way) {
  std::vector<LinkChange> changes;
  Matrix changed(hosts_);
  for (std::int32_t a = 0; a < hosts_; ++a)
    for (std::int32_t b = a + 1; b < hosts_; ++b) {
      const double now = one_way.at(a, b), before = link_.at(a, b);
      if (now <= 0 || now > kMaxNs || (now < kDiffers * before && kDiffers * now > before)) continue;
      link_.at(a, b) = link_.at(b, a) = changed.at(a, b) = changed.at(b, a) = now;
      changes.push_back({a, b, before, now});
    }
  if (!changes.empty()) {
    for_each_link([&](std::int32_t a, std::int32_t b, double& o) {
      if (changed.at(a, b) > 0) o = changed.at(a, b);
    });
    profile_.origin = "measured";
    open_ = true;
  }
  return changes;
}

double Refresh::predicted_ns(const Plan& plan) const {
  return latency_cost(plan.schedule, signal_model(profile_, profile_.topology, plan.key), plan.layout);
}

// Answers these questions in order: Is there a reason to plan, and the time? What would other plans save?
// Does the change pay, and did it also pay at the last refresh?
Judgement Refresh::judge(const std::vector<double>& uses, const RefreshTimes& times) {
  Judgement out;
  const bool was_sure = std::exchange(sure_, false);
  if (!open_) return out;
  if (times.planning > kPlanningShare * times.age) {
    out.why = "kept the plans: planning takes " + in_ms(times.planning) + ", too much so early";
    return out;
  }
  out.planned = true;
  double present = 0, other = 0;
  std::vector<std::optional<Plan>> plans(running_.size());
  for (std::size_t k = 0; k < running_.size(); ++k) {
    if (!running_[k]) continue;
    PlanOptions options;
    options.key = running_[k]->key;
    auto plan = make_plan(profile_.topology, profile_, options, nullptr);
    if (!plan) {
      out.why = "kept the plans: " + plan.error().message;
      return out;
    }
    const double now = predicted_ns(*running_[k]), then = predicted_ns(*plan);
    present += uses[k] * now;
    other += uses[k] * std::min(now, then);
    plans[k] = then < now ? std::move(*plan) : *running_[k];
  }
  const std::string share =
      format("other plans would take %.2f of the time", present > 0 ? other / present : 1);
  if (other > kMostShare * present) {
    open_ = false;
    out.why = "kept the plans: " + share;
  } else if (present - other < times.planning + times.change) {
    out.why = "kept the plans: " + share + ", which saves " + in_ms(present - other) + " and costs " +
              in_ms(times.planning + times.change);
  } else if (!was_sure) {
    sure_ = out.again = true;
    out.why = "kept the plans until the next refresh: " + share;
  } else {
    open_ = false;
    out.plans = std::move(plans);
    out.why = "changed the plans: " + share;
  }
  return out;
}

Result<std::string> keep_links(const Refresh& refresh, const std::vector<LinkChange>& changes) {
  if (refresh.profile().hosts.empty())
    return Error{Status::kNotFound, "the names of the team's hosts are not known"};
  auto job = load_job_profile(refresh.profile().hosts);
  if (!job) return job.error();
  const auto name_at = [&](std::int32_t row) {
    return job->hosts[static_cast<std::size_t>(host_at(*job, row))];
  };
  for (const LinkChange& link : changes)
    for (std::int32_t i = 0; i < job->o.n; ++i)
      for (std::int32_t j = 0; j < job->o.n; ++j) {
        if (name_at(i) != refresh.name_of(link.a) || name_at(j) != refresh.name_of(link.b)) continue;
        job->o.at(i, j) = job->o.at(j, i) = link.now_ns;
      }
  return save_profile(*job);
}

}  // namespace fermata
