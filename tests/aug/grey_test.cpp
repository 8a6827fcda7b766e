// tests/aug/grey_test.cpp - grey pixels over their own source, at every length.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/grey.h"

#include "sluice/core/rng.h"
#include "sluice/image/simd.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::aug::grey_test {
namespace {

TEST(Grey, InPlaceIsTheSameAsApart) {
  for (const std::string& target : image::simd_targets()) {
    const image::SimdTargetOverride with(target);
    for (std::size_t pixels = 1; pixels < 200; ++pixels) {
      Rng rng({.seed = 1, .index = pixels});
      std::vector<std::uint8_t> source(3 * pixels), wanted;
      for (auto& sample : source)
        sample = static_cast<std::uint8_t>(rng.next_u32() & 255);
      for (std::size_t p = 0; p < pixels; ++p)
        wanted.insert(wanted.end(), 3,
                      static_cast<std::uint8_t>((9798 * source[3 * p] + 19235 * source[3 * p + 1] +
                                                 3735 * source[3 * p + 2] + 16384) /
                                                32768));
      std::vector<std::uint8_t> apart(3 * pixels);
      kernels::grey_rgb(apart.data(), source.data(), pixels, 3);
      kernels::grey_rgb(source.data(), source.data(), pixels, 3);
      EXPECT_EQ(apart, wanted) << target << " " << pixels;
      EXPECT_EQ(source, wanted) << target << " " << pixels;
    }
  }
}

}  // namespace
}  // namespace sluice::aug::grey_test
