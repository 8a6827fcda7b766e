// tests/train/norm_test.cpp - RMSNorm and the residual branch: differences check the references,
// those check the fast paths.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/norm.h"

#include "sluice/train/cpu/norm_reference.h"

#include "tests/train/support.h"

namespace sluice::train::cpu::norm_test {
namespace {

using namespace train::testing;
using Doubles = std::vector<double>;

struct Shape {
  std::int64_t all, dim, rows_per_scale;
  Rows rows;
  [[nodiscard]] std::int64_t begin() const { return rows.begin * dim; }
  [[nodiscard]] std::int64_t end() const { return rows.end * dim; }
};

/// Rows that often do not start at 0; dims around the vector lengths, and those of models.
Shape draw_shape(Draws& draws) {
  static constexpr std::int64_t kDims[] = {1, 7, 8, 16, 31, 63, 64, 65, 100, 128, 192, 193, 384};
  Shape s{};
  s.all = draws.integer(1, 12);
  s.dim = draws.integer(0, 1) == 0 ? kDims[draws.integer(0, 12)] : draws.integer(1, 300);
  s.rows_per_scale = draws.integer(1, 4);
  s.rows.begin = draws.integer(0, s.all - 1);
  s.rows.end = draws.integer(s.rows.begin, s.all);
  return s;
}

std::string words(const Shape& s) {
  return std::to_string(s.all) + " x " + std::to_string(s.dim) + " rows " +
         std::to_string(s.rows.begin) + " to " + std::to_string(s.rows.end);
}

TEST(NormReference, GradientsAreThoseOfDifferences) {
  Draws draws(1);
  const std::int64_t rows = 3, dim = 7, count = rows * dim;
  const Doubles x = draws.normals<double>(count), gamma = draws.normals<double>(dim, 0.3, 1);
  const Doubles weight = draws.normals<double>(count);
  const auto loss = [&](const Doubles& at_x, const Doubles& at_gamma) {
    Doubles y(count), rstd(rows);
    reference::rms_norm_forward(y.data(), rstd.data(), at_x.data(), at_gamma.data(), {0, rows}, dim,
                                0.1);
    return dot(y, weight);
  };
  Doubles y(count), rstd(rows), dx(count), d_gamma(dim);
  reference::rms_norm_forward(y.data(), rstd.data(), x.data(), gamma.data(), {0, rows}, dim, 0.1);
  reference::rms_norm_backward(dx.data(), d_gamma.data(), weight.data(), x.data(), rstd.data(),
                               gamma.data(), {0, rows}, dim);
  EXPECT_LE(relative_error(dx, numeric_gradient([&](auto& at) { return loss(at, gamma); }, x)),
            1e-6);
  EXPECT_LE(relative_error(d_gamma, numeric_gradient([&](auto& at) { return loss(x, at); }, gamma)),
            1e-6);
}

TEST(BranchReference, GradientsAreThoseOfDifferences) {
  Draws draws(2);
  const std::int64_t rows = 6, dim = 5, count = rows * dim;
  const Doubles x = draws.normals<double>(count), branch = draws.normals<double>(count);
  const Doubles gamma = draws.normals<double>(dim), weight = draws.normals<double>(count);
  const Doubles scale = {0, 1.25, 2};
  for (const bool plain : {false, true}) {
    const auto loss = [&](const Doubles& at_branch, const Doubles& at_gamma) {
      Doubles y(count);
      reference::add_branch_forward(y.data(), x.data(), at_branch.data(),
                                    plain ? nullptr : at_gamma.data(),
                                    plain ? nullptr : scale.data(), 2, {0, rows}, dim);
      return dot(y, weight);
    };
    Doubles d_branch(count), d_gamma(dim);
    reference::add_branch_backward(d_branch.data(), plain ? nullptr : d_gamma.data(), weight.data(),
                                   branch.data(), plain ? nullptr : gamma.data(),
                                   plain ? nullptr : scale.data(), 2, {0, rows}, dim);
    EXPECT_LE(relative_error(d_branch,
                             numeric_gradient([&](auto& at) { return loss(at, gamma); }, branch)),
              1e-6);
    if (plain) continue;
    EXPECT_LE(relative_error(d_gamma,
                             numeric_gradient([&](auto& at) { return loss(branch, at); }, gamma)),
              1e-6);
  }
}

template <class Act, class Res>
void check_norm(std::uint64_t seed) {
  Draws draws(seed);
  const Shape s = draw_shape(draws);
  SCOPED_TRACE(words(s));
  const std::int64_t count = s.all * s.dim;
  const auto x = draws.normals<Res>(count, draws.uniform(0.01, 4));
  const auto gamma = draws.normals<float>(s.dim, 0.3, 1);
  const auto dy = draws.normals<Act>(count);
  const auto before = draws.normals<Res>(count);
  const auto gamma_before = draws.normals<float>(s.dim);

  Doubles want_y(x.size()), want_rstd(static_cast<std::size_t>(s.all)),
      want_dx = converted<double>(before), want_d_gamma = converted<double>(gamma_before);
  const Doubles wide_x = converted<double>(x), wide_gamma = converted<double>(gamma);
  reference::rms_norm_forward(want_y.data(), want_rstd.data(), wide_x.data(), wide_gamma.data(),
                              s.rows, s.dim, static_cast<double>(1e-6F));
  reference::rms_norm_backward(want_dx.data(), want_d_gamma.data(), converted<double>(dy).data(),
                               wide_x.data(), want_rstd.data(), wide_gamma.data(), s.rows, s.dim);

  auto y = poisoned<Act>(count);
  auto rstd = poisoned<float>(s.all);
  rms_norm_forward(y.data(), rstd.data(), x.data(), gamma.data(), s.rows, s.dim, 1e-6F);
  expect_close(slice(y, s.begin(), s.end()), slice(want_y, s.begin(), s.end()), "y");
  expect_close(slice(rstd, s.rows.begin, s.rows.end), slice(want_rstd, s.rows.begin, s.rows.end),
               "rstd");
  EXPECT_TRUE(poisoned_outside(y, s.begin(), s.end()));
  EXPECT_TRUE(poisoned_outside(rstd, s.rows.begin, s.rows.end));

  auto dx = before;
  auto d_gamma = gamma_before;
  rms_norm_backward(dx.data(), d_gamma.data(), dy.data(), x.data(), rstd.data(), gamma.data(),
                    s.rows, s.dim);
  expect_close(dx, want_dx, "dx");
  expect_close(d_gamma, want_d_gamma, "d_gamma");
  EXPECT_EQ(slice(dx, 0, s.begin()), slice(before, 0, s.begin()));
  EXPECT_EQ(slice(dx, s.end(), count), slice(before, s.end(), count));
}

template <class Act, class Res>
void check_branch(std::uint64_t seed) {
  Draws draws(seed);
  const Shape s = draw_shape(draws);
  SCOPED_TRACE(words(s));
  const bool has_gamma = draws.integer(0, 2) > 0, has_scale = draws.integer(0, 1) > 0;
  const std::int64_t count = s.all * s.dim;
  const auto x = draws.normals<Res>(count), dy = draws.normals<Res>(count);
  const auto branch = draws.normals<Act>(count);
  const auto gamma = draws.normals<float>(s.dim), gamma_before = draws.normals<float>(s.dim);
  auto scale = draws.normals<float>(s.all);
  scale[0] = 0;  // a dropped path
  const Doubles wide_gamma = converted<double>(gamma), wide_scale = converted<double>(scale);
  const Doubles wide_branch = converted<double>(branch);

  Doubles want_y(x.size()), want_d_branch(x.size()), want_d_gamma = converted<double>(gamma_before);
  reference::add_branch_forward(want_y.data(), converted<double>(x).data(), wide_branch.data(),
                                has_gamma ? wide_gamma.data() : nullptr,
                                has_scale ? wide_scale.data() : nullptr, s.rows_per_scale, s.rows,
                                s.dim);
  reference::add_branch_backward(
      want_d_branch.data(), has_gamma ? want_d_gamma.data() : nullptr, converted<double>(dy).data(),
      wide_branch.data(), has_gamma ? wide_gamma.data() : nullptr,
      has_scale ? wide_scale.data() : nullptr, s.rows_per_scale, s.rows, s.dim);

  const float* given_gamma = has_gamma ? gamma.data() : nullptr;
  const float* given_scale = has_scale ? scale.data() : nullptr;
  auto y = poisoned<Res>(count), in_place = x;
  add_branch_forward(y.data(), x.data(), branch.data(), given_gamma, given_scale, s.rows_per_scale,
                     s.rows, s.dim);
  add_branch_forward(in_place.data(), in_place.data(), branch.data(), given_gamma, given_scale,
                     s.rows_per_scale, s.rows, s.dim);
  expect_close(slice(y, s.begin(), s.end()), slice(want_y, s.begin(), s.end()), "y");
  EXPECT_TRUE(poisoned_outside(y, s.begin(), s.end()));
  EXPECT_EQ(slice(in_place, s.begin(), s.end()), slice(y, s.begin(), s.end()));
  EXPECT_EQ(slice(in_place, 0, s.begin()), slice(x, 0, s.begin()));

  auto d_branch = poisoned<Act>(count);
  auto d_gamma = gamma_before;
  add_branch_backward(d_branch.data(), has_gamma ? d_gamma.data() : nullptr, dy.data(),
                      branch.data(), given_gamma, given_scale, s.rows_per_scale, s.rows, s.dim);
  expect_close(slice(d_branch, s.begin(), s.end()), slice(want_d_branch, s.begin(), s.end()),
               "d_branch");
  EXPECT_TRUE(poisoned_outside(d_branch, s.begin(), s.end()));
  expect_close(d_gamma, want_d_gamma, "d_gamma");
}

TEST(Norm, IsTheReference) {
  on_every_target([] {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      check_norm<float, float>(seed);
      check_norm<Bf16, float>(seed);
      check_norm<Bf16, Bf16>(seed);
    }
  });
}

TEST(Branch, IsTheReference) {
  on_every_target([] {
    for (std::uint64_t seed = 100; seed < 160; ++seed) {
      check_branch<float, float>(seed);
      check_branch<Bf16, float>(seed);
      check_branch<Bf16, Bf16>(seed);
    }
  });
}

TEST(Norm, NotANumberStaysInItsRow) {
  on_every_target([] {
    const std::int64_t dim = 37;
    for (const double bad : {std::nan(""), HUGE_VAL}) {
      Draws draws(5);
      auto x = draws.normals<float>(3 * dim);
      x[dim + 36] = static_cast<float>(bad);
      const auto gamma = draws.normals<float>(dim);
      auto y = poisoned<float>(3 * dim), rstd = poisoned<float>(3);
      rms_norm_forward(y.data(), rstd.data(), x.data(), gamma.data(), {0, 3}, dim, 1e-6F);
      EXPECT_TRUE(std::isnan(y[dim + 36]));
      for (std::int64_t i = 0; i < dim; ++i) {
        EXPECT_TRUE(std::isfinite(y[static_cast<std::size_t>(i)]));
        EXPECT_TRUE(std::isfinite(y[static_cast<std::size_t>(2 * dim + i)]));
      }
    }
  });
}

}  // namespace
}  // namespace sluice::train::cpu::norm_test
