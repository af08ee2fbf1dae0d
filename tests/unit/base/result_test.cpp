// Result: a value or an error, and what callers may do with it.
#include "base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace fermata {
namespace {

Result<std::string> named(bool fails) {
  if (fails) return Error{Status::kNotFound, "no such name"};
  return std::string("name");
}

TEST(Result, HoldsAValueOrAnError) {
  const auto good = named(false);
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(*good, "name");
  EXPECT_EQ(good->size(), 4u);
  const auto bad = named(true);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().status, Status::kNotFound);
  EXPECT_EQ(bad.error().message, "no such name");
}

TEST(Result, TakesAnEmptyValueForAValue) {
  const Result<std::string> empty{std::string()};
  EXPECT_TRUE(empty.ok());
}

TEST(Result, GivesUpAValueThatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result{std::make_unique<int>(7)};
  const std::unique_ptr<int> taken = std::move(result).value();
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(*taken, 7);
  EXPECT_EQ(result.value(), nullptr);
}

}  // namespace
}  // namespace fermata
