// The facts that members share, plans of blocks, and their files.
#include "plan/block_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "../../own_folder.hpp"
#include "base/text.hpp"
#include "plan/choose_blocks.hpp"
#include "schedule/verify.hpp"
#include "slower_by.hpp"

namespace fermata {
namespace {

constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};

Topology machine() { return *topology_from_regular({.hosts = 2, .packages = 2, .cores = 4}); }

PlanKey key_of(const Topology& topology, Collective collective, std::int32_t members) {
  PlanKey key;
  key.fingerprint = fingerprint(topology);
  key.collective = collective;
  key.members = members;
  key.cpus = place(topology, members, Placement::kCore);
  return key;
}

BlockKnowledge unpacked(const std::vector<std::byte>& packed, std::int32_t members) {
  BlockKnowledge out;
  EXPECT_TRUE(unpack(packed, members, &out));
  return out;
}

TEST(BlockModel, SurvivesPacking) {
  const Topology t = machine();
  const CostModel model = cost_model(estimate_profile(t), t, key_of(t, Collective::kBroadcast, 12));
  const std::vector<KnownChoice> choices = {
      {hash_of("ring*8"), static_cast<std::uint8_t>(Collective::kAllreduce), 16}};
  const BlockKnowledge known = unpacked(pack(model, choices), 12);
  EXPECT_EQ(known.choices, choices);
  EXPECT_EQ(known.model.bytes, model.bytes);
  EXPECT_EQ(known.model.switch_ns, model.switch_ns);
  for (std::size_t i = 0; i < model.o.size(); ++i) {  // there are few levels
    EXPECT_DOUBLE_EQ(known.model.o[i], model.o[i]);
    EXPECT_DOUBLE_EQ(known.model.l[i], model.l[i]);
    EXPECT_DOUBLE_EQ(known.model.g[i], model.g[i]);
    EXPECT_DOUBLE_EQ(known.model.direct[i], model.direct[i]);
  }
  ASSERT_NE(known.find(Collective::kAllreduce, 65536), nullptr);
  EXPECT_EQ(known.find(Collective::kAllreduce, 32768), nullptr);
  EXPECT_EQ(known.find(Collective::kAllgather, 65536), nullptr);
}

TEST(BlockModel, ManyDifferentPairsBecomeClasses) {
  constexpr std::int32_t kMembers = 40;
  CostModel model;
  model.members = kMembers;
  for (std::int32_t i = 0; i < kMembers; ++i) {
    for (std::int32_t j = 0; j < kMembers; ++j) {
      model.o.push_back(i == j ? 0 : 50 + (i * 37 + j * 11) % 97);
      model.l.push_back(i == j ? 0 : 10);
      model.g.push_back(0.1 + 0.01 * ((i + j) % 9));
      model.direct.push_back(0.05 + 0.02 * ((i * j) % 5));
    }
  }
  const std::vector<std::byte> packed = pack(model, {});
  EXPECT_LT(packed.size(), 40u * 40u + 256u * 32u + 512u);
  const BlockKnowledge known = unpacked(packed, kMembers);
  for (std::size_t i = 0; i < model.o.size(); ++i) {
    EXPECT_NEAR(known.model.o[i], model.o[i], 0.5 * (model.o[i] + model.l[i]));
    EXPECT_NEAR(known.model.direct[i], model.direct[i], 0.5 * model.direct[i]);
  }
}

TEST(BlockModel, WhatIsNoneIsRefused) {
  const Topology t = machine();
  const std::vector<std::byte> good =
      pack(cost_model(estimate_profile(t), t, key_of(t, Collective::kBroadcast, 4)), {{1, 2, 3}});
  BlockKnowledge out;
  EXPECT_TRUE(unpack(good, 4, &out));
  EXPECT_FALSE(unpack(good, 5, &out));
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(unpack(std::span(good).first(n), 4, &out)) << n;
  std::vector<std::byte> bad = good;
  // The last bytes are the classes of the 16 pairs. A value is accepted up to the largest class, and refused
  // beyond.
  const int most = std::to_integer<int>(*std::max_element(good.end() - 16, good.end()));
  for (int number = 0; number <= 255; ++number) {
    bad.back() = static_cast<std::byte>(number);
    EXPECT_EQ(unpack(bad, 4, &out), number <= most) << number;
  }
  bad = good;
  bad[0] = std::byte{0};
  EXPECT_FALSE(unpack(bad, 4, &out));
}

// With such distances, clusters would be divided forever.
TEST(BlockModel, DistancesBelowZeroAreRefused) {
  const Topology t = machine();
  const CostModel model = cost_model(estimate_profile(t), t, key_of(t, Collective::kBroadcast, 4));
  BlockKnowledge out;
  for (auto costs : {&CostModel::o, &CostModel::l, &CostModel::g, &CostModel::direct}) {
    CostModel below = model;
    for (double& cost : below.*costs) cost = -1e6;
    EXPECT_FALSE(unpack(pack(below, {}), 4, &out));
  }
  EXPECT_FALSE(unpack(pack(model, {{1, 2, 64}}), 4, &out));
}

// Each member chooses for itself from the same bytes.
TEST(BlockModel, AllMembersChooseAlikeAndAsWasMeasured) {
  const Topology t = machine();
  const CostModel model = cost_model(estimate_profile(t), t, key_of(t, Collective::kBroadcast, 8));
  for (int k = 1; k < kCollectiveCount; ++k) {
    const auto collective = static_cast<Collective>(k);
    const BlockCase wanted{.collective = collective,
                           .members = 8,
                           .root = 0,
                           .bytes = 65536,
                           .irregular = false,
                           .op = kFloatSum};
    const BlockChooser chooser(wanted, &model);
    ASSERT_GT(chooser.ranked().size(), 1u);
    for (std::size_t i = 0; i < chooser.ranked().size(); i += 7) {
      const BlockCandidate& c = chooser.ranked()[i];
      if (!verify(chooser.build(c), kFloatSum)) continue;
      const std::vector<std::byte> packed =
          pack(model, {{hash_of(c.name), static_cast<std::uint8_t>(collective), 16}});
      const BlockKnowledge a = unpacked(packed, 8), b = unpacked(packed, 8);
      const Schedule chosen = choose_blocks(wanted, &a.model, a.find(collective, 65536)->name);
      EXPECT_EQ(chosen, choose_blocks(wanted, &b.model, b.find(collective, 65536)->name));
      EXPECT_EQ(chosen.algorithm, c.name);
    }
    // A saved name that does not exist any more: all choose the predicted best.
    EXPECT_EQ(choose_blocks(wanted, &model, hash_of("no such")), choose_blocks(wanted, &model));
  }
}

BlockPlans some_plans() {
  BlockPlans p;
  p.fingerprint = "0123456789abcdef";
  p.engine = Engine::kProcesses;
  p.members = 2;
  p.cpus = {0, 1};
  p.plans.push_back(
      {Collective::kAllreduce,
       65536,
       "measured",
       "2024-01-02T03:04:05Z",
       {{"recursive_halving*4", 8000.5, 9000.25, "chosen"}, {"ring \"x\"", 8100, 0, "predicted 1% slower"}}});
  p.plans.push_back({Collective::kAlltoall, 1, "estimated", "", {{"pairwise", 100, 0, "chosen"}}});
  return p;
}

TEST(BlockPlanFile, RoundTripsAndRefuses) {
  const std::string good = to_json(some_plans());
  const auto back = block_plans_from_json(good);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, some_plans());
  const auto complaint = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const auto read = block_plans_from_json(text.replace(at, from.size(), to));
    return read.ok() ? "accepted" : read.error().message;
  };
  EXPECT_NE(complaint("\"version\": 1", "\"version\": 2").find("version 1"), std::string::npos);
  EXPECT_NE(complaint("\"allreduce\"", "\"barrier\"").find("'collective' names none"), std::string::npos);
  EXPECT_NE(complaint("\"bytes\": 65536", "\"bytes\": 65535").find("power of two"), std::string::npos);
  EXPECT_NE(complaint("\"measured\"", "\"guessed\"").find("'origin'"), std::string::npos);
  EXPECT_NE(complaint("\"measured\"", "\"simulated\"").find("'origin'"), std::string::npos);
  EXPECT_NE(complaint("[0, 1]", "[0]").find("a CPU for each member"), std::string::npos);
  EXPECT_NE(complaint("[0, 1]", "[0, 1.5]").find("CPU's number"), std::string::npos);
  EXPECT_NE(complaint("\"members\": 2", "\"members\": 0").find("'members'"), std::string::npos);
  EXPECT_NE(
      complaint("\"alltoall\", \"bytes\": 1,", "\"allreduce\", \"bytes\": 65536,").find("a second plan"),
      std::string::npos);
  EXPECT_NE(complaint("\"name\": \"pairwise\"", "\"nom\": \"pairwise\"").find("unknown key"),
            std::string::npos);
  for (std::size_t n = 0; n + 2 < good.size(); n += FERMATA_TEST_SCALE)
    EXPECT_FALSE(block_plans_from_json(std::string_view(good).substr(0, n)).ok()) << n;
}

