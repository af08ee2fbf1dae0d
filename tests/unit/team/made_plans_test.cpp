// A process searches once for the programs of a key, an algorithm and a profile, and then reuses them.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "../../own_folder.hpp"
#include "plan/hosts.hpp"
#include "plan/plan.hpp"
#include "team/machine.hpp"

namespace fermata::test {
namespace {

using Program = std::vector<std::byte>;

PlanKey key_of(Collective collective, std::int32_t members, std::int32_t payload,
               Engine engine = Engine::kThreads) {
  PlanKey key;
  key.fingerprint = fingerprint(**team::this_machine());
  key.collective = collective;
  key.members = members;
  key.payload = payload;
  key.engine = engine;
  return key;
}

Program asked_for(const PlanKey& key, const Topology& topology, const std::shared_ptr<const Profile>& profile,
                  const char* algorithm = "") {
  auto program = team::program_for(key, topology, profile, algorithm);
  EXPECT_TRUE(program) << program.error().message;
  return program ? *program : Program();
}
Program asked_for(const PlanKey& key, const char* algorithm = "") {
  return asked_for(key, **team::this_machine(), nullptr, algorithm);
}

Program searched(const PlanKey& key, const Topology& topology, const Profile& profile,
                 const char* algorithm = "") {
  PlanOptions options;
  options.key = key;
  options.algorithm = algorithm;
  const auto plan = make_plan(topology, profile, options, nullptr);
  EXPECT_TRUE(plan);
  const auto program = compile_lines(*plan);
  EXPECT_TRUE(program);
  return *program;
}
Program searched(const PlanKey& key, const char* algorithm = "") {
  return searched(key, **team::this_machine(), team::this_profile(key.engine), algorithm);
}

TEST(MadePlans, AreWhatASearchFinds) {
  const OwnCache cache;
  std::vector<PlanKey> keys;
  for (const std::int32_t members : {2, 3, 8, 16})
    for (const Engine engine : {Engine::kThreads, Engine::kProcesses})
      for (const Collective collective :
           {Collective::kBarrier, Collective::kAllreduce, Collective::kReduce, Collective::kBroadcast})
        for (const std::int32_t payload : {8, 56})
          if (collective != Collective::kBarrier || payload == 8)
            keys.push_back(key_of(collective, members, payload, engine));
  std::vector<Program> programs;
  for (const PlanKey& key : keys) programs.push_back(asked_for(key));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(asked_for(keys[i]), programs[i]);
    EXPECT_EQ(searched(keys[i]), programs[i]);
  }
}

TEST(MadePlans, OfAnAlgorithmAreThatAlgorithms) {
  const OwnCache cache;
  const PlanKey key = key_of(Collective::kAllreduce, 5, 8);
  for (int again = 0; again < 2; ++again)
    for (const char* algorithm : {"", "linear", "extended_butterfly"})
      EXPECT_EQ(asked_for(key, algorithm), searched(key, algorithm));
  EXPECT_NE(asked_for(key, "linear"), asked_for(key, "extended_butterfly"));
}

TEST(MadePlans, GiveWayToASavedOne) {
  const OwnCache cache;
  const PlanKey key = key_of(Collective::kBarrier, 7, 0);
  const Program made = asked_for(key);
  PlanOptions options;
  options.key = key;
  options.algorithm = "linear";
  const auto other = make_plan(**team::this_machine(), team::this_profile(key.engine), options, nullptr);
  ASSERT_TRUE(other);
  const auto path = save_plan(*other);
  ASSERT_TRUE(path);
  EXPECT_EQ(asked_for(key), *compile_lines(*other));
  EXPECT_NE(asked_for(key), made);
  ASSERT_EQ(std::remove(path->c_str()), 0);
  EXPECT_EQ(asked_for(key), made);
}

// Ranks on two hosts with two profiles: in the second one memory is the slow part.
struct TwoHosts {
  PlanKey key;
  Topology topology;
  Profile profile, other;

  explicit TwoHosts(std::int32_t members = 8) {
    key.collective = Collective::kBarrier;
    key.members = members;
    for (std::int32_t rank = 0; rank < members; ++rank) key.hosts.push_back(rank * 2 / members);
    key.cpus.resize(key.hosts.size());
    std::iota(key.cpus.begin(), key.cpus.end(), 0);
    topology = topology_of_hosts(key.hosts);
    other = profile = profile_of_hosts(topology);
    for (std::int32_t i = 0; i < members; ++i)
      for (std::int32_t j = 0; j < members; ++j)
        if (i != j && key.hosts[static_cast<std::size_t>(i)] == key.hosts[static_cast<std::size_t>(j)]) {
          other.l.at(i, j) *= 1000;
          other.o.at(i, j) *= 1000;
        }
  }
};

TEST(MadePlans, OfAProfileAreThatProfiles) {
  const OwnCache cache;
  const TwoHosts hosts;
  const Program one = searched(hosts.key, hosts.topology, hosts.profile),
                another = searched(hosts.key, hosts.topology, hosts.other);
  ASSERT_NE(one, another);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(asked_for(hosts.key, hosts.topology, std::make_shared<const Profile>(hosts.profile)), one);
    EXPECT_EQ(asked_for(hosts.key, hosts.topology, std::make_shared<const Profile>(hosts.other)), another);
  }
}

// The test changes the profile in memory, which callers must not do, to tell a reused plan from a new search.
TEST(MadePlans, AreSearchedForOnceUntilManyOthersWere) {
  const OwnCache cache;
  const TwoHosts hosts(10);
  const auto profile = std::make_shared<Profile>(hosts.profile);
  const Program made = asked_for(hosts.key, hosts.topology, profile);
  *profile = hosts.other;
  const Program other = searched(hosts.key, hosts.topology, *profile);
  ASSERT_NE(other, made);
  EXPECT_EQ(asked_for(hosts.key, hosts.topology, profile), made);
  for (std::int32_t first = 0; first < 2000 && asked_for(hosts.key, hosts.topology, profile) == made;
       first += 100)
    for (std::int32_t cpu = first; cpu < first + 100; ++cpu) {
      PlanKey key = key_of(Collective::kBarrier, 1, 0);
      key.cpus = {cpu};
      asked_for(key, "linear");
    }
  EXPECT_EQ(asked_for(hosts.key, hosts.topology, profile), other);
}

TEST(MadePlans, MayBeAskedForByAllThreadsAtOnce) {
  const OwnCache cache;
  constexpr int kThreads = 4;
  std::vector<Program> got(kThreads);
  for (std::int32_t members = 17; members < 21; ++members) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back(
          [&, t] { got[static_cast<std::size_t>(t)] = asked_for(key_of(Collective::kBarrier, members, 0)); });
    for (std::thread& thread : threads) thread.join();
    for (const Program& one : got) EXPECT_EQ(one, got[0]);
  }
}

}  // namespace
}  // namespace fermata::test
