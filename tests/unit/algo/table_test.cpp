// The table's names, and what its entries say of themselves.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "algo/algorithm.hpp"

namespace fermata {
namespace {

TEST(Table, NamesAreUniqueAndSourced) {
  std::set<std::string> names;
  for (const Algorithm& a : algorithms()) {
    EXPECT_TRUE(names.insert(a.name).second) << a.name;
    EXPECT_GT(std::string(a.source).size(), 10u) << a.name;
    EXPECT_EQ(find_algorithm(a.name), &a);
    int collectives = 0;
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      const Request request{.collective = static_cast<Collective>(collective), .members = 4, .degree = 3};
      if (!a.applicable(request)) continue;
      ++collectives;
      EXPECT_EQ(a.build(request).algorithm, std::string(a.name) + (a.has_degree ? "(3)" : ""));
    }
    EXPECT_GT(collectives, 0) << a.name;
  }
  EXPECT_EQ(find_algorithm("nothing"), nullptr);
}

// A file of src/algo that defines an entry and has no line in the table would be dead code.
TEST(Table, HasEveryFileThatDefinesAnEntry) {
  std::set<std::string> defined, listed;
  for (const auto& file : std::filesystem::directory_iterator(FERMATA_SOURCE_DIR "/src/algo")) {
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const std::string stem = file.path().stem().string();
    if (text.find("\nAlgorithm " + stem + "() {") != std::string::npos) defined.insert(stem);
  }
  for (const Algorithm& a : algorithms()) listed.insert(a.name);
  EXPECT_EQ(defined, listed);
}

// A null function is the answer for most algorithms, so one that always says the same is not needed.
TEST(Table, WhatAnAlgorithmSaysOfItselfDependsOnTheSize) {
  for (const Algorithm& a : algorithms()) {
    std::set<Folding> foldings;
    bool skips = false, builds = false;
    for (int members = 2; members <= 1024; members += members < 70 ? 1 : 53) {
      const Request request{.collective = Collective::kAllreduce, .members = members, .degree = 3};
      if (a.folding != nullptr) foldings.insert(a.folding(request));
      (skipped(a, request) == nullptr ? builds : skips) = true;
    }
    EXPECT_EQ(foldings.size() > 1, a.folding != nullptr) << a.name;
    EXPECT_TRUE(builds) << a.name;
    EXPECT_EQ(skips, a.skip != nullptr) << a.name;
  }
}

TEST(Table, ServesOperatorsAsItFolds) {
  constexpr OpTraits kFloatSum = traits_of(Op::kSum, Type::kDouble), kSum = traits_of(Op::kSum, Type::kInt64),
                     kMax = traits_of(Op::kMax, Type::kInt64);
  const auto served = [&](const char* name, int members, int degree = 2) {
    const Request request{.collective = Collective::kAllreduce, .members = members, .degree = degree};
    std::string all;
    if (serves(*find_algorithm(name), request, kFloatSum)) all += "float sum ";
    if (serves(*find_algorithm(name), request, kSum)) all += "sum ";
    if (serves(*find_algorithm(name), request, kMax)) all += "max";
    return all;
  };
  EXPECT_EQ(served("linear", 5), "float sum sum max");
  EXPECT_EQ(served("dissemination", 2), "float sum sum max");
  EXPECT_EQ(served("dissemination", 8), "sum max");
  EXPECT_EQ(served("dissemination", 9), "max");
  EXPECT_EQ(served("n_way_dissemination", 9), "sum max");
  EXPECT_EQ(served("n_way_dissemination", 8), "max");
  EXPECT_EQ(served("redundant_butterfly", 8), "float sum sum max");
  EXPECT_EQ(served("redundant_butterfly", 9), "max");
  EXPECT_TRUE(serves(*find_algorithm("dissemination"), {.members = 9}, kFloatSum))
      << "a barrier folds nothing";
}

TEST(Table, ParsesSpelledNames) {
  const auto kary = parse_algorithm("kary(4)");
  ASSERT_TRUE(kary.ok());
  EXPECT_STREQ(kary->algorithm->name, "kary");
  EXPECT_EQ(kary->degree, 4);
  EXPECT_EQ(parse_algorithm("kary")->degree, 2);
  EXPECT_EQ(parse_algorithm("kary(1)")->degree, 1);
  EXPECT_TRUE(parse_algorithm("linear").ok());
  EXPECT_EQ(parse_algorithm("string").error().status, Status::kNotFound);
  EXPECT_NE(parse_algorithm("string").error().message.find("combining_tree(k)"), std::string::npos);
  for (const char* bad : {"kary(", "kary()", "kary(0)", "kary(-1)", "kary(4", "kary(4) ", "kary(4x)",
                          "kary(99999999999)", "linear(2)", "combining_tree(1)"}) {
    ASSERT_FALSE(parse_algorithm(bad).ok()) << bad;
    EXPECT_EQ(parse_algorithm(bad).error().status, Status::kParse) << bad;
  }
}

TEST(Table, OneMemberNeedsNothing) {
  for (const Algorithm& a : algorithms()) {
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      const Request request{.collective = static_cast<Collective>(collective), .members = 1};
      if (!a.applicable(request)) continue;
      const Schedule s = a.build(request);
      EXPECT_EQ(s.transfer_count(), 0u) << a.name;
      EXPECT_TRUE(s.words.empty()) << a.name;
    }
  }
}

