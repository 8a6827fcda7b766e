// tests/storage/checksum_test.cpp - the checksum of cache files: frozen, and blind to nothing
// small.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/checksum.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace sluice::storage::checksum_test {
namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 131 + (i >> 8U));
  return bytes;
}

TEST(ChecksumTest, IsFrozen) {  // values of another implementation, in Python
  EXPECT_EQ(checksum({}), 3037051746501860239U);
  EXPECT_EQ(checksum(counting(1)), 13538347975747079184U);
  EXPECT_EQ(checksum(counting(32)), 428734834202091826U);
  EXPECT_EQ(checksum(counting(1000)), 15635142687086601869U);
}

TEST(ChecksumTest, DoesNotDependOnHowItIsFed) {
  const auto bytes = counting(300);
  const std::uint64_t whole = checksum(bytes);
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (const std::size_t second : {std::size_t{0}, std::size_t{1}, std::size_t{31}}) {
      const std::size_t cut = std::min(first + second, bytes.size());
      Checksum parts;
      parts.update(std::span(bytes).first(first));
      parts.update(std::span(bytes).subspan(first, cut - first));
      parts.update(std::span(bytes).subspan(cut));
      ASSERT_EQ(parts.value(), whole) << first << ", " << cut;
    }
  }
}

TEST(ChecksumTest, SeesEveryFlippedBitAndEveryLength) {
  auto bytes = counting(200);
  std::set<std::uint64_t> seen{checksum(bytes)};
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_TRUE(seen.insert(checksum(bytes)).second) << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  const std::vector<std::byte> zeros(300);
  for (std::size_t size = 0; size <= zeros.size(); ++size)
    EXPECT_TRUE(seen.insert(checksum(std::span(zeros).first(size))).second) << size;
}

TEST(ChecksumTest, SeesSwappedStripesAndZeroedPages) {
  const auto bytes = counting(8192);
  auto swapped = bytes;
  std::swap_ranges(swapped.begin(), swapped.begin() + 32, swapped.begin() + 32);
  EXPECT_NE(checksum(swapped), checksum(bytes));
  auto zeroed = bytes;
  std::fill(zeroed.begin() + 4096, zeroed.end(), std::byte{0});
  EXPECT_NE(checksum(zeroed), checksum(bytes));
}

}  // namespace
}  // namespace sluice::storage::checksum_test
