// Profiles of MPI jobs: measured over simulated links, saved, and found by hosts.
#include "profile/job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <numeric>
#include <thread>

#include "../../own_folder.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

// Threads act as processes, and formulas give the times of links. One way from host a to host b takes
// `late(a, b)`, a byte 0.5 ns, and each further signal 3000 ns. When pairs ask for nine long messages a
// second time, a byte takes `shared` times as long.
class PretendedJob {
 public:
  PretendedJob(std::vector<std::int32_t> hosts, std::vector<std::int32_t> pinned)
      : hosts_(std::move(hosts)),
        pinned_(std::move(pinned)),
        together_(static_cast<std::ptrdiff_t>(hosts_.size())) {}

  std::vector<Result<Profile>> measure(const JobOptions& options, const MeasureHost& memory) {
    const std::size_t n = hosts_.size();
    std::vector<Result<Profile>> out(n, Error{Status::kSystem, "not run"});
    RegularShape shape;
    shape.cores = 4;
    const Topology machine = *topology_from_regular(shape);
    std::vector<std::thread> workers;
    for (std::size_t p = 0; p < n; ++p)
      workers.emplace_back(
          [&, p] { out[p] = measure_job(job(static_cast<std::int32_t>(p)), machine, options, memory); });
    for (std::thread& t : workers) t.join();
    return out;
  }
  int messages_of(std::int32_t a, std::int32_t b) const {
    return asked_[static_cast<std::size_t>(a) * hosts_.size() + static_cast<std::size_t>(b)];
  }

  // The time that all messages would have taken.
  double asked_seconds() const { return std::accumulate(asked_ns_.begin(), asked_ns_.end(), 0.0) * 1e-9; }

  static double late(std::int32_t a, std::int32_t b) { return 100000 + 1000 * (a + b); }
  double further = 3000, shared = 1;
  bool breaks = false;

 private:
  Job job(std::int32_t rank) {
    Job j;
    j.rank = rank;
    j.hosts = hosts_;
    j.pinned = pinned_;
    j.names = {"one", "two", "three", "four", "five"};
    j.names.resize(static_cast<std::size_t>(*std::max_element(hosts_.begin(), hosts_.end())) + 1);
    j.gather = [this, rank](const void* mine, std::size_t bytes, void* all) {
      together_.arrive_and_wait();
      if (rank == 0) pool_.assign(bytes * hosts_.size(), 0);
      together_.arrive_and_wait();
      std::memcpy(pool_.data() + bytes * static_cast<std::size_t>(rank), mine, bytes);
      together_.arrive_and_wait();
      std::memcpy(all, pool_.data(), pool_.size());
      together_.arrive_and_wait();
      return true;
    };
    j.time = [this, rank](int a, int b, std::size_t bytes, int signals, int repeats) -> double {
      const bool again = repeats == 9 && ++long_ones_[static_cast<std::size_t>(rank)] > 1;
      if (rank == a) ++asked_[static_cast<std::size_t>(a) * hosts_.size() + static_cast<std::size_t>(b)];
      if (breaks) return -1;
      if (a == b) return 70;
      const double way = late(hosts_[static_cast<std::size_t>(a)], hosts_[static_cast<std::size_t>(b)]);
      const double ns = signals == 0 ? way + 0.5 * static_cast<double>(bytes) * (again ? shared : 1)
                                     : 2 * way + further * signals;
      if (rank == a) asked_ns_[static_cast<std::size_t>(rank)] += (signals == 0 ? 2 : 1) * (repeats + 1) * ns;
      return ns;
    };
    j.rest = [this] { together_.arrive_and_wait(); };
    return j;
  }

  const std::vector<std::int32_t> hosts_, pinned_;
  std::barrier<> together_;
  std::vector<char> pool_;
  std::vector<double> asked_ns_ = std::vector<double>(hosts_.size());  // counted at the first of each pair
  std::vector<int> asked_ = std::vector<int>(hosts_.size() * hosts_.size()),
                   long_ones_ = std::vector<int>(hosts_.size());
};