TEST(BlockCosts, WithoutBytesOnlyWhatTellsPairsApartCounts) {
  const Topology near = *topology_from_regular({.hosts = 1, .packages = 1, .cores = 4});
  const auto costs = [](const Topology& t, bool bytes) {
    Profile p = estimate_profile(t);
    if (bytes) p.g = p.l;
    return block_costs(p, t, key_of(t, Collective::kBroadcast, 4));
  };
  EXPECT_EQ(costs(near, false).o, flat_model(4).o);
  EXPECT_EQ(costs(near, false).bytes, flat_model(4).bytes);
  EXPECT_NE(costs(near, true).bytes, flat_model(4).bytes);
  const Topology two = *topology_from_regular({.hosts = 1, .packages = 2, .cores = 2});
  EXPECT_NE(costs(two, false).o, flat_model(4).o);
}

// Eight members on two CPUs: each wait costs a context switch for every member of the CPU.
TEST(BlockCosts, WithoutAProfileFewestWaitsWinWhereMembersShareCpus) {
  const Topology two = *topology_from_regular({.hosts = 1, .packages = 1, .cores = 2});
  const Topology eight = *topology_from_regular({.hosts = 1, .packages = 1, .cores = 8});
  for (const Collective collective : {Collective::kAllgather, Collective::kAlltoall}) {
    const BlockCase wanted{
        .collective = collective, .members = 8, .root = 0, .bytes = 8, .irregular = false, .op = {}};
    const auto chosen = [&](const Topology& t) {
      PlanKey key = key_of(t, collective, 8);
      // no pair is nearer than another
      key.cpus.clear();
      // the members' copy of the model
      const BlockKnowledge known = unpacked(pack(block_costs(estimate_profile(t), t, key), {}), 8);
      return choose_blocks(wanted, &known.model);
    };
    EXPECT_EQ(chosen(two).algorithm, "complete") << name_of(collective);
    EXPECT_EQ(chosen(two).stages.size(), 1u) << name_of(collective);
    EXPECT_NE(chosen(eight).algorithm, "complete") << name_of(collective);
  }
}

