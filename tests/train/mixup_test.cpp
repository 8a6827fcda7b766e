// tests/train/mixup_test.cpp - statistics over many draws, exactness of the mixing, refusals.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/mixup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace sluice::train::mixup_test {
namespace {

using Kind = MixupDraw::Kind;
using ::testing::HasSubstr;

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments beta_moments(double a, double b, int count) {
  Rng rng({.seed = 7, .stage = static_cast<std::uint32_t>(a * 100)});
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double x = draw_beta(rng, a, b);
    EXPECT_TRUE(x >= 0 && x <= 1) << x;
    sum += x;
    squares += x * x;
  }
  const double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

TEST(DrawBeta, mean_and_variance_are_those_of_the_distribution) {
  constexpr int kCount = 60'000;
  for (const auto& [a, b] : {std::pair{0.8, 0.8}, {1.0, 1.0}, {0.2, 0.2}, {2.0, 5.0}, {0.3, 3.0}}) {
    const Moments moments = beta_moments(a, b, kCount);
    const double variance = a * b / ((a + b) * (a + b) * (a + b + 1));
    EXPECT_NEAR(moments.mean, a / (a + b), 5 * std::sqrt(variance / kCount)) << a << ' ' << b;
    EXPECT_NEAR(moments.variance, variance, 0.03 * variance) << a << ' ' << b;
  }
}

TEST(DrawBeta, beta_1_1_is_uniform) {
  constexpr int kCount = 100'000;
  std::vector<int> bins(10);
  Rng rng({.seed = 1});
  for (int i = 0; i < kCount; ++i)
    ++bins[static_cast<std::size_t>(std::min(9.0, 10 * draw_beta(rng, 1, 1)))];
  double chi = 0;
  for (const int count : bins)
    chi += (count - kCount / 10.0) * (count - kCount / 10.0) / (kCount / 10.0);
  EXPECT_LT(chi, 33.7);  // 9 degrees of freedom, p 1e-4
}

TEST(DrawBeta, tiny_shapes_do_not_become_nan) {
  Rng rng({.seed = 3});
  for (int i = 0; i < 1000; ++i) {
    const double x = draw_beta(rng, 1e-3, 1e-3);
    EXPECT_TRUE(x >= 0 && x <= 1) << x;
  }
}

TEST(DrawMixup, shares_lambda_and_area) {
  const MixupConfig config;
  constexpr int kCount = 40'000;
  int cut = 0;
  double mixup_sum = 0;
  double area_sum = 0;
  for (int step = 0; step < kCount; ++step) {
    const MixupDraw draw = draw_mixup(config, 42, static_cast<std::uint64_t>(step), 0, 224, 224);
    ASSERT_NE(draw.kind, Kind::none);
    if (draw.kind == Kind::mixup) {
      mixup_sum += draw.lambda;
      EXPECT_EQ(draw.bottom, 0);
      continue;
    }
    ++cut;
    ASSERT_TRUE(0 <= draw.top && draw.top <= draw.bottom && draw.bottom <= 224);
    ASSERT_TRUE(0 <= draw.left && draw.left <= draw.right && draw.right <= 224);
    const int area = (draw.bottom - draw.top) * (draw.right - draw.left);
    ASSERT_DOUBLE_EQ(draw.lambda, 1 - area / (224.0 * 224.0));
    area_sum += draw.lambda;
  }
  EXPECT_NEAR(cut, kCount / 2, 5 * std::sqrt(kCount / 4.0));
  // Beta(.8, .8): mean 1/2, standard deviation 0.31 over about 20 000 draws.
  EXPECT_NEAR(mixup_sum / (kCount - cut), 0.5, 5 * 0.31 / std::sqrt(kCount / 2.0));
  // A box of side r = sqrt(1 - λ) keeps r - r²/4 of itself inside per axis, 1 - λ uniform:
  // 1 - E[(r - r²/4)²] = 1 - (1/2 - 1/5 + 1/48), and a little more for whole pixels.
  EXPECT_NEAR(area_sum / cut, 1 - (0.5 - 0.2 + 1.0 / 48), 0.012);
}

TEST(DrawMixup, depends_on_seed_step_and_micro_batch_alone) {
  const MixupConfig config;
  const auto lambda = [&](std::uint64_t seed, std::uint64_t step, std::uint64_t micro) {
    return draw_mixup(config, seed, step, micro, 32, 32).lambda;
  };
  EXPECT_EQ(lambda(1, 2, 3), lambda(1, 2, 3));
  EXPECT_NE(lambda(1, 2, 3), lambda(2, 2, 3));
  EXPECT_NE(lambda(1, 2, 3), lambda(1, 3, 3));
  EXPECT_NE(lambda(1, 2, 3), lambda(1, 2, 4));
}

TEST(DrawMixup, either_alone_and_neither) {
  for (std::uint64_t step = 0; step < 200; ++step) {
    EXPECT_EQ(draw_mixup({.cutmix_alpha = 0}, 1, step, 0, 8, 8).kind, Kind::mixup);
    EXPECT_EQ(draw_mixup({.mixup_alpha = 0}, 1, step, 0, 8, 8).kind, Kind::cutmix);
    EXPECT_EQ(draw_mixup({.mixup_alpha = 0, .cutmix_alpha = 0}, 1, step, 0, 8, 8).kind, Kind::none);
    EXPECT_EQ(draw_mixup({.probability = 0}, 1, step, 0, 8, 8).kind, Kind::none);
  }
  int mixed = 0;
  for (std::uint64_t step = 0; step < 4000; ++step)
    mixed += draw_mixup({.probability = 0.25}, 1, step, 0, 8, 8).kind != Kind::none ? 1 : 0;
  EXPECT_NEAR(mixed, 1000, 140);
}

TEST(CheckMixup, names_field_value_and_range) {
  EXPECT_TRUE(check_mixup({}));
  const Status wrong = check_mixup({.probability = 1.5});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "mixup: probability 1.5; at least 0 and at most 1 is accepted");
  EXPECT_FALSE(check_mixup({.mixup_alpha = -1}));
  EXPECT_FALSE(check_mixup({.cutmix_alpha = std::nan("")}));
  EXPECT_FALSE(check_mixup({.label_smoothing = 1}));
}

