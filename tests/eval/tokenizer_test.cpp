// tests/eval/tokenizer_test.cpp - bytes to ids and back, the fixed merges, and lists that are none.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/tokenizer.h"

#include "sluice/core/rng.h"
#include "sluice/core/sha256.h"
#include "sluice/eval/data.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::eval::tokenizer_test {
namespace {

using Ids = std::vector<std::int32_t>;

Tokenizer built_in() {
  auto tokenizer = Tokenizer::built_in();
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *tokenizer;
}

TEST(Tokenizer, JoinsTheBestPairFirst) {
  // 256 "ab", 257 "abc", 258 " a"
  const auto tokenizer = Tokenizer::parse("97 98\n256 99\n32 97\n");
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->vocabulary(), 260);
  EXPECT_EQ(tokenizer->end(), 259);
  EXPECT_EQ(tokenizer->encode("abc"), (Ids{257}));
  EXPECT_EQ(tokenizer->encode(" abc"), (Ids{32, 257}));  // "ab" was learned before " a"
  EXPECT_EQ(tokenizer->encode(" ax"), (Ids{258, 120}));
  EXPECT_EQ(tokenizer->encode("ababc"), (Ids{256, 257}));
  EXPECT_EQ(tokenizer->decode(Ids{258, 259, 257}), " aabc");  // the end has no bytes
}

TEST(Tokenizer, NeverJoinsAcrossWords) {
  const auto tokenizer = Tokenizer::parse("49 50\n97 46\n97 32\n10 10\n");
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode("12"), (Ids{49, 50}));  // a digit at a time
  EXPECT_EQ(tokenizer->encode("a."), (Ids{97, 46}));
  EXPECT_EQ(tokenizer->encode("a b"), (Ids{97, 32, 98}));
  EXPECT_EQ(tokenizer->encode("\n\n"), (Ids{10, 10}));
}

TEST(Tokenizer, GivesAnyBytesBack) {
  const Tokenizer tokenizer = built_in();
  EXPECT_EQ(tokenizer.vocabulary(), 1024);
  for (std::uint64_t round = 0; round < 200; ++round) {
    Rng rng({.seed = 1, .index = round});
    std::string text(rng.below(300), ' ');
    const bool plain = rng.below(2) == 0;
    for (char& c : text)
      c = static_cast<char>(plain ? 32 + rng.below(95) : rng.below(256));
    const Ids ids = tokenizer.encode(text);
    EXPECT_EQ(tokenizer.decode(ids), text);
    for (const std::int32_t id : ids)
      EXPECT_LT(id, tokenizer.end());
  }
  const std::string endless(100'000, 'a');  // no quadratic time in the length of a word
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(endless)), endless);
}

TEST(Tokenizer, ShortensTheShardByMoreThanHalf) {
  const Tokenizer tokenizer = built_in();
  const auto shard = data_file(kShardFile);
  ASSERT_TRUE(shard) << shard.error().message;
  const Ids ids = tokenizer.encode(*shard);
  EXPECT_EQ(tokenizer.decode(ids), *shard);
  EXPECT_LT(ids.size(), 32'000U);
  EXPECT_LT(ids.size() * 2, shard->size());
}

TEST(Tokenizer, RefusesWhatIsNoListOfMerges) {
  for (const char* merges : {"97", "97 98 99", "a b", "97 256", "-1 5", "97 98\n97 98", "97  98"}) {
    const auto tokenizer = Tokenizer::parse(merges);
    ASSERT_FALSE(tokenizer) << merges;
    EXPECT_EQ(tokenizer.error().code, Errc::invalid_input);
    EXPECT_NE(tokenizer.error().message.find("line"), std::string::npos);
  }
}

TEST(Data, EveryFileIsTheOneThatBelongsToThisBuild) {
  EXPECT_EQ(data_files().size(), 8U);
  for (const std::string& name : data_files()) {
    const auto text = data_file(name);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(sha256_hex(*text), data_digest(name));
  }
  EXPECT_EQ(data_file("other.txt").error().code, Errc::not_found);
}

TEST(Data, TheShardHasTheSizeOfItsDescription) {
  const auto shard = data_file(kShardFile);
  ASSERT_TRUE(shard);
  EXPECT_GT(shard->size(), 45'000U);
  EXPECT_LT(shard->size(), 55'000U);
}

}  // namespace
}  // namespace sluice::eval::tokenizer_test
