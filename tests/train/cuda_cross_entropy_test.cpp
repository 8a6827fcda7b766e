// tests/train/cuda_cross_entropy_test.cpp - loss and gradient on the device, against the reference
// in double.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/cross_entropy_reference.h"

#include "tests/train/cuda_elementwise.h"

namespace sluice::train::cuda::cuda_cross_entropy_test {
namespace {

using namespace testing;
namespace reference = cpu::reference;

class CudaCrossEntropy : public OnDevice {};

struct Case {
  std::int64_t rows = 1, classes = 1, shift = 0;
  bool soft = false, in_place = false;
  float smoothing = 0;
};

std::vector<std::int32_t> draw_labels(const Case& c, Draws& draws) {
  std::vector<std::int32_t> labels;
  for (std::int64_t r = 0; r < c.rows; ++r)
    labels.push_back(static_cast<std::int32_t>(draws.integer(r % 7 == 3 ? -1 : 0, c.classes - 1)));
  return labels;
}

/// Rows that sum to 1.
std::vector<float> draw_soft(const Case& c, Draws& draws) {
  auto soft = draws.normals<float>(c.rows * c.classes);
  for (std::int64_t r = 0; r < c.rows; ++r) {
    float sum = 0;
    for (std::int64_t i = 0; i < c.classes; ++i)
      sum += soft[at(r * c.classes + i)] = std::exp(soft[at(r * c.classes + i)]);
    for (std::int64_t i = 0; i < c.classes; ++i)
      soft[at(r * c.classes + i)] /= sum;
  }
  return soft;
}

template <class Act>
void check(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE(std::to_string(c.rows) + " x " + std::to_string(c.classes) + " soft " +
               std::to_string(c.soft) + " shift " + std::to_string(c.shift));
  Draws draws(seed);
  const std::int64_t n = c.rows * c.classes;
  const auto logits = draws.normals<Act>(n, 4);
  const auto labels = draw_labels(c, draws);
  const auto soft = draw_soft(c, draws);
  const auto softs = doubles(soft);
  const float gradient_factor = 0.37F, loss_factor = 1 / static_cast<float>(c.rows);
  std::vector<double> row_loss = zeros(c.rows), d_logits = zeros(n);
  reference::cross_entropy(row_loss.data(), d_logits.data(), doubles(logits).data(),
                           c.soft ? nullptr : labels.data(), c.soft ? softs.data() : nullptr,
                           static_cast<double>(c.smoothing), static_cast<double>(gradient_factor),
                           {0, c.rows}, c.classes);
  double loss = 0;
  for (const double one : row_loss)
    loss += one * static_cast<double>(loss_factor);
  const Integers labels_at(labels);
  const Buffer<float> soft_at(soft);
  for (const bool gradient : {false, true}) {
    const Shifted<Act> logits_at(logits, c.shift), d_logits_at(n, c.shift);
    const Buffer<float> loss_at(1), row_loss_at(c.rows);
    CrossEntropyCall call{loss_at.data(), row_loss_at.data(), {}, logits_at};
    call.labels = c.soft ? nullptr : labels_at.data();
    call.soft_targets = c.soft ? soft_at.data() : nullptr;
    call.label_smoothing = c.smoothing;
    call.gradient_factor = gradient_factor;
    call.loss_factor = loss_factor;
    call.rows = c.rows;
    call.classes = c.classes;
    if (gradient) call.d_logits = c.in_place ? logits_at : d_logits_at;
    const KernelCall any = call;
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &any), kDone);
    expect_close(row_loss_at.values(), row_loss, "row_loss");
    EXPECT_NEAR(static_cast<double>(loss_at.values()[0]), loss, 1e-5 * std::abs(loss) + 1e-7);
    const auto got = c.in_place ? logits_at.values() : d_logits_at.values();
    if (gradient)
      expect_sums(got, d_logits, "d_logits");
    else if (c.in_place)
      EXPECT_EQ(relative_error(got, doubles(logits)), 0) << "evaluating writes no gradient";
    else
      EXPECT_TRUE(poisoned_outside(got, 0, 0));
  }
}

TEST_F(CudaCrossEntropy, IsTheReference) {
  Draws draws(1);
  std::uint64_t seed = 10;
  std::vector<Case> cases = {{64, 1000}, {3, 50'257}, {9, 50'304}, {8, 20'000}, {1, 1}, {1500, 10}};
  for (int i = 0; i < 20; ++i)
    cases.push_back({draws.integer(1, 60), draws.integer(2, 3000), draws.integer(0, 1)});
  for (Case c : cases)
    for (const int options : {0, 1, 2, 3, 4}) {
      c.soft = options % 2 == 1;
      c.in_place = options >= 2;
      c.smoothing = options == 1 || options == 2 ? 0.1F : 0;
      check<float>(c, ++seed);
      check<Bf16>(c, ++seed);
    }
}

/// An impossible class that nobody asks for costs nothing; one that is asked for costs all.
TEST_F(CudaCrossEntropy, ImpossibleClasses) {
  const float never = -std::numeric_limits<float>::infinity();
  for (const std::int64_t classes : {16, 20'000}) {
    std::vector<float> logits(static_cast<std::size_t>(2 * classes), never);
    logits[3] = 1;
    logits[5] = 1;
    logits[static_cast<std::size_t>(classes + 2)] = 0;
    const Buffer<float> logits_at(logits), loss(1), rows(2), d_logits(2 * classes);
    const Integers labels({3, 4});
    CrossEntropyCall call{loss.data(), rows.data(), d_logits, logits_at, labels.data()};
    call.rows = 2;
    call.classes = classes;
    run(call);
    const std::vector<float> got = rows.values(), slope = d_logits.values();
    EXPECT_NEAR(got[0], std::log(2.0F), 1e-6);
    EXPECT_EQ(got[1], -never);
    EXPECT_NEAR(slope[3], -0.5, 1e-6);
    EXPECT_NEAR(slope[5], 0.5, 1e-6);
    EXPECT_EQ(slope[0], 0);
  }
}

TEST_F(CudaCrossEntropy, NotANumberIsSeen) {
  for (const std::size_t classes : {std::size_t{3000}, std::size_t{20'000}}) {
    std::vector<float> logits(classes, 0.5F);
    logits[2777] = std::nanf("");
    const Buffer<float> logits_at(logits), loss(std::vector<float>{1}), rows(std::vector<float>{1});
    const Integers labels({0});
    CrossEntropyCall call{loss.data(), rows.data(), {}, logits_at, labels.data()};
    call.rows = 1;
    call.classes = static_cast<std::int64_t>(classes);
    run(call);
    EXPECT_TRUE(std::isnan(rows.values()[0]));
    EXPECT_TRUE(std::isnan(loss.values()[0]));
  }
}

}  // namespace
}  // namespace sluice::train::cuda::cuda_cross_entropy_test
