// tests/train/cross_entropy_test.cpp - loss and gradient: differences check the reference, that
// checks the fast path.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/cross_entropy.h"

#include "sluice/train/cpu/cross_entropy_reference.h"

#include "tests/train/support.h"

namespace sluice::train::cpu::cross_entropy_test {
namespace {

using namespace train::testing;
using Doubles = std::vector<double>;
using Labels = std::vector<std::int32_t>;

/// Rows that sum to 1, some classes absent.
template <class T>
std::vector<T> draw_soft(Draws& draws, std::int64_t rows, std::int64_t classes) {
  std::vector<T> soft;
  for (std::int64_t r = 0; r < rows; ++r) {
    Doubles row(static_cast<std::size_t>(classes));
    double sum = 0;
    for (double& value : row)
      sum += value = draws.integer(0, 2) == 0 ? draws.uniform(0.01, 1) : 0;
    if (sum == 0) sum = row[0] = 1;
    for (const double value : row)
      soft.push_back(from_double<T>(value / sum));
  }
  return soft;
}

TEST(CrossEntropyReference, GradientIsThatOfDifferences) {
  Draws draws(1);
  const std::int64_t rows = 4, classes = 6;
  const Doubles x = draws.normals<double>(rows * classes, 2);
  const Doubles soft = draw_soft<double>(draws, rows, classes);
  const Labels labels = {2, 0, -1, 5};
  for (const bool use_soft : {false, true})
    for (const double smoothing : {0.0, 0.1}) {
      const std::int32_t* given = use_soft ? nullptr : labels.data();
      const double* target = use_soft ? soft.data() : nullptr;
      const auto loss = [&](const Doubles& at) {
        Doubles losses(4);
        reference::cross_entropy<double>(losses.data(), nullptr, at.data(), given, target,
                                         smoothing, 1, {0, rows}, classes);
        return 0.25 * dot(losses, {1, 1, 1, 1});
      };
      Doubles losses(4), dx(x.size());
      reference::cross_entropy<double>(losses.data(), dx.data(), x.data(), given, target, smoothing,
                                       0.25, {0, rows}, classes);
      EXPECT_LE(relative_error(dx, numeric_gradient(loss, x)), 1e-6);
    }
}

TEST(CrossEntropyReference, EqualLogitsCostTheLogarithmOfTheClasses) {
  const Doubles x(10, 3.0);
  const Labels label = {4};
  Doubles loss(1);
  reference::cross_entropy<double>(loss.data(), nullptr, x.data(), label.data(), nullptr, 0.3, 1,
                                   {0, 1}, 10);
  EXPECT_NEAR(loss[0], std::log(10.0), 1e-12);
}

template <class Act>
void check(std::uint64_t seed) {
  Draws draws(seed);
  const std::int64_t all = draws.integer(1, 9), begin = draws.integer(0, all - 1);
  const Rows rows = {begin, draws.integer(begin, all)};
  const std::int64_t classes = draws.integer(0, 3) == 0 ? 1000 : draws.integer(2, 130);
  const std::int64_t first = rows.begin * classes, last = rows.end * classes;
  const auto x = draws.normals<Act>(all * classes, draws.uniform(0.1, 8), draws.uniform(-90, 90));
  Labels labels;
  for (std::int64_t r = 0; r < all; ++r)
    labels.push_back(static_cast<std::int32_t>(draws.integer(-1, classes - 1)));
  const auto soft = draw_soft<float>(draws, all, classes);
  const bool use_soft = draws.integer(0, 1) > 0;
  const auto smoothing = static_cast<float>(draws.integer(0, 1) > 0 ? draws.uniform(0, 0.5) : 0);
  const auto factor = static_cast<float>(draws.uniform(0.01, 2));
  const std::int32_t* given = use_soft && draws.integer(0, 1) > 0 ? nullptr : labels.data();
  SCOPED_TRACE(std::to_string(all) + " x " + std::to_string(classes) + (use_soft ? " soft" : "") +
               " smoothing " + std::to_string(smoothing));

  Doubles want_loss(static_cast<std::size_t>(all)), want_dx(x.size());
  const Doubles wide_soft = converted<double>(soft);
  reference::cross_entropy<double>(want_loss.data(), want_dx.data(), converted<double>(x).data(),
                                   given, use_soft ? wide_soft.data() : nullptr, smoothing, factor,
                                   rows, classes);

  const float* target = use_soft ? soft.data() : nullptr;
  auto loss = poisoned<float>(all), only_loss = loss, again = loss;
  auto dx = poisoned<Act>(all * classes), in_place = x;
  cross_entropy(loss.data(), dx.data(), x.data(), given, target, smoothing, factor, rows, classes);
  cross_entropy<Act>(only_loss.data(), nullptr, x.data(), given, target, smoothing, factor, rows,
                     classes);
  cross_entropy(again.data(), in_place.data(), in_place.data(), given, target, smoothing, factor,
                rows, classes);
  EXPECT_LE(
      relative_error(slice(loss, rows.begin, rows.end), slice(want_loss, rows.begin, rows.end)),
      1e-5);
  expect_close(slice(dx, first, last), slice(want_dx, first, last), "d_logits");
  EXPECT_TRUE(poisoned_outside(loss, rows.begin, rows.end));
  EXPECT_TRUE(poisoned_outside(dx, first, last));
  EXPECT_EQ(slice(only_loss, rows.begin, rows.end), slice(loss, rows.begin, rows.end));
  EXPECT_EQ(slice(again, rows.begin, rows.end), slice(loss, rows.begin, rows.end));
  EXPECT_EQ(slice(in_place, first, last), slice(dx, first, last));
  EXPECT_EQ(slice(in_place, last, all * classes), slice(x, last, all * classes));
  for (std::int64_t r = rows.begin; r < rows.end; ++r)
    if (given != nullptr && given[r] < 0) {
      EXPECT_EQ(loss[static_cast<std::size_t>(r)], 0);
      for (std::int64_t c = r * classes; c < (r + 1) * classes; ++c)
        EXPECT_EQ(as_double(dx[static_cast<std::size_t>(c)]), 0);
    }
}

TEST(CrossEntropy, IsTheReference) {
  on_every_target([] {
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
      check<float>(seed);
      check<Bf16>(seed);
    }
  });
}

TEST(CrossEntropy, OneClassIsCertain) {
  const std::vector<float> x = {5};
  const Labels labels = {0};
  on_every_target([&] {
    auto loss = poisoned<float>(1), dx = poisoned<float>(1);
    cross_entropy(loss.data(), dx.data(), x.data(), labels.data(), nullptr, 0.1F, 1, {0, 1}, 1);
    EXPECT_NEAR(loss[0], 0, 1e-6);
    EXPECT_NEAR(dx[0], 0, 1e-6);
  });
}

TEST(CrossEntropy, FarLogitsNeitherOverflowNorVanish) {
  const std::vector<float> x = {-3e4F, 3e4F, 0, 1, 1000, 1001};
  const Labels labels = {0, 2};
  on_every_target([&] {
    auto loss = poisoned<float>(2), dx = poisoned<float>(6);
    cross_entropy(loss.data(), dx.data(), x.data(), labels.data(), nullptr, 0, 1, {0, 2}, 3);
    EXPECT_EQ(loss[0], 6e4F);
    EXPECT_EQ(dx, (std::vector<float>{-1, 1, 0, 0, dx[4], dx[5]}));
    EXPECT_FLOAT_EQ(loss[1], std::log1p(std::exp(-1.0F)));
  });
}

TEST(CrossEntropy, AnImpossibleClassIsNoConcernOfOthers) {
  const std::vector<float> x = {-HUGE_VALF, 1, 1}, soft = {0, 0.5F, 0.5F};
  const Labels labels = {1};
  on_every_target([&] {
    for (const float* target : {static_cast<const float*>(nullptr), soft.data()}) {
      auto loss = poisoned<float>(1), dx = poisoned<float>(3);
      cross_entropy(loss.data(), dx.data(), x.data(), labels.data(), target, 0, 1, {0, 1}, 3);
      EXPECT_FLOAT_EQ(loss[0], std::log(2.0F));
      EXPECT_EQ(dx[0], 0);
    }
  });
}

TEST(CrossEntropy, WhatIsNotFiniteReachesLossAndGradientOfItsRow) {
  on_every_target([] {
    for (const float bad : {std::nanf(""), HUGE_VALF})
      for (const std::size_t at : {0U, 17U, 34U}) {
        Draws draws(6);
        auto x = draws.normals<float>(3 * 35);
        x[35 + at] = bad;
        const Labels labels = {3, 4, 5};
        auto loss = std::vector<float>(3, 0.0F), dx = std::vector<float>(x.size(), 0.0F);
        cross_entropy(loss.data(), dx.data(), x.data(), labels.data(), nullptr, 0, 1, {0, 3}, 35);
        EXPECT_TRUE(std::isnan(loss[1]));
        EXPECT_TRUE(std::isfinite(loss[0]) && std::isfinite(loss[2]));
        for (std::size_t c = 0; c < 35; ++c) {
          EXPECT_TRUE(std::isnan(dx[35 + c])) << c;
          EXPECT_TRUE(std::isfinite(dx[c]) && std::isfinite(dx[70 + c]));
        }
      }
  });
}

}  // namespace
}  // namespace sluice::train::cpu::cross_entropy_test