TEST(Table, WhatCannotBeIsNotApplicable) {
  const auto can = [](const char* name, Request request) {
    return find_algorithm(name)->applicable(request);
  };
  EXPECT_FALSE(can("butterfly", {.members = 6}));
  EXPECT_TRUE(can("butterfly", {.members = 8}));
  EXPECT_FALSE(can("dissemination", {.collective = Collective::kBroadcast, .members = 4}));
  EXPECT_FALSE(can("dissemination", {.half = Half::kArrive, .members = 4}));
  EXPECT_FALSE(can("counter", {.collective = Collective::kAllreduce, .members = 4}));
  EXPECT_TRUE(can("counter", {.half = Half::kRelease, .members = 4}));
  EXPECT_FALSE(can("sense_reversing", {.half = Half::kArrive, .members = 4}));
  EXPECT_FALSE(can("linear", {.collective = Collective::kBroadcast, .half = Half::kArrive, .members = 4}));
  EXPECT_FALSE(can("linear", {.collective = Collective::kReduce, .half = Half::kRelease, .members = 4}));
  EXPECT_FALSE(can("linear", {.collective = Collective::kReduce, .members = 4, .root = 4}));
  EXPECT_FALSE(can("linear", {.members = 0}));
}

TEST(Table, WhatShouldNotBeBuiltIsStillPossible) {
  const auto skips = [](const char* name, Request request) {
    const Algorithm& algorithm = *find_algorithm(name);
    EXPECT_TRUE(algorithm.applicable(request)) << name;
    return skipped(algorithm, request) != nullptr;
  };
  EXPECT_FALSE(skips("complete", {.members = 512}));
  EXPECT_TRUE(skips("complete", {.members = 513}));
  EXPECT_FALSE(skips("complete", {.collective = Collective::kAllgather, .members = 513}))
      << "of blocks it is the direct way";
  EXPECT_TRUE(skips("redundant_butterfly", {.members = 16}));
  EXPECT_FALSE(skips("redundant_butterfly", {.members = 15}));
  // 16 members: 4 stages with one signal, 3 with two, 2 with three or more, 1 with fifteen.
  for (int degree = 1; degree <= 15; ++degree) {
    EXPECT_EQ(skips("n_way_dissemination", {.members = 16, .degree = degree}), degree != 2 && degree != 3)
        << degree;
  }
}

}  // namespace
}  // namespace fermata