std::vector<float> counted(std::size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST(MixImages, mixup_blends_with_the_reversed_batch) {
  const std::vector<float> before = counted(4 * 2 * 3 * 5);
  for (const bool channels_last : {false, true}) {
    std::vector<float> values = before;
    const MixupDraw draw{.kind = Kind::mixup, .lambda = 0.75};
    ASSERT_TRUE(mix_images({values, 4, 2, 3, 5, channels_last}, draw));
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 30; ++j) {
        EXPECT_FLOAT_EQ(values[i * 30 + j],
                        0.75F * before[i * 30 + j] + 0.25F * before[(3 - i) * 30 + j]);
      }
    }
  }
}

TEST(MixImages, cutmix_takes_the_box_of_the_partner_and_nothing_else) {
  constexpr int kChannels = 3, kHeight = 5, kWidth = 7, kBatch = 6;
  const std::vector<float> before = counted(kBatch * kChannels * kHeight * kWidth);
  const MixupDraw draw{
      .kind = Kind::cutmix, .lambda = 0.6, .top = 1, .bottom = 4, .left = 2, .right = 7};
  for (const bool channels_last : {false, true}) {
    std::vector<float> values = before;
    ASSERT_TRUE(mix_images({values, kBatch, kChannels, kHeight, kWidth, channels_last}, draw));
    const auto at = [&](int i, int c, int y, int x) {
      return static_cast<std::size_t>(channels_last
                                          ? ((i * kHeight + y) * kWidth + x) * kChannels + c
                                          : ((i * kChannels + c) * kHeight + y) * kWidth + x);
    };
    for (int i = 0; i < kBatch; ++i) {
      for (int c = 0; c < kChannels; ++c) {
        for (int y = 0; y < kHeight; ++y) {
          for (int x = 0; x < kWidth; ++x) {
            const bool inside = y >= 1 && y < 4 && x >= 2;
            EXPECT_EQ(values[at(i, c, y, x)], before[at(inside ? kBatch - 1 - i : i, c, y, x)]);
          }
        }
      }
    }
  }
}

TEST(MixImages, none_changes_nothing_and_bad_shapes_are_refused) {
  std::vector<float> values = counted(24);
  ASSERT_TRUE(mix_images({values, 2, 3, 2, 2, false}, {}));
  EXPECT_EQ(values, counted(24));
  const Status odd = mix_images({values, 3, 2, 2, 2, false}, {});
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message, HasSubstr("a batch of 3; an even one is accepted"));
  EXPECT_FALSE(mix_images({values, 2, 3, 2, 3, false}, {}));
  EXPECT_FALSE(
      mix_images({values, 2, 3, 2, 2, false}, {.kind = Kind::cutmix, .bottom = 3, .right = 1}));
  EXPECT_EQ(values, counted(24));
}

TEST(MixTargets, shares_sum_to_one_with_and_without_smoothing) {
  const std::vector<std::int32_t> labels{0, 3, 3, 2};
  for (const float smoothing : {0.0F, 0.1F}) {
    std::vector<float> targets(16, std::numeric_limits<float>::quiet_NaN());
    ASSERT_TRUE(mix_targets(targets, labels, 4, 0.7, smoothing));
    const float off = smoothing / 4;
    const auto on = [&](float share) { return off + share * (1 - smoothing); };
    for (std::size_t i = 0; i < 4; ++i) {
      float sum = 0;
      for (std::size_t c = 0; c < 4; ++c)
        sum += targets[i * 4 + c];
      EXPECT_NEAR(sum, 1, 1e-6);
    }
    EXPECT_FLOAT_EQ(targets[0], on(0.7F));  // row 0: 0 with partner 2
    EXPECT_FLOAT_EQ(targets[2], on(0.3F));
    EXPECT_FLOAT_EQ(targets[1], off);
    EXPECT_FLOAT_EQ(targets[4 + 3], on(1));  // row 1: 3 with partner 3
    EXPECT_FLOAT_EQ(targets[12 + 2], on(0.7F));
    EXPECT_FLOAT_EQ(targets[12 + 0], on(0.3F));
  }
}

TEST(MixTargets, refuses_labels_that_are_not_classes) {
  std::vector<float> targets(8);
  for (const std::int32_t wrong : {-1, 4}) {
    const Status status = mix_targets(targets, std::vector<std::int32_t>{0, wrong}, 4, 0.5, 0);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("0 to 3 are accepted"));
  }
  EXPECT_FALSE(mix_targets(targets, std::vector<std::int32_t>{0, 1, 2}, 4, 0.5, 0));
  EXPECT_FALSE(mix_targets(targets, std::vector<std::int32_t>{0, 1}, 5, 0.5, 0));
}

}  // namespace
}  // namespace sluice::train::mixup_test