BlockPlanOptions options_for(const Topology& t, Collective collective, std::int32_t members,
                             std::size_t bytes) {
  BlockPlanOptions o;
  o.key = key_of(t, collective, members);
  o.bytes = bytes;
  return o;
}

TEST(BlockPlan, PredictedBestFirst) {
  const Topology t = machine();
  for (int k = 1; k < kCollectiveCount; ++k) {
    const auto plan =
        make_block_plan(t, estimate_profile(t), options_for(t, static_cast<Collective>(k), 8, 1000), nullptr);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->bytes, 1024u);
    EXPECT_EQ(plan->origin, "estimated");
    ASSERT_GT(plan->candidates.size(), 1u);
    EXPECT_EQ(plan->candidates.front().verdict, "chosen");
    // Where calls overlap, a shorter path counts a quarter more.
    const double worth = has_root(plan->collective) ? 1.25 : 1;
    for (const Candidate& e : plan->candidates)
      if (e.verdict.starts_with("predicted")) {
        EXPECT_GE(worth * e.predicted_ns, plan->candidates.front().predicted_ns);
        const double ratio = e.predicted_ns / plan->candidates.front().predicted_ns;
        if (ratio >= 1.005) {
          EXPECT_EQ(e.verdict, slower_by("predicted", ratio));
        }
      }
    const std::string text = explain(*plan, key_of(t, plan->collective, 8));
    for (const std::string& shown :
         {plan->candidates.front().algorithm, std::string("up to 1024 bytes"), std::string("not yet")})
      EXPECT_NE(text.find(shown), std::string::npos) << text;
    EXPECT_EQ(text.find(" 0 ns"), std::string::npos)
        << "a time that was not measured is printed as 0: " << text;
  }
}

