// tests/storage/crc32c_test.cpp - CRC-32C: published values, and the fast path beside the plain
// one.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/crc32c.h"

#include "sluice/core/rng.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace sluice::storage::crc32c_test {
namespace {

std::vector<std::byte> filled(std::size_t size, int first, int step) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(first + static_cast<int>(i) * step);
  return bytes;
}

TEST(Crc32cTest, HasThePublishedValues) {  // RFC 3720, B.4; "123456789" is every catalogue's check
  const struct {
    std::vector<std::byte> bytes;
    std::uint32_t crc;
  } cases[] = {{{}, 0},
               {filled(32, 0, 0), 0x8a9136aa},
               {filled(32, 0xff, 0), 0x62a8ab43},
               {filled(32, 0, 1), 0x46dd794e},
               {filled(32, 31, -1), 0x113fdb5c},
               {filled(9, '1', 1), 0xe3069283}};
  for (const auto& [bytes, crc] : cases) {
    EXPECT_EQ(crc32c_reference(bytes), crc) << bytes.size();
    EXPECT_EQ(crc32c(bytes), crc) << bytes.size() << " on " << crc32c_target();
  }
}

TEST(Crc32cTest, MaskIsThatOfTfrecord) {
  EXPECT_EQ(mask_crc32c(0), 0xa282ead8U);
  EXPECT_EQ(mask_crc32c(0xe3069283U), 0xc78ab0e5U);
}

TEST(Crc32cTest, FastPathIsThePlainOneAtEverySizeAndAlignment) {
  Rng rng(RngKey{.seed = 7});
  std::vector<std::byte> bytes(3 * 4096 * 2 + 3 * 256 + 40);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(rng.next_u32());
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size < 40; ++size)
    sizes.push_back(size);
  for (const std::size_t part : {3UL * 256, 3UL * 4096, 3UL * 4096 + 3 * 256, 2UL * 3 * 4096})
    for (const std::size_t more : {0UL, 1UL, 7UL, 8UL, 9UL})
      sizes.insert(sizes.end(), {part - 1, part + more});
  for (const std::size_t size : sizes)
    for (const std::size_t start : {0UL, 1UL, 5UL}) {
      if (start + size > bytes.size()) continue;
      const auto part = std::span<const std::byte>(bytes).subspan(start, size);
      ASSERT_EQ(crc32c(part), crc32c_reference(part)) << size << " from " << start;
    }
}

TEST(Crc32cTest, GoesOnFromASum) {
  const auto bytes = filled(30'000, 3, 7);
  const auto all = std::span<const std::byte>(bytes);
  const std::uint32_t whole = crc32c_reference(all);
  for (const std::size_t at :
       {0UL, 1UL, 9UL, 255UL, 768UL, 12'287UL, 12'288UL, 29'999UL, 30'000UL}) {
    EXPECT_EQ(crc32c(all.subspan(at), crc32c(all.first(at))), whole) << at;
    EXPECT_EQ(crc32c_reference(all.subspan(at), crc32c_reference(all.first(at))), whole) << at;
  }
}

}  // namespace
}  // namespace sluice::storage::crc32c_test
