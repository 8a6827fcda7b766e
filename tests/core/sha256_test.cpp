// tests/core/sha256_test.cpp - NIST vectors, and any split of the input gives the same digest.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sluice::sha256_test {
namespace {

TEST(Sha256, MatchesTheNistVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                       "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, AcceptsBytes) {
  const std::vector<std::uint8_t> bytes{'a', 'b', 'c'};
  EXPECT_EQ(sha256_hex(std::span<const std::uint8_t>(bytes)), sha256_hex("abc"));
}

TEST(Sha256, AnySplitGivesTheSameDigest) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += static_cast<char>('!' + i % 90);
  for (std::size_t length : {0U, 1U, 55U, 56U, 63U, 64U, 65U, 119U, 120U, 128U, 200U}) {
    const std::string_view whole = std::string_view(text).substr(0, length);
    for (std::size_t step : {1U, 7U, 63U, 64U, 65U}) {
      Sha256 hash;
      for (std::size_t i = 0; i < length; i += step)
        hash.update(whole.substr(i, step));
      EXPECT_EQ(hash.hex(), sha256_hex(whole)) << length << " by " << step;
    }
  }
}

}  // namespace
}  // namespace sluice::sha256_test
