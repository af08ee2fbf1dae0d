#include "profile/statistics.hpp"

#include <gtest/gtest.h>

#include <random>

namespace fermata {
namespace {

const std::vector<double> kSignals = {1, 2, 4, 8, 16, 32};

TEST(Statistics, MedianOfOddEvenAndNone) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
}

TEST(Statistics, RegressionRecoversOAndL) {
  std::vector<double> y;
  for (const double k : kSignals) y.push_back(90 + 12.5 * k);
  const LineFit fit = fit_line(kSignals, y);
  EXPECT_NEAR(fit.intercept, 90, 1e-9);
  EXPECT_NEAR(fit.slope, 12.5, 1e-9);
}

TEST(Statistics, RegressionSurvivesNoise) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> noise(0.95, 1.05);
  std::vector<double> y;
  for (const double k : kSignals) {
    std::vector<double> samples;
    for (int r = 0; r < 101; ++r) samples.push_back((90 + 12.5 * k) * noise(random) + (r % 7 == 0 ? 1e5 : 0));
    y.push_back(median(samples));
  }
  const LineFit fit = fit_line(kSignals, y);
  EXPECT_NEAR(fit.intercept, 90, 9);
  EXPECT_NEAR(fit.slope, 12.5, 1);
}

TEST(Statistics, NoPartIsNegative) {
  const LineFit falling = fit_line({1, 2, 4}, {10, 8, 5});
  EXPECT_EQ(falling.slope, 0);
  EXPECT_GT(falling.intercept, 0);
  const LineFit steep = fit_line({1, 2, 4}, {1, 4, 16});
  EXPECT_EQ(steep.intercept, 0);
  EXPECT_GT(steep.slope, 0);
  EXPECT_EQ(fit_line({}, {}).slope, 0);
  EXPECT_EQ(fit_line({3, 3}, {5, 5}).intercept, 5);
}

TEST(Statistics, WhatCostsSomethingIsNotFree) {
  EXPECT_EQ(unit_cost(0.5, 1000, 800), 0.5);
  EXPECT_EQ(unit_cost(0, 1000, 800), 0.8);
  EXPECT_EQ(unit_cost(-0.5, 1000, 800), 0.8);
}

}  // namespace
}  // namespace fermata
