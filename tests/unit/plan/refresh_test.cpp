// The effect of observed links on a team's profile, and when other plans are worth a change.
#include "plan/refresh.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "../../own_folder.hpp"
#include "plan/hosts.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

constexpr double kNear = 200e3, kFar = 2e6;
const std::vector<std::int32_t> kHosts = {0, 0, 1, 1, 2, 2, 3, 3};

Profile flat(double ns) {
  Profile profile = profile_of_hosts(topology_of_hosts(kHosts));
  const auto& cpus = profile.topology.cpus;
  for (std::int32_t i = 0; i < profile.o.n; ++i)
    for (std::int32_t j = 0; j < profile.o.n; ++j)
      if (cpus[static_cast<std::size_t>(i)].host != cpus[static_cast<std::size_t>(j)].host)
        profile.o.at(i, j) = ns;
  return profile;
}

// A team that runs a barrier's plan, and allreduces of an unknown plan.
Refresh running(const Profile& profile) {
  PlanOptions options;
  options.key.members = profile.o.n;
  options.key.hosts = kHosts;
  options.key.cpus.resize(kHosts.size());
  std::iota(options.key.cpus.begin(), options.key.cpus.end(), 0);
  auto plan = make_plan(profile.topology, profile, options, nullptr);
  EXPECT_TRUE(plan) << plan.error().message;
  return Refresh(profile, {*plan, std::nullopt});
}

Matrix links(double all, double between_1_and_2) {
  Matrix m(4);
  for (double& ns : m.v) ns = all;
  m.at(1, 2) = m.at(2, 1) = between_1_and_2;
  return m;
}

constexpr RefreshTimes kLongAgo{.age = 10e9, .planning = 1e6, .change = 10e6};
const std::vector<double> kMany = {1000, 1000};

TEST(PlanRefresh, ALinkKeepsItsCostUntilItDiffersByAQuarter) {
  Refresh refresh = running(flat(kNear));
  EXPECT_TRUE(refresh.observe(links(kNear, 1.2 * kNear)).empty());
  EXPECT_TRUE(refresh.observe(links(kNear, kNear / 1.2)).empty());
  EXPECT_TRUE(refresh.observe(links(0, 0)).empty()) << "nothing was seen";
  EXPECT_TRUE(refresh.judge(kMany, kLongAgo).why.empty()) << "there is nothing to judge";
  const auto changes = refresh.observe(links(kNear, kFar));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].a, 1);
  EXPECT_EQ(changes[0].b, 2);
  EXPECT_NEAR(changes[0].before_ns, kNear, 1);
  EXPECT_EQ(changes[0].now_ns, kFar);
  const Profile& profile = refresh.profile();
  for (std::int32_t i = 0; i < 8; ++i)
    for (std::int32_t j = 0; j < 8; ++j) {
      if (i / 2 == j / 2) continue;
      const bool slow = i / 2 + j / 2 == 3 && i / 2 != 0 && j / 2 != 0;
      EXPECT_EQ(profile.o.at(i, j), slow ? kFar : kNear) << i << " to " << j;
    }
  EXPECT_TRUE(refresh.observe(links(kNear, kFar)).empty()) << "it has that cost now";
  EXPECT_EQ(refresh.observe(links(kNear, kNear)).size(), 1u);
}

TEST(PlanRefresh, OtherPlansAreChangedToWhenTheyPayTwice) {
  Refresh refresh = running(flat(kNear));
  refresh.observe(links(kNear, kFar));
  const Judgement first = refresh.judge(kMany, kLongAgo);
  EXPECT_TRUE(first.plans.empty()) << first.why;
  EXPECT_TRUE(first.planned && first.again) << first.why;
  const Judgement second = refresh.judge(kMany, kLongAgo);
  ASSERT_EQ(second.plans.size(), 2u) << second.why;
  ASSERT_TRUE(second.plans[0]);
  EXPECT_FALSE(second.plans[1]) << "what isn't known stays";
  EXPECT_EQ(prove(*second.plans[0]), "");
  EXPECT_LT(refresh.predicted_ns(*second.plans[0]), kFar / 2);
  refresh.adopt(second.plans);
  EXPECT_TRUE(refresh.judge(kMany, kLongAgo).why.empty());
  // The links become fast again.
  refresh.observe(links(kNear, kNear));
  EXPECT_TRUE(refresh.judge(kMany, kLongAgo).again);
  const Judgement back = refresh.judge(kMany, kLongAgo);
  ASSERT_FALSE(back.plans.empty()) << back.why;
  EXPECT_LT(refresh.predicted_ns(*back.plans[0]), 1.5 * kNear);
}

