// tests/image/planes_test.cpp - bytes into planes against the definition, on every instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/planes.h"

#include "sluice/image/simd.h"

#include <gtest/gtest.h>

#include "tests/image/support.h"
#include <array>
#include <vector>

namespace sluice::image::planes_test {
namespace {

constexpr std::array<std::array<int, 2>, 7> kPlaneSizes = {
    {{1, 1}, {15, 3}, {16, 2}, {33, 5}, {64, 1}, {127, 3}, {256, 4}}};

TEST(PlanesTest, FastMatchesTheReferenceOnEveryTarget) {
  for (const std::string& target : simd_targets()) {
    const SimdTargetOverride in_force(target);
    for (const auto& [width, height] : kPlaneSizes) {
      const Image src = testing::random_image<std::uint8_t>(width, height, 3, 5, 7);
      const auto plane = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
      const std::size_t stride = 2 * plane + 3;  // between planes lies what is not ours
      std::vector<std::uint8_t> fast(3 * stride, 0x5A), reference(3 * stride, 0x5A);
      split_planes(fast.data(), stride, src.view<std::uint8_t>());
      split_planes_reference(reference.data(), stride, src.view<std::uint8_t>());
      EXPECT_EQ(fast, reference) << target << " " << width << "x" << height;
    }
  }
}

}  // namespace
}  // namespace sluice::image::planes_test
