// tests/loader/text_maker_test.cpp - generated text: the same bytes, something to learn, nothing of
// others written over.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/tokens/text_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/loader/token_files.h"
#include <cmath>
#include <map>

namespace sluice::loader::text_maker_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TextMakerTest : public ::testing::Test {
 protected:
  [[nodiscard]] TextOptions options(const char* name = "text") const {
    TextOptions options;
    options.folder = folder_ / name;
    options.tokens = 100'003;
    options.vocabulary = 64;
    options.seed = 5;
    return options;
  }
  static MadeText made(const TextOptions& options) {
    auto text = make_text(options);
    if (text) return *text;
    ADD_FAILURE() << text.error().message;
    return {};
  }
  /// All tokens, whatever their shards.
  static std::vector<std::uint32_t> tokens_of(const fs::path& folder) {
    const auto text = testing::open_tokens(folder, 1);
    EXPECT_TRUE(text) << text.error().message;
    std::vector<std::uint32_t> tokens;
    for (const TokenIndex::Shard& shard : (*text)->index().shards) {
      const auto bytes = read_binary_file(folder / shard.name).value();
      const auto raw = std::as_bytes(std::span(bytes));
      for (std::size_t i = 0; i < shard.tokens; ++i)
        tokens.push_back(token_at(raw, (*text)->index().type, i));
    }
    return tokens;
  }

  testing_support::TemporaryFolder folder_;
};

double entropy(const std::map<std::uint64_t, double>& counts, double all) {
  double sum = 0;
  for (const auto& [what, count] : counts)
    sum -= count / all * std::log(count / all);
  return sum;
}

TEST_F(TextMakerTest, WordsFollowWordsAndDocumentsEnd) {
  const MadeText text = made(options());
  const std::vector<std::uint32_t> tokens = tokens_of(folder_ / "text");
  ASSERT_EQ(tokens.size(), 100'003U);
  std::map<std::uint64_t, double> single, pairs;
  std::vector<std::size_t> lengths{0};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_LT(tokens[i], 64U);
    ++single[tokens[i]];
    if (i > 0) ++pairs[std::uint64_t{tokens[i - 1]} << 32 | tokens[i]];
    if (tokens[i] == 0)
      lengths.push_back(0);
    else
      ++lengths.back();
  }
  lengths.pop_back();  // cut by the end
  EXPECT_EQ(lengths.size(), text.documents);
  ASSERT_GT(lengths.size(), 50U);
  EXPECT_GE(*std::min_element(lengths.begin(), lengths.end()), 32U);
  EXPECT_LE(*std::max_element(lengths.begin(), lengths.end()), 2047U);
  EXPECT_GT(*std::max_element(lengths.begin(), lengths.end()),
            4 * *std::min_element(lengths.begin(), lengths.end()));
  const auto all = static_cast<double>(tokens.size());
  EXPECT_NEAR(text.unigram_nats, entropy(single, all), 1e-9);
  EXPECT_LT(entropy(pairs, all - 1) - entropy(single, all), text.unigram_nats - 1)
      << "the word before says much";
  EXPECT_GT(single[1], 8 * single[50]) << "Zipf";
}

TEST_F(TextMakerTest, TheSameTextInAnyNumberOfShards) {
  TextOptions many = options("many");
  many.shards = 7;
  const MadeText one = made(options());
  const MadeText seven = made(many);
  EXPECT_EQ(tokens_of(folder_ / "text"), tokens_of(folder_ / "many"));
  EXPECT_EQ(one.documents, seven.documents);
  EXPECT_EQ(seven.written, 7U);
  EXPECT_EQ(seven.bytes, 2U * 100'003);
  EXPECT_EQ((*testing::open_tokens(folder_ / "many", 8))->index().shards[0].tokens, 14'287U);
  TextOptions other = options("other");
  other.seed = 6;
  made(other);
  EXPECT_NE(tokens_of(folder_ / "text"), tokens_of(folder_ / "other"));
  TextOptions wide = options("wide");
  wide.vocabulary = 70'000;
  EXPECT_EQ(made(wide).bytes, 4U * 100'003);
  EXPECT_EQ(one.hash, "c704e9e209f9302fee76c645df85ae0d95d99600ea1d9364ae51a1160e0c6fa5")
      << "of the seed, on any machine";
}

TEST_F(TextMakerTest, CompletesItsOwnAndRefusesOthers) {
  TextOptions text = options();
  text.shards = 3;
  const MadeText first = made(text);
  EXPECT_EQ(made(text).written, 0U);
  fs::remove(text.folder / "tokens-00001.bin");
  const MadeText again = made(text);
  EXPECT_EQ(again.written, 1U);
  EXPECT_EQ(again.hash, first.hash);
  text.seed = 8;
  const auto refused = make_text(text);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::usage);
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));
  text.force = true;
  text.shards = 2;
  EXPECT_EQ(made(text).written, 2U);
  EXPECT_FALSE(fs::exists(text.folder / "tokens-00002.bin")) << "of the text before";
  TextOptions beside = options("beside");
  fs::create_directories(beside.folder);
  ASSERT_TRUE(write_file_atomic(beside.folder / "notes.txt", "mine"));
  EXPECT_FALSE(make_text(beside));
  EXPECT_FALSE(fs::exists(beside.folder / std::string(kTokenIndexName)));
}

TEST_F(TextMakerTest, NumbersOutOfRangeAreNamed) {
  const struct {
    std::uint64_t tokens, vocabulary, shards;
    const char* says;
  } cases[] = {
      {1, 64, 1, "--tokens 1: 2 to"},
      {kMostMadeTokens + 1, 64, 1, "--tokens"},
      {100, 2, 1, "--vocabulary 2: 3 to 1048576"},
      {100, kMostMadeWords + 1, 1, "--vocabulary"},
      {100, 64, 0, "--shards 0: 1 to 100"},
      {100, 64, 101, "--shards 101: 1 to 100"},
      {std::uint64_t{1} << 30, 64, 3, "--shards 3: 4 to"},
  };
  for (const auto& [tokens, vocabulary, shards, says] : cases) {
    TextOptions text = options("none");
    text.tokens = tokens;
    text.vocabulary = vocabulary;
    text.shards = shards;
    const auto refused = make_text(text);
    ASSERT_FALSE(refused) << says;
    EXPECT_EQ(refused.error().code, Errc::usage);
    EXPECT_THAT(refused.error().message, HasSubstr(says));
    EXPECT_FALSE(fs::exists(text.folder));
  }
}

}  // namespace
}  // namespace sluice::loader::text_maker_test
