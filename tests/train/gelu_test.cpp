// tests/train/gelu_test.cpp - GELU, conversions and sums: differences check the references, those
// check the fast paths.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/gelu.h"

#include "sluice/train/cpu/gelu_reference.h"

#include "tests/train/support.h"

namespace sluice::train::cpu::gelu_test {
namespace {

using namespace train::testing;
using Doubles = std::vector<double>;

TEST(GeluReference, GradientIsThatOfDifferences) {
  Draws draws(1);
  const Doubles x = draws.normals<double>(40, 2), weight = draws.normals<double>(40);
  const auto loss = [&](const Doubles& at) {
    Doubles y(at.size());
    reference::gelu_forward(y.data(), at.data(), {0, 40});
    return dot(y, weight);
  };
  Doubles dx(x.size());
  reference::gelu_backward(dx.data(), weight.data(), x.data(), {0, 40});
  EXPECT_LE(relative_error(dx, numeric_gradient(loss, x)), 1e-6);
}

TEST(GeluReference, IsThatOfTheErrorFunction) {
  const Doubles x = {-3, -1, -0.5, 0, 0.5, 1, 3};
  Doubles y(x.size());
  reference::gelu_forward(y.data(), x.data(), {0, 7});
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i], 0.5 * x[i] * (1 + std::erf(x[i] / std::sqrt(2.0))), 1e-15);
}

template <class Act>
void check_gelu(std::uint64_t seed) {
  Draws draws(seed);
  const std::int64_t count = draws.integer(1, 300), begin = draws.integer(0, count - 1);
  const Rows part = {begin, draws.integer(begin, count)};
  const auto x = draws.normals<Act>(count, draws.uniform(0.1, 5)), dy = draws.normals<Act>(count);
  const Doubles wide = converted<double>(x);
  Doubles want_y(x.size()), want_dx(x.size());
  reference::gelu_forward(want_y.data(), wide.data(), part);
  reference::gelu_backward(want_dx.data(), converted<double>(dy).data(), wide.data(), part);

  auto y = poisoned<Act>(count), dx = poisoned<Act>(count), in_place = dy;
  gelu_forward(y.data(), x.data(), part);
  gelu_backward(dx.data(), dy.data(), x.data(), part);
  gelu_backward(in_place.data(), in_place.data(), x.data(), part);
  expect_close(slice(y, part.begin, part.end), slice(want_y, part.begin, part.end), "y", 5e-7);
  if constexpr (std::same_as<Act, Bf16>)  // the slope has a zero: there the fit's own error is seen
    EXPECT_EQ(
        beyond_bf16(slice(dx, part.begin, part.end), slice(want_dx, part.begin, part.end), 1, 6e-6),
        "");
  else
    expect_close(slice(dx, part.begin, part.end), slice(want_dx, part.begin, part.end), "dx", 5e-7);
  EXPECT_TRUE(poisoned_outside(y, part.begin, part.end));
  EXPECT_TRUE(poisoned_outside(dx, part.begin, part.end));
  EXPECT_EQ(slice(in_place, part.begin, part.end), slice(dx, part.begin, part.end));
  EXPECT_EQ(slice(in_place, part.end, count), slice(dy, part.end, count));
}

TEST(Gelu, IsTheReference) {
  on_every_target([] {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      check_gelu<float>(seed);
      check_gelu<Bf16>(seed);
    }
  });
}

/// The implied erf(x / √2) = 2·y/x − 1, and y itself in the lower tail, where 1 + erf has no
/// digits.
TEST(Gelu, KeepsItsDigitsOverTheWholeRange) {
  std::vector<float> x;
  for (float v = -13; v < 13; v += 0.0009765625F)
    if (v != 0) x.push_back(v);
  const auto count = static_cast<std::int64_t>(x.size());
  on_every_target([&] {
    auto y = poisoned<float>(count), dx = poisoned<float>(count);
    gelu_forward(y.data(), x.data(), {0, count});
    gelu_backward(dx.data(), std::vector<float>(x.size(), 1).data(), x.data(), {0, count});
    double worst_erf = 0, worst_tail = 0, worst_slope = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = x[i], below = reference::normal_below(v);
      const double slope = below + v * 0.3989422804014327 * std::exp(-v * v / 2);
      worst_erf = std::max(worst_erf, 2 * std::abs(y[i] / v - below));
      worst_slope = std::max(worst_slope, std::abs(dx[i] - slope));
      if (v < 0) worst_tail = std::max(worst_tail, std::abs(y[i] / (v * below) - 1));
    }
    EXPECT_LE(worst_erf, 2.4e-7);
    EXPECT_LE(worst_slope, 2.4e-7);
    EXPECT_LE(worst_tail, 1e-5);  // x² / 2 is rounded before exp
  });
}