// CPUs 0 and 1 are near each other.
Result<Profile> memory_of(const Topology& topology, const ProfileOptions& options) {
  EXPECT_TRUE(options.processes);
  Profile p = estimate_profile(topology);
  p.origin = "measured";
  p.engine = "processes";
  p.date = "2026-01-31T12:00:00Z";
  for (std::int32_t i = 0; i < p.o.n; ++i)
    for (std::int32_t j = 0; j < p.o.n; ++j) {
      const std::int32_t a = topology.cpus[static_cast<std::size_t>(i)].os_index,
                         b = topology.cpus[static_cast<std::size_t>(j)].os_index;
      p.o.at(i, j) = i == j ? 5 : a / 2 == b / 2 ? 20 : 60;
      p.l.at(i, j) = i == j ? 1 : 10;
    }
  p.awaited_ns = 12.5;
  return p;
}

const std::vector<std::int32_t> kHosts = {0, 1, 2, 0, 1, 2, 0}, kPinned = {0, 1, -1, 1, 3, -1, 2};

TEST(JobProfile, HasMessagesBetweenHostsAndMemoryWithin) {
  PretendedJob job(kHosts, kPinned);
  const auto all = job.measure({}, memory_of);
  for (const auto& one : all) {
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(*one, *all[0]) << "all processes get the same";
  }
  const Profile& p = *all[0];
  EXPECT_EQ(p.hosts, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(p.pinned, kPinned);
  EXPECT_EQ(p.awaited_ns, 12.5);
  EXPECT_EQ(p.date, "2026-01-31T12:00:00Z") << "one process's date";
  for (int a = 0; a < 7; ++a)
    for (int b = 0; b < 7; ++b) {
      const auto host = [](int process) { return kHosts[static_cast<std::size_t>(process)]; };
      if (host(a) != host(b)) {
        EXPECT_NEAR(p.o.at(a, b), PretendedJob::late(host(a), host(b)), 10) << a << ", " << b;
        EXPECT_NEAR(p.l.at(a, b), 3000, 1) << a << ", " << b;
        EXPECT_NEAR(p.g.at(a, b), 0.5, 0.01) << a << ", " << b;
        EXPECT_GT(job.messages_of(std::min(a, b), std::max(a, b)), 0);
      }
      if (a == b) {
        EXPECT_EQ(p.o.at(a, a), 70);
      }
    }
  EXPECT_EQ(p.o.at(0, 3), 20) << "CPUs 0 and 1";
  EXPECT_EQ(p.o.at(0, 6), 60) << "CPUs 0 and 2";
  EXPECT_EQ(p.o.at(1, 4), 60) << "CPUs 1 and 3";
  EXPECT_EQ(p.o.at(2, 5), 60) << "unpinned processes have the cost of most pairs";
  EXPECT_EQ(p.l.at(0, 3), 10);
}

// Two pairs of four hosts (the fifth has no partner) send at the same time: how much longer does each take?
TEST(JobProfile, SaysWhatASharedNetworkGives) {
  for (const double shared : {1.0, 1.1, 1.8}) {
    PretendedJob job({0, 1, 2, 3, 4, 0}, std::vector<std::int32_t>(6, -1));
    job.shared = shared;
    const auto all = job.measure({}, memory_of);
    ASSERT_TRUE(all[0]) << all[0].error().message;
    if (shared < 1.2) {
      EXPECT_TRUE(all[0]->domains.empty()) << "each pair has its own";
      continue;
    }
    ASSERT_EQ(all[0]->domains.size(), 1u);
    EXPECT_EQ(all[0]->domains[0].level, Level::kNetwork);
    EXPECT_EQ(all[0]->domains[0].cpus, 6);
    EXPECT_NEAR(all[0]->domains[0].byte_ns, 0.5 * 1.8 / 2, 0.01);
    EXPECT_EQ(profile_from_json(to_json(*all[5]))->domains, all[0]->domains);
  }
}

TEST(JobProfile, ASampleIsReplicated) {
  PretendedJob job(kHosts, kPinned);
  JobOptions options;
  options.sample = true;
  const auto all = job.measure(options, memory_of);
  ASSERT_TRUE(all[0]) << all[0].error().message;
  EXPECT_NEAR(all[0]->o.at(3, 4), PretendedJob::late(0, 1), 10);
  EXPECT_GT(job.messages_of(0, 1), 0);
  EXPECT_EQ(job.messages_of(3, 4), 0) << "processes 0 and 1 stand for them";
}

// Counts the time of the requested messages and memory accesses, not the real time: these links take 0.1 ms
// each way.
TEST(JobProfile, AsksForNoMoreThanItsTimeHolds) {
  constexpr double kLeastOfAPair = 0.02;
  for (const double seconds : {0.01, 0.1, 0.5, 100.0}) {
    PretendedJob job(kHosts, kPinned);
    JobOptions options;
    options.seconds = seconds;
    std::atomic<int> memories{0};
    const auto all = job.measure(options, [&](const Topology& topology, const ProfileOptions& how) {
      ++memories;
      EXPECT_NEAR(how.seconds, 0.3 * seconds / 3, 1e-9) << "three hosts in turn, on one machine";
      EXPECT_LT(how.seconds_per_pair, how.seconds);
      return memory_of(topology, how);
    });
    EXPECT_EQ(memories, 3);
    ASSERT_TRUE(all[0]) << all[0].error().message;
    EXPECT_LT(job.asked_seconds(), 0.9 * seconds + kLeastOfAPair) << seconds;
    EXPECT_GT(job.messages_of(0, 1), 0) << "one pair in any case";
    const Profile& p = *all[0];
    int measured = 0;
    for (int a = 0; a < 7; ++a)
      for (int b = a + 1; b < 7; ++b) {
        if (kHosts[static_cast<std::size_t>(a)] == kHosts[static_cast<std::size_t>(b)]) continue;
        if (job.messages_of(a, b) > 0) ++measured;
        EXPECT_GT(p.o.at(a, b), 90000) << a << ", " << b;
        EXPECT_EQ(p.o.at(a, b), p.o.at(b, a));
        if (job.messages_of(a, b) == 0) {
          const int x = kHosts[static_cast<std::size_t>(a)], y = kHosts[static_cast<std::size_t>(b)];
          const bool stood_for = job.messages_of(std::min(x, y), std::max(x, y)) > 0;
          EXPECT_TRUE(!stood_for || p.o.at(a, b) == p.o.at(x, y))
              << "processes 0 to 2 are their hosts' first";
        }
      }
    const bool left_out =
        p.remarks.size() == 1 && p.remarks[0].find("of 16 pairs of processes") != std::string::npos;
    EXPECT_EQ(left_out, measured < 16) << seconds;
    EXPECT_TRUE(seconds < 100 || measured == 16) << measured;
    EXPECT_TRUE(seconds > 0.2 || measured < 16) << measured;
  }
}

TEST(JobProfile, WhatFailsFailsEverywhere) {
  PretendedJob mute(kHosts, kPinned);
  mute.breaks = true;
  for (const auto& one : mute.measure({}, memory_of)) EXPECT_FALSE(one);
  PretendedJob job(kHosts, kPinned);
  const MeasureHost fails = [](const Topology&, const ProfileOptions&) {
    return Error{Status::kSystem, "no"};
  };
  for (const auto& one : job.measure({}, fails)) EXPECT_FALSE(one);
}

TEST(JobProfile, IsFoundByItsHosts) {
  test::OwnCache cache;
  PretendedJob job(kHosts, kPinned);
  Profile p = *job.measure({}, memory_of)[0];
  const auto read = profile_from_json(to_json(p));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, p);
  EXPECT_EQ(load_job_profile({"one"}).error().status, Status::kNotFound);
  const auto path = save_profile(p);
  ASSERT_TRUE(path) << path.error().message;
  ASSERT_TRUE(load_job_profile({"three", "one"}));
  EXPECT_EQ(*load_job_profile({"three", "one"}), p);
  EXPECT_FALSE(load_job_profile({"one", "four"}));
  p.hosts[2] = "four";
  p.fingerprint[0] = p.fingerprint[0] == '0' ? '1' : '0';
  ASSERT_TRUE(save_profile(p));
  EXPECT_EQ(load_job_profile({"one", "four"})->hosts[2], "four");
  EXPECT_EQ(load_job_profile({"one", "three"})->hosts[2], "three");
}

TEST(JobProfile, ABadOneIsRefused) {
  PretendedJob job(kHosts, kPinned);
  const std::string good = to_json(*job.measure({}, memory_of)[0]);
  const auto without = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return profile_from_json(text.replace(at, from.size(), to));
  };
  EXPECT_FALSE(without("\"version\": 5", "\"version\": 4"));
  EXPECT_FALSE(without(",\n    \"three\"", ""));
  EXPECT_FALSE(without("\"three\"", "3"));
  EXPECT_FALSE(without("\"pinned\": [\n    0,", "\"pinned\": ["));
  EXPECT_FALSE(without("\"pinned\": [\n    0,", "\"pinned\": [\n    0.5,"));
}

}  // namespace
}  // namespace fermata
