// tests/train/cuda_product_gelu_test.cpp - products that end in GELU on the device, against sums
// and the references in double.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/gelu_reference.h"

#include <fmt/format.h>

#include "tests/train/cuda_elementwise.h"

namespace sluice::train::cuda::cuda_product_gelu_test {
namespace {

using namespace testing;
namespace reference = cpu::reference;

struct Shape {
  std::int64_t rows, dim, hidden, per_scale;  // per_scale 0: no scales
  [[nodiscard]] std::string words() const {
    return fmt::format("{} x {} x {}, {} rows a scale", rows, hidden, dim, per_scale);
  }
};

/// rows · columns, op(b) [dim, hidden]: element (i, j) at i · along + j · across.
std::vector<double> product(const std::vector<double>& rows, const std::vector<double>& b,
                            const Shape& s, std::int64_t along, std::int64_t across) {
  std::vector<double> sums = zeros(s.rows * s.hidden);
  for (std::int64_t r = 0; r < s.rows; ++r)
    for (std::int64_t i = 0; i < s.dim; ++i)
      for (std::int64_t j = 0; j < s.hidden; ++j)
        sums[at(r * s.hidden + j)] += rows[at(r * s.dim + i)] * b[at(i * along + j * across)];
  return sums;
}

class CudaProductGelu : public OnDevice {
 protected:
  template <class Act>
  static void check(const Shape& s, std::uint64_t seed) {
    SCOPED_TRACE(s.words());
    Draws draws(seed);
    const std::int64_t n = s.rows * s.hidden;
    const double unit = 1 / std::sqrt(static_cast<double>(s.dim));
    const auto x = draws.normals<Act>(s.rows * s.dim);
    const auto weight = draws.normals<Act>(s.dim * s.hidden, 2 * unit);
    const std::int64_t samples = s.per_scale > 0 ? (s.rows + s.per_scale - 1) / s.per_scale : 1;
    const auto scales = draws.normals<float>(samples);
    const auto scale_of = [&](std::int64_t i) {
      return s.per_scale > 0 ? static_cast<double>(scales[at(i / s.hidden / s.per_scale)]) : 1.0;
    };
    const Buffer<float> scales_at(scales);
    const float* const scale = s.per_scale > 0 ? scales_at.data() : nullptr;
    const std::int64_t per = std::max<std::int64_t>(s.per_scale, 1);

    const Buffer<Act> x_at(x), weight_at(weight), f_at(n), y_at(n), df_at(n);
    run(ProductGeluCall{y_at, f_at, x_at, weight_at, scale, per, s.rows, s.dim, s.hidden});
    const std::vector<double> f = product(doubles(x), doubles(weight), s, 1, s.dim);
    const std::vector<Act> got_f = f_at.values();
    std::vector<double> y = zeros(n), scaled = f;
    reference::gelu_forward(y.data(), f.data(), {0, n});
    for (std::int64_t i = 0; i < n; ++i) {
      y[at(i)] *= scale_of(i);
      scaled[at(i)] *= scale_of(i);
    }
    expect_sums(got_f, f, "f");
    // f is rounded before GELU in one form, not in the other: by 2^-9 of itself, times a slope.
    expect_ends(y_at.values(), y, scaled, 2.3e-3, "y");

    // The same numbers as dy [rows, dim] and weight [dim, hidden].
    run(ProductGeluBackwardCall{df_at, x_at, weight_at, f_at, scale, per, s.rows, s.dim, s.hidden});
    const std::vector<double> dy = product(doubles(x), doubles(weight), s, s.hidden, 1);
    std::vector<double> df = zeros(n);
    reference::gelu_backward(df.data(), dy.data(), doubles(got_f).data(), {0, n});
    std::vector<double> slope_one = dy;
    for (std::int64_t i = 0; i < n; ++i) {
      df[at(i)] *= scale_of(i);
      slope_one[at(i)] *= scale_of(i);
    }
    expect_ends(df_at.values(), df, slope_one, 5.5e-4, "df");
  }

  static void two_runs(const Shape& s);