TEST(Gelu, HugeValuesAreThemselvesOrNothing) {
  const std::vector<float> x = {0, -0.0F, 14, 1e4F, 3e38F, -14, -100, -1e4F, -3e38F};
  const auto count = static_cast<std::int64_t>(x.size());
  on_every_target([&] {
    auto y = poisoned<float>(count), dx = poisoned<float>(count);
    gelu_forward(y.data(), x.data(), {0, count});
    gelu_backward(dx.data(), std::vector<float>(x.size(), 2).data(), x.data(), {0, count});
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(y[i], std::max(x[i], 0.0F)) << x[i];
      EXPECT_EQ(dx[i], x[i] == 0 ? 1.0F : x[i] > 0 ? 2.0F : 0.0F) << x[i];
    }
  });
}

TEST(Gelu, WhatIsNotFiniteIsNotHidden) {
  const float inf = HUGE_VALF, nan = std::nanf("");
  const std::vector<float> x = {nan, inf, 1, -nan, 2, -inf};
  on_every_target([&] {
    auto y = std::vector<float>(6, 0.0F), dx = y;
    gelu_forward(y.data(), x.data(), {0, 6});
    gelu_backward(dx.data(), std::vector<float>(6, 1).data(), x.data(), {0, 6});
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[3]));
    EXPECT_EQ(y[1], inf);
    EXPECT_EQ(y[5], 0);  // the limit
    EXPECT_TRUE(std::isfinite(y[2]) && std::isfinite(y[4]));
    EXPECT_TRUE(std::isnan(dx[0]) && std::isnan(dx[3]));
    gelu_backward(dx.data(), x.data(), std::vector<float>(6, 0.5F).data(), {0, 6});
    EXPECT_TRUE(std::isnan(dx[0]) && std::isnan(dx[3]));
    EXPECT_EQ(dx[1], inf);
    const auto narrow = converted<Bf16>(x);
    auto z = std::vector<Bf16>(6);
    gelu_forward(z.data(), narrow.data(), {0, 6});
    EXPECT_TRUE(std::isnan(to_float(z[0])) && std::isnan(to_float(z[3])));
    EXPECT_EQ(to_float(z[1]), inf);
  });
}

/// Every upper half with lower halves around the ties, NaNs with any payload among them.
TEST(Bf16Arrays, AreRoundedAsOneValueIs) {
  std::vector<float> x;
  for (std::uint32_t upper = 0; upper < 65536; upper += 7)
    for (const std::uint32_t lower : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      x.push_back(std::bit_cast<float>((upper << 16U) | lower));
  x.pop_back();  // an odd count
  const auto count = static_cast<std::int64_t>(x.size());
  on_every_target([&] {
    auto y = poisoned<Bf16>(count);
    to_bf16(y.data(), x.data(), {3, count});
    EXPECT_TRUE(poisoned_outside(y, 3, count));
    auto back = poisoned<float>(count);
    to_float(back.data(), y.data(), {3, count});
    for (std::size_t i = 3; i < x.size(); ++i) {
      ASSERT_EQ(y[i], train::to_bf16(x[i])) << std::hex << std::bit_cast<std::uint32_t>(x[i]);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::uint32_t{y[i].bits} << 16U);
    }
  });
}

TEST(AddInto, Adds) {
  Draws draws(4);
  on_every_target([&] {
    const auto x = draws.normals<float>(77), before = draws.normals<float>(77);
    auto y = before;
    add_into(y.data(), x.data(), {5, 76});
    for (std::size_t i = 0; i < 77; ++i)
      EXPECT_EQ(y[i], i >= 5 && i < 76 ? before[i] + x[i] : before[i]);
  });
}

}  // namespace
}  // namespace sluice::train::cpu::gelu_test
