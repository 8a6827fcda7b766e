// tests/aug/byte_map_test.cpp - arithmetic that stands for a table gives the table's bytes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/byte_map.h"

#include "sluice/image/simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice::aug::kernels::byte_map_test {
namespace {

std::array<std::uint8_t, 256> table_of(double gain, double offset) {
  std::array<std::uint8_t, 256> table{};
  for (int i = 0; i < 256; ++i)
    table[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(std::clamp(std::floor(gain * i + offset + 1e-6), 0.0, 255.0));
  return table;
}

TEST(ByteMap, GivesTheTableWhateverItsForm) {
  std::vector<std::uint8_t> src(256 + 77), dst(src.size());
  for (std::size_t i = 0; i < src.size(); ++i)
    src[i] = static_cast<std::uint8_t>(i * 7);
  for (const std::string& target : image::simd_targets()) {
    const image::SimdTargetOverride with(target);
    for (int gain = 0; gain <= 40; ++gain)
      for (int offset = -300; offset <= 300; offset += 37) {
        const auto table = table_of(gain / 16.0, offset / 1.7);
        const ByteMap map = plan_byte_map(table, gain / 16.0);
        std::fill(dst.begin(), dst.end(), std::uint8_t{0xA5});
        map_bytes(dst.data(), src.data(), src.size(), map);
        for (std::size_t i = 0; i < src.size(); ++i)
          ASSERT_EQ(dst[i], table[src[i]]) << target << " gain " << gain << "/16 offset " << offset
                                           << "/1.7 x " << static_cast<int>(src[i]);
      }
  }
}

TEST(ByteMap, CanonicalMapsNeedNoTable) {
  EXPECT_EQ(plan_byte_map(table_of(1, 0), 1).kind, ByteMap::Kind::same);
  const ByteMap brighter = plan_byte_map(table_of(1.2, 0), 1.2);
  EXPECT_EQ(brighter.kind, ByteMap::Kind::linear);
  EXPECT_EQ(brighter.drop, 0) << "the cheapest form";
  EXPECT_EQ(plan_byte_map(table_of(0.8, 0), 0.8).kind, ByteMap::Kind::linear);
  for (int mean = 0; mean < 256; ++mean)
    EXPECT_EQ(plan_byte_map(table_of(1.2, -0.2 * (mean + 0.3)), 1.2).kind, ByteMap::Kind::linear);
}

TEST(ByteMap, AWrongGainOnlyCostsSpeed) {
  const auto table = table_of(1.37, -20);
  EXPECT_EQ(plan_byte_map(table, 0.4).kind, ByteMap::Kind::table);
}

}  // namespace
}  // namespace sluice::aug::kernels::byte_map_test