TEST(BlockPlan, TimesAreShownInTheUnitThatSuitsThem) {
  const Topology t = machine();
  auto plan =
      make_block_plan(t, estimate_profile(t), options_for(t, Collective::kAllreduce, 8, 1000), nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  Candidate& chosen = plan->candidates.front();
  const auto shown = [&](double ns) {
    chosen.predicted_ns = ns;
    const std::string text = explain(*plan, key_of(t, plan->collective, 8));
    const std::size_t at = text.find("predicted  ") + 11;
    return text.substr(at, text.find(" from", at) - at);
  };
  EXPECT_EQ(shown(0), "-");
  EXPECT_EQ(shown(1), "1 ns");
  EXPECT_EQ(shown(9999), "9999 ns");
  EXPECT_EQ(shown(10000), "10.0 us");
  EXPECT_EQ(shown(1e7), "10.0 ms");
}

TEST(BlockPlan, TheMeasuredFastestWins) {
  const Topology t = machine();
  BlockPlanOptions o = options_for(t, Collective::kAllreduce, 8, 65536);
  o.measure_best = 5;
  o.rounds = 3;
  std::vector<std::string> timed;
  const auto backwards = [&](const Schedule& s, const PlanKey&, std::size_t bytes, int) -> Result<double> {
    EXPECT_EQ(bytes, 65536u);
    if (timed.size() == 1) {
      timed.push_back(s.algorithm);
      return Error{Status::kTimeout, "took too long"};
    }
    if (std::find(timed.begin(), timed.end(), s.algorithm) == timed.end()) timed.push_back(s.algorithm);
    return 1000.0 - 10 * static_cast<double>(timed.size()) - (s.algorithm == timed.back() ? 500 : 0);
  };
  const auto plan = make_block_plan(t, estimate_profile(t), o, backwards);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(timed.size(), 5u);
  EXPECT_EQ(plan->origin, "measured");
  EXPECT_EQ(plan->candidates.front().algorithm, timed.back());
  EXPECT_GT(plan->candidates.front().measured_ns, 0);
  int failed = 0, slower = 0;
  for (const Candidate& e : plan->candidates) {
    failed += e.verdict == "not timed: took too long";
    slower += e.verdict.starts_with("measured");
  }
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(slower, 3);
}

TEST(BlockPlan, WhatMovesNoBlocksIsRefused) {
  const Topology t = machine();
  EXPECT_EQ(make_block_plan(t, estimate_profile(t), options_for(t, Collective::kBarrier, 4, 8), nullptr)
                .error()
                .status,
            Status::kUnsupported);
  BlockPlanOptions o = options_for(t, Collective::kAlltoall, 4, 8);
  o.key.members = 257;
  EXPECT_EQ(make_block_plan(t, estimate_profile(t), o, nullptr).error().status, Status::kUnsupported);
  o.key.collective = Collective::kBroadcast;
  // the machine has CPUs for 4
  EXPECT_EQ(make_block_plan(t, estimate_profile(t), o, nullptr).error().status, Status::kArgument);
  o = options_for(t, Collective::kBroadcast, 4, SIZE_MAX / 4 + 1);
  const auto too_large = make_block_plan(t, estimate_profile(t), o, nullptr);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().message, "blocks are too large");
}

TEST(BlockPlanFile, IsKeptBesideTheOthersOfItsTeam) {
  const test::OwnCache cache;
  const PlanKey key = key_of(machine(), Collective::kBarrier, 4);
  EXPECT_EQ(load_block_plans(key).error().status, Status::kNotFound);
  EXPECT_TRUE(known_choices(key).empty());
  BlockPlan plan{Collective::kAllgather, 4096, "measured", "", {{"ring", 10, 20, "chosen"}}};
  ASSERT_TRUE(save_block_plan(key, plan).ok());
  plan.bytes = 64;
  plan.origin = "predicted";
  ASSERT_TRUE(save_block_plan(key, plan).ok());
  plan.candidates[0].algorithm = "bruck";
  ASSERT_TRUE(save_block_plan(key, plan).ok());
  const auto kept = load_block_plans(key);
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  ASSERT_EQ(kept->plans.size(), 2u);
  EXPECT_EQ(kept->plans[0].candidates[0].algorithm, "bruck");
  const std::vector<KnownChoice> known = known_choices(key);  // predictions are not kept
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].name, hash_of("ring"));
  PlanKey other = key;
  other.cpus.clear();
  EXPECT_EQ(load_block_plans(other).error().status, Status::kNotFound);
}

}  // namespace
}  // namespace fermata