TEST(PlanRefresh, WhatShowsOnceIsNoReason) {
  Refresh refresh = running(flat(kNear));
  for (int i = 0; i < 5; ++i) {
    refresh.observe(links(kNear, kFar));
    EXPECT_TRUE(refresh.judge(kMany, kLongAgo).plans.empty());
    refresh.observe(links(kNear, kNear));
    EXPECT_TRUE(refresh.judge(kMany, kLongAgo).plans.empty());
  }
}

TEST(PlanRefresh, AllLinksSlowerAreNoReason) {
  Refresh refresh = running(flat(kNear));
  EXPECT_EQ(refresh.observe(links(kFar, kFar)).size(), 6u);
  const Judgement judged = refresh.judge(kMany, kLongAgo);
  EXPECT_TRUE(judged.planned && judged.plans.empty() && !judged.again) << judged.why;
  EXPECT_TRUE(refresh.judge(kMany, kLongAgo).why.empty()) << "it is not looked at again";
}

// A change saves 1.6 ms in each episode. It must cost less than it saves in as many episodes as the team has
// run.
TEST(PlanRefresh, AChangeMustPayForItself) {
  Refresh refresh = running(flat(kNear));
  refresh.observe(links(kNear, kFar));
  for (int i = 0; i < 3; ++i) {
    const Judgement judged = refresh.judge({5, 5}, kLongAgo);
    EXPECT_TRUE(judged.planned && judged.plans.empty() && !judged.again) << judged.why;
    EXPECT_NE(judged.why.find("saves"), std::string::npos) << judged.why;
  }
  EXPECT_TRUE(refresh.judge({50, 0}, kLongAgo).again) << "it may pay later";
  EXPECT_FALSE(refresh.judge({50, 0}, kLongAgo).plans.empty());
  // Planning has a limited share of the time, too.
  Refresh young = running(flat(kNear));
  young.observe(links(kNear, kFar));
  EXPECT_FALSE(young.judge(kMany, {.age = 10e6, .planning = 1e6, .change = 10e6}).planned);
  EXPECT_TRUE(young.judge(kMany, {.age = 100e6, .planning = 1e6, .change = 10e6}).planned);
}

// Changed links go into the job's profile in the cache, by the hosts' names, not by their numbers in the
// team.
TEST(PlanRefresh, ChangedLinksAreKeptWhereTheProfileCameFrom) {
  const test::OwnCache cache;
  Profile job = flat(kNear);
  job.hosts = {"a", "b", "c", "d"};
  job.pinned.assign(8, -1);
  job.fingerprint = fingerprint(job.topology);
  const auto path = save_profile(job);
  ASSERT_TRUE(path) << path.error().message;
  const Allocation team{.hosts = {0, 0, 1}, .names = {"c", "b"}, .pinned = {}};
  auto part = profile_of(team, topology_of(team), job);
  ASSERT_TRUE(part) << part.error().message;
  part->hosts = team.names;
  Refresh refresh(*part, {});
  Matrix observed(2);
  observed.at(0, 1) = observed.at(1, 0) = kFar;
  const auto changes = refresh.observe(observed);
  ASSERT_EQ(changes.size(), 1u);
  const auto kept = keep_links(refresh, changes);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(*kept, *path);
  part->hosts.clear();  // it may be any job's
  EXPECT_FALSE(keep_links(Refresh(*part, {}), changes));
  const auto read = load_job_profile({"a", "b", "c", "d"});
  ASSERT_TRUE(read) << read.error().message;
  for (std::int32_t i = 0; i < 8; ++i)
    for (std::int32_t j = 0; j < 8; ++j) {
      const bool changed = (i / 2 == 1 && j / 2 == 2) || (i / 2 == 2 && j / 2 == 1);
      if (i / 2 != j / 2) {
        EXPECT_EQ(read->o.at(i, j), changed ? kFar : kNear) << i << " to " << j;
      }
    }
}

}  // namespace
}  // namespace fermata
