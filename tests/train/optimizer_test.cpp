// tests/train/optimizer_test.cpp - names, limits, and the rate at the corners of its schedule.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sluice::train::optimizer_test {
namespace {

using ::testing::HasSubstr;

TEST(Optimizer, NamesAreReadBack) {
  for (const OptimizerKind kind : {OptimizerKind::lamb, OptimizerKind::adamw}) {
    const auto parsed = parse_optimizer(to_string(kind));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, kind);
  }
  const auto unknown = parse_optimizer("sgd\n");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::usage);
  EXPECT_THAT(unknown.error().message, HasSubstr("lamb and adamw are accepted"));
  EXPECT_EQ(unknown.error().message.find('\n'), std::string::npos);
}

TEST(Optimizer, RefusesWhatCannotWork) {
  EXPECT_TRUE(check_optimizer({}));
  const auto refused = [](auto change, const char* named) {
    OptimizerConfig config;
    change(config);
    const Status status = check_optimizer(config);
    ASSERT_FALSE(status) << named;
    EXPECT_EQ(status.error().code, Errc::usage);
    EXPECT_THAT(status.error().message, HasSubstr(named));
  };
  refused([](auto& c) { c.learning_rate = -1; }, "learning rate -1");
  refused([](auto& c) { c.learning_rate = std::nan(""); }, "learning rate");
  refused([](auto& c) { c.weight_decay = -0.5; }, "weight decay -0.5");
  refused([](auto& c) { c.beta1 = 1; }, "beta1 1");
  refused([](auto& c) { c.beta2 = -0.1; }, "beta2 -0.1");
  refused([](auto& c) { c.epsilon = 0; }, "epsilon 0");
  refused([](auto& c) { c.max_gradient_norm = -1; }, "norm -1");
  refused([](auto& c) { c.average_decay = 1; }, "average 1");
  refused(
      [](auto& c) {
        c.warmup_steps = 11;
        c.total_steps = 10;
      },
      "11 steps of warm-up");
}

TEST(Schedule, Corners) {
  OptimizerConfig config;
  config.learning_rate = 4e-3;
  EXPECT_EQ(learning_rate_at(config, 0), 4e-3) << "neither warm-up nor end: constant";
  EXPECT_EQ(learning_rate_at(config, 1'000'000), 4e-3);

  config.warmup_steps = 3125;
  config.total_steps = 500'000;
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 0), 4e-11);
  EXPECT_NEAR(learning_rate_at(config, 1), 4e-3 * (1e-8 + (1 - 1e-8) / 3125), 1e-18);
  EXPECT_LT(learning_rate_at(config, 3124), 4e-3);
  EXPECT_EQ(learning_rate_at(config, 3125), 4e-3) << "the warm-up ends at the whole rate";
  EXPECT_NEAR(learning_rate_at(config, 3125 + 496'875 / 3), 4e-3 * 0.75, 1e-15);
  EXPECT_NEAR(learning_rate_at(config, 499'999), 4e-3 * 0.5 * (1 - std::cos(M_PI / 496'875)),
              1e-18);
  EXPECT_GT(learning_rate_at(config, 499'999), 0);
  EXPECT_EQ(learning_rate_at(config, 500'000), 0);
  EXPECT_EQ(learning_rate_at(config, 600'000), 0);

  config.total_steps = 0;
  EXPECT_EQ(learning_rate_at(config, 10'000'000), 4e-3) << "no end: constant after the warm-up";
  config.total_steps = config.warmup_steps;
  EXPECT_EQ(learning_rate_at(config, 3125), 0) << "nothing after the warm-up";
}

}  // namespace
}  // namespace sluice::train::optimizer_test
