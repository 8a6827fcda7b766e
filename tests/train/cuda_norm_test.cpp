// tests/train/cuda_norm_test.cpp - RMSNorm and the residual branch on the device, against the
// references in double.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/norm_reference.h"

#include "tests/train/cuda_elementwise.h"

namespace sluice::train::cuda::cuda_norm_test {
namespace {

using namespace testing;
namespace reference = cpu::reference;

class CudaNorm : public OnDevice {};
class CudaBranch : public OnDevice {};

struct Shape {
  std::int64_t rows = 1, dim = 1, shift = 0;
  [[nodiscard]] std::int64_t count() const { return rows * dim; }
  [[nodiscard]] std::string words() const {
    return std::to_string(rows) + " x " + std::to_string(dim) + " shift " + std::to_string(shift);
  }
};

/// Every register layout, its edges, what is too long for any; few and many rows.
std::vector<Shape> shapes() {
  Draws draws(1);
  std::vector<Shape> made = {{1, 1}, {1, 384}, {5000, 384}, {4999, 192}, {3, 2056}, {70, 2048}};
  for (const std::int64_t dim :
       {4,   7,   8,   64,  96,  100, 104, 188,  192,  196,  200,  380,  384,
        388, 392, 512, 520, 760, 768, 776, 1000, 1024, 1028, 1032, 1536, 2049})
    made.push_back({draws.integer(1, 700), dim, draws.integer(0, 4) == 0 ? 1 : 0});
  for (int i = 0; i < 12; ++i)
    made.push_back({draws.integer(1, 5000), draws.integer(1, 300), draws.integer(0, 1)});
  return made;
}

template <class Act, class Res>
void check_norm(const Shape& s, std::uint64_t seed) {
  SCOPED_TRACE(s.words());
  Draws draws(seed);
  const std::int64_t n = s.count();
  const auto x = draws.normals<Res>(n, 2);
  const auto gamma = draws.normals<float>(s.dim, 0.3, 1);
  const Shifted<Res> x_at(x, s.shift);
  const Buffer<float> gamma_at(gamma), rstd_at(s.rows);
  const Shifted<Act> y_at(n, s.shift);
  const KernelCall forward =
      RmsNormCall{y_at, rstd_at.data(), x_at, gamma_at.data(), s.rows, s.dim, 1e-3F};
  ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &forward), kDone);
  std::vector<double> y = zeros(n), rstd = zeros(s.rows);
  reference::rms_norm_forward(y.data(), rstd.data(), doubles(x).data(), doubles(gamma).data(),
                              {0, s.rows}, s.dim, static_cast<double>(1e-3F));
  expect_close(y_at.values(), y, "y");
  expect_close(rstd_at.values(), rstd, "rstd");

  const auto dy = draws.normals<Act>(n);
  const auto dx = draws.normals<Res>(n);
  const auto d_gamma = draws.normals<float>(s.dim);
  const auto rstd_float = converted<float>(rstd);
  std::vector<double> want_dx = doubles(dx), want_gamma = doubles(d_gamma);
  reference::rms_norm_backward(want_dx.data(), want_gamma.data(), doubles(dy).data(),
                               doubles(x).data(), doubles(rstd_float).data(), doubles(gamma).data(),
                               {0, s.rows}, s.dim);
  const Shifted<Act> dy_at(dy, s.shift);
  const Buffer<float> given(rstd_float);
  std::vector<float> first_sum;
  for (const bool copied : {true, false, true}) {
    const Shifted<Res> dx_at(dx, s.shift);
    const Shifted<Act> copy_at(n, s.shift);
    const Buffer<float> d_gamma_at(d_gamma);
    RmsNormBackwardCall call{
        dx_at, {}, d_gamma_at.data(), dy_at, x_at, given.data(), gamma_at.data(), s.rows, s.dim};
    if (copied) call.copy = copy_at;
    const KernelCall backward = call;
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &backward), kDone);
    expect_sums(dx_at.values(), want_dx, "dx");
    const std::vector<float> sum = d_gamma_at.values();
    expect_close(sum, want_gamma, "d_gamma");
    if (first_sum.empty()) first_sum = sum;
    EXPECT_EQ(sum, first_sum) << "another order of the sum";
    if (copied)
      expect_sums(copy_at.values(), want_dx, "copy");
    else
      EXPECT_TRUE(poisoned_outside(copy_at.values(), 0, 0));
  }
}

TEST_F(CudaNorm, IsTheReference) {
  std::uint64_t seed = 10;
  for (const Shape& s : shapes())
    each_pair([&]<class Act, class Res>(Act, Res) { check_norm<Act, Res>(s, ++seed); });
}

template <class Act, class Res>
void check_branch(const Shape& s, std::uint64_t seed) {
  SCOPED_TRACE(s.words());
  Draws draws(seed);
  const std::int64_t n = s.count(), per = draws.integer(1, s.rows);
  const auto x = draws.normals<Res>(n), dy = draws.normals<Res>(n);
  const auto branch = draws.normals<Act>(n);
  const auto gamma = draws.normals<float>(s.dim), d_gamma = draws.normals<float>(s.dim);
  const auto scale = draws.normals<float>((s.rows + per - 1) / per);
  const Shifted<Res> dy_at(dy, s.shift);
  const Shifted<Act> branch_at(branch, s.shift);
  const Buffer<float> gamma_at(gamma), scale_at(scale);
  for (const int options : {0, 1, 2, 3}) {
    const bool with_gamma = options % 2 == 1, with_scale = options / 2 == 1, in_place = with_gamma;
    const auto gammas = doubles(gamma), scales = doubles(scale);
    const double* gamma_or = with_gamma ? gammas.data() : nullptr;
    const double* scale_or = with_scale ? scales.data() : nullptr;
    std::vector<double> y = zeros(n), d_branch = zeros(n), want_gamma = doubles(d_gamma);
    reference::add_branch_forward(y.data(), doubles(x).data(), doubles(branch).data(), gamma_or,
                                  scale_or, per, {0, s.rows}, s.dim);
    reference::add_branch_backward(d_branch.data(), want_gamma.data(), doubles(dy).data(),
                                   doubles(branch).data(), gamma_or, scale_or, per, {0, s.rows},
                                   s.dim);
    const Shifted<Res> x_at(x, s.shift), y_at(n, s.shift);
    const Shifted<Act> d_branch_at(n, s.shift);
    const Buffer<float> d_gamma_at(d_gamma);
    const float* on_gamma = with_gamma ? gamma_at.data() : nullptr;
    const float* on_scale = with_scale ? scale_at.data() : nullptr;
    const KernelCall forward = AddBranchCall{
        in_place ? x_at : y_at, x_at, branch_at, on_gamma, on_scale, per, s.rows, s.dim};
    const KernelCall backward =
        AddBranchBackwardCall{d_branch_at, with_gamma ? d_gamma_at.data() : nullptr,
                              dy_at,       branch_at,
                              on_gamma,    on_scale,
                              per,         s.rows,
                              s.dim};
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &forward), kDone);
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &backward), kDone);
    expect_sums(in_place ? x_at.values() : y_at.values(), y, "y");
    expect_close(d_branch_at.values(), d_branch, "d_branch");
    expect_close(d_gamma_at.values(), want_gamma, "d_gamma");
  }
}

TEST_F(CudaBranch, IsTheReference) {
  std::uint64_t seed = 1000;
  for (const Shape& s : shapes())
    each_pair([&]<class Act, class Res>(Act, Res) { check_branch<Act, Res>(s, ++seed); });
}

}  // namespace
}  // namespace sluice::train::cuda::cuda_norm_test
