// tests/train/cuda_gelu_test.cpp - GELU on the device, against the references in double.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/gelu_reference.h"

#include "tests/train/cuda_elementwise.h"

namespace sluice::train::cuda::cuda_gelu_test {
namespace {

using namespace testing;
namespace reference = cpu::reference;

class CudaGelu : public OnDevice {
 protected:
  template <class Act>
  static void check(std::int64_t n, std::int64_t per, std::int64_t shift, std::uint64_t seed) {
    SCOPED_TRACE(std::to_string(n) + " per " + std::to_string(per) + " shift " +
                 std::to_string(shift));
    Draws draws(seed);
    const auto x = draws.normals<Act>(n, 3), dy = draws.normals<Act>(n);
    const auto scale = draws.normals<float>((n + per - 1) / per);
    std::vector<double> y = zeros(n), dx = zeros(n);
    reference::gelu_forward(y.data(), doubles(x).data(), {0, n});
    reference::gelu_backward(dx.data(), doubles(dy).data(), doubles(x).data(), {0, n});
    const Shifted<Act> x_at(x, shift);
    const Buffer<float> scale_at(scale);
    for (const bool scaled : {false, true}) {
      std::vector<double> want_y = y, want_dx = dx;
      for (std::int64_t i = 0; scaled && i < n; ++i) {
        want_y[at(i)] *= static_cast<double>(scale[at(i / per)]);
        want_dx[at(i)] *= static_cast<double>(scale[at(i / per)]);
      }
      const Shifted<Act> y_at(n, shift), dx_at(n, shift), dy_at(dy, shift);
      const float* on_scale = scaled ? scale_at.data() : nullptr;
      run(GeluCall{y_at, x_at, on_scale, per, n});
      run(GeluBackwardCall{dx_at, dy_at, x_at, on_scale, per, n});
      expect_close(y_at.values(), want_y, "y");
      expect_sums(dx_at.values(), want_dx, "dx");
      run(GeluBackwardCall{dy_at, dy_at, x_at, on_scale, per, n});  // in place
      EXPECT_EQ(relative_error(dy_at.values(), doubles(dx_at.values())), 0);
    }
  }
};

TEST_F(CudaGelu, IsTheReference) {
  Draws draws(1);
  std::uint64_t seed = 10;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t n = i < 12 ? i + 1 : draws.integer(1, 200'000);
    std::int64_t per = draws.integer(1, n);
    if (i % 3 == 0) per = (per + 7) / 8 * 8;
    const std::int64_t shift = i % 5 == 0 ? 1 : 0;
    check<float>(n, per, shift, ++seed);
    check<Bf16>(n, per, shift, ++seed);
  }
  check<Bf16>(70'000, 1, 0, ++seed);  // more samples than a grid is high
  check<float>(70'000 * 8, 8, 0, ++seed);
}

/// All finite bf16 values: both tails keep their digits down to what a float can hold.
TEST_F(CudaGelu, EveryValueOfBf16) {
  std::vector<Bf16> x;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Bf16 value{static_cast<std::uint16_t>(bits)};
    if (std::isfinite(to_float(value))) x.push_back(value);
  }
  const auto n = static_cast<std::int64_t>(x.size());
  const std::vector<Bf16> ones(x.size(), to_bf16(1));
  std::vector<double> y(x.size()), dx(x.size());
  reference::gelu_forward(y.data(), doubles(x).data(), {0, n});
  reference::gelu_backward(dx.data(), doubles(ones).data(), doubles(x).data(), {0, n});
  const Buffer<Bf16> x_at(x), ones_at(ones), y_at(n), dx_at(n);
  run(GeluCall{y_at, x_at, nullptr, 1, n});
  run(GeluBackwardCall{dx_at, ones_at, x_at, nullptr, 1, n});
  EXPECT_EQ(beyond_bf16(y_at.values(), y, 1, 1e-36), "");
  EXPECT_EQ(beyond_bf16(dx_at.values(), dx, 1, 2e-6), "");
  const Buffer<float> wide(converted<float>(x)), wide_y(n);
  run(GeluCall{wide_y, wide, nullptr, 1, n});
  const std::vector<float> got = wide_y.values();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), y[i], std::abs(y[i]) * 3e-5 + 1e-36) << to_float(x[i]);
}

TEST_F(CudaGelu, NotANumberStaysOne) {
  const Buffer<float> x(std::vector<float>(9, std::nanf(""))), y(std::vector<float>(9, 1.0F));
  run(GeluCall{y, x, nullptr, 1, 9});
  for (const float value : y.values())
    EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace sluice::train::cuda::cuda_gelu_test
