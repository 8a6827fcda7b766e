// tests/aug/scratch_test.cpp - scratch memory: aligned, apart, and it stops growing.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/scratch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace sluice::aug::scratch_test {
namespace {

TEST(Scratch, PiecesAreAlignedAndDoNotOverlap) {
  Scratch scratch;
  const auto a = scratch.take<std::uint8_t>(1000);
  const auto b = scratch.take<float>(70'000);
  const auto c = scratch.take<std::int16_t>(3);
  for (const void* piece : {static_cast<const void*>(a.data()), static_cast<const void*>(b.data()),
                            static_cast<const void*>(c.data())})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % Scratch::kAlignment, 0U);
  std::memset(a.data(), 1, a.size_bytes() + Scratch::kSlackBytes);
  std::memset(b.data(), 2, b.size_bytes() + Scratch::kSlackBytes);
  std::memset(c.data(), 3, c.size_bytes() + Scratch::kSlackBytes);
  EXPECT_EQ(a.back(), 1);
  EXPECT_EQ(reinterpret_cast<const std::uint8_t*>(b.data())[b.size_bytes() - 1], 2);
  EXPECT_EQ(a.front(), 1);
}

TEST(Scratch, StopsGrowing) {
  Scratch scratch;
  std::size_t after_second = 0;
  for (int round = 0; round < 5; ++round) {
    scratch.restart();
    (void)scratch.take<float>(100'000);
    (void)scratch.take<float>(300'000);
    (void)scratch.take<std::uint8_t>(7);
    if (round == 1) after_second = scratch.capacity_bytes();
    if (round > 1) {
      EXPECT_EQ(scratch.capacity_bytes(), after_second);
    }
  }
}

}  // namespace
}  // namespace sluice::aug::scratch_test