 private:
  /// bf16: within its rounding, a share of what the slope multiplies, and what sums may cancel to.
  template <class Act>
  static void expect_ends(const std::vector<Act>& got, const std::vector<double>& want,
                          const std::vector<double>& multiplied, double share,
                          const std::string& what) {
    if constexpr (std::same_as<Act, Bf16>) {
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(as_double(got[i]), want[i],
                    std::abs(want[i]) * 2.5 / 256 + std::abs(multiplied[i]) * share + 2e-5)
            << what << ' ' << i;
    } else {
      EXPECT_LE(relative_error(got, want), 1e-5) << what;
    }
  }
};

TEST_F(CudaProductGelu, IsTheReference) {
  Draws draws(1);
  std::uint64_t seed = 30;
  for (const std::int64_t dim : {128, 256, 384, 512, 768})
    for (const std::int64_t rows : {1, 16, 63, 64, 65, 200, 1031})
      check<Bf16>({rows, dim, 256 * draws.integer(1, 3), rows % 2 == 0 ? 0 : draws.integer(1, 70)},
                  ++seed);
  for (const std::int64_t dim : {256, 640})  // more columns than blocks have at once
    check<Bf16>({4, dim, 67 * 256, 0}, ++seed);
  check<Bf16>({70, 96, 40, 7}, ++seed);  // no form but the portable one
  check<Bf16>({70, 512, 128, 0}, ++seed);
  check<float>({70, 128, 128, 9}, ++seed);
}

TEST_F(CudaProductGelu, TwoRunsGiveTheSameBits) {
  two_runs({20'000, 384, 1536, 0});
  two_runs({9'000, 768, 3072, 0});
}
void CudaProductGelu::two_runs(const Shape& s) {
  SCOPED_TRACE(s.words());
  Draws draws(2);
  const Buffer<Bf16> x(draws.normals<Bf16>(s.rows * s.dim)),
      weight(draws.normals<Bf16>(s.dim * s.hidden, 0.1));
  std::vector<std::vector<Bf16>> seen;
  for (int i = 0; i < 2; ++i) {
    const Buffer<Bf16> f(s.rows * s.hidden), y(s.rows * s.hidden), df(s.rows * s.hidden);
    run(ProductGeluCall{y, f, x, weight, nullptr, 1, s.rows, s.dim, s.hidden});
    run(ProductGeluBackwardCall{df, x, weight, f, nullptr, 1, s.rows, s.dim, s.hidden});
    for (const auto* one : {&y, &f, &df})
      seen.push_back(one->values());
  }
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(relative_error(seen[i], doubles(seen[i + 3])), 0) << i;
}

/// The bounds that gelu_in_ending.cuh states, for every finite value that bf16 has: one column of x
/// carries it, all weights of that column are 1.
TEST_F(CudaProductGelu, EveryValueOfBf16) {
  std::vector<Bf16> values;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Bf16 value{static_cast<std::uint16_t>(bits)};
    if (std::isfinite(to_float(value))) values.push_back(value);
  }
  const auto rows = static_cast<std::int64_t>(values.size());
  const Shape s{rows, 128, 256, 0};
  std::vector<Bf16> x(at(rows * s.dim), to_bf16(0)), ones = x;
  std::vector<Bf16> weight(at(s.dim * s.hidden), to_bf16(0)), first = weight,
                                                              f(at(rows * s.hidden));
  for (std::int64_t r = 0; r < rows; ++r) {
    x[at(r * s.dim)] = values[at(r)];
    ones[at(r * s.dim)] = to_bf16(1);
    std::fill_n(f.begin() + r * s.hidden, s.hidden, values[at(r)]);
  }
  for (std::int64_t j = 0; j < s.hidden; ++j) {
    weight[at(j * s.dim)] = to_bf16(1);  // [hidden, dim]
    first[at(j)] = to_bf16(1);           // [dim, hidden]
  }
  const Buffer<Bf16> x_at(x), ones_at(ones), weight_at(weight), first_at(first), f_at(f),
      f_made(rows * s.hidden), y_at(rows * s.hidden), df_at(rows * s.hidden);
  run(ProductGeluCall{y_at, f_made, x_at, weight_at, nullptr, 1, rows, s.dim, s.hidden});
  run(ProductGeluBackwardCall{df_at, ones_at, first_at, f_at, nullptr, 1, rows, s.dim, s.hidden});
  std::vector<double> want_y = zeros(rows), want_df = zeros(rows);
  const std::vector<double> each(doubles(values)), one(values.size(), 1.0);
  reference::gelu_forward(want_y.data(), each.data(), {0, rows});
  reference::gelu_backward(want_df.data(), one.data(), each.data(), {0, rows});
  const std::vector<Bf16> got_f = f_made.values(), y = y_at.values(), df = df_at.values();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < s.hidden; ++j) {
      const std::size_t i = at(r * s.hidden + j);
      const double v = each[at(r)], rounding = 1.0 / 256;
      ASSERT_EQ(to_float(got_f[i]), to_float(values[at(r)]));
      ASSERT_NEAR(as_double(y[i]), want_y[at(r)],
                  std::abs(want_y[at(r)]) * (rounding + 1.2e-3) + (v < -5 ? 1e-8 : 1e-36))
          << v;
      ASSERT_NEAR(as_double(df[i]), want_df[at(r)], std::abs(want_df[at(r)]) * rounding + 5.1e-4)
          << v;
    }
}

TEST_F(CudaProductGelu, NotANumberStaysOne) {
  const Shape s{70, 128, 256, 0};
  std::vector<Bf16> x(at(s.rows * s.dim), to_bf16(1)), f(at(s.rows * s.hidden), to_bf16(1));
  x[at(5 * s.dim)] = to_bf16(std::nanf(""));
  f[at(6 * s.hidden)] = to_bf16(std::nanf(""));
  const std::vector<Bf16> ones(at(s.rows * s.dim), to_bf16(1));
  const Buffer<Bf16> x_at(x), f_at(f), ones_at(ones),
      weight(std::vector<Bf16>(at(s.dim * s.hidden), to_bf16(1))), f_made(s.rows * s.hidden),
      y(s.rows * s.hidden), df(s.rows * s.hidden);
  run(ProductGeluCall{y, f_made, x_at, weight, nullptr, 1, s.rows, s.dim, s.hidden});
  run(ProductGeluBackwardCall{df, ones_at, weight, f_at, nullptr, 1, s.rows, s.dim, s.hidden});
  const std::vector<Bf16> got_y = y.values(), got_df = df.values();
  for (std::size_t i = 0; i < got_y.size(); ++i) {
    EXPECT_EQ(std::isnan(to_float(got_y[i])), i / at(s.hidden) == 5) << i;
    EXPECT_EQ(std::isnan(to_float(got_df[i])), i == at(6 * s.hidden)) << i;
  }
}

}  // namespace
}  // namespace sluice::train::cuda::cuda_product_gelu_test
