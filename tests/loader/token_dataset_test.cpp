// tests/loader/token_dataset_test.cpp - token files: sequences whatever the shards, resume, and
// what is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/tokens/token_dataset.h"

#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/tokens/token_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/loader/token_files.h"
#include <functional>
#include <set>

namespace sluice::loader::token_dataset_test {
namespace {

namespace fs = std::filesystem;
using testing::counting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::open_tokens;
using testing::write_text;

std::vector<std::uint32_t> sample_of(const TokenDataset& text, std::uint64_t index) {
  storage::ReadBuffer buffer;
  const auto raw = text.read(index, buffer);
  if (!raw) {
    ADD_FAILURE() << raw.error().message;
    return {};
  }
  EXPECT_EQ(raw->size(), text.bytes(index));
  std::vector<std::uint32_t> tokens;
  for (std::size_t i = 0; i < raw->size() / bytes_of(text.index().type); ++i)
    tokens.push_back(token_at(*raw, text.index().type, i));
  return tokens;
}

class TokenDatasetTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string problem(std::uint32_t sequence = 4) const {
    const auto text = open_tokens(folder_.path(), sequence);
    if (text) return "none";
    EXPECT_EQ(text.error().code, Errc::invalid_input);
    EXPECT_EQ(text.error().message.find('\n'), std::string::npos);
    return text.error().message;
  }
  void change(const std::function<void(Json&)>& how) const {
    const fs::path path = folder_ / std::string(kTokenIndexName);
    Json json = parse_json(read_text_file(path).value(), "index").value();
    how(json);
    ASSERT_TRUE(write_file_atomic(path, dump_json(json)));
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(TokenDatasetTest, PacksTheTextWhateverItsShardsAndTypes) {
  const std::vector<std::vector<std::vector<std::uint32_t>>> ways{
      {counting(0, 20)},
      {counting(0, 5), {}, counting(5, 1), counting(6, 2), counting(8, 12)},
      {{}, counting(0, 17), counting(17, 3), {}}};
  for (const auto& shards : ways) {
    for (const TokenType type : {TokenType::u16, TokenType::u32}) {
      write_text(folder_.path(), shards, type);
      const auto text = open_tokens(folder_.path(), 4);
      ASSERT_TRUE(text) << text.error().message;
      ASSERT_EQ((*text)->size(), 4U) << "the target of token 19 is not there";
      for (std::uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(sample_of(**text, i), counting(4 * i, 5));
      EXPECT_EQ((*text)->label(0), -1);
      EXPECT_THAT((*text)->shard_starts(), ElementsAre(0));
    }
  }
  EXPECT_EQ((*open_tokens(folder_.path(), 4))->name(3), "1.bin:12");
  EXPECT_EQ((*open_tokens(folder_.path(), 19))->size(), 1U);
}

/// All batches of an epoch from where `loader` is, and the state after each.
struct Taken {
  std::vector<std::vector<std::int32_t>> batches;
  std::vector<LoaderState> after;
};
Taken rest_of(Loader& loader) {
  Taken taken;
  while (true) {
    auto batch = loader.next();
    EXPECT_TRUE(batch) << batch.error().message;
    if (!batch || !*batch) return taken;
    const auto values = (*batch)->as<std::int32_t>();
    taken.batches.emplace_back(values.begin(), values.end());
    taken.after.push_back(loader.state());
  }
}

TEST_F(TokenDatasetTest, AnEpochIsAPermutationThatGoesOnAfterAnyBatch) {
  write_text(folder_.path(), {counting(0, 500), counting(500, 301)});
  const std::shared_ptr<const TokenDataset> text = *open_tokens(folder_.path(), 8);
  ASSERT_EQ(text->size(), 100U);
  const auto make = [&](int workers) {
    LoaderOptions options;
    options.batch_size = 10;
    options.workers = workers;
    options.seed = 7;
    return std::move(*Loader::make(text, make_tokens({8, 100}), options));
  };
  const auto whole = make(2);
  ASSERT_TRUE(whole->start_epoch(3));
  const Taken wanted = rest_of(*whole);
  ASSERT_EQ(wanted.batches.size(), 10U);
  std::multiset<std::int32_t> firsts;
  for (const auto& batch : wanted.batches) {
    ASSERT_EQ(batch.size(), 10U * 9);
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (i % 9 == 0)
        firsts.insert(batch[i]);
      else
        ASSERT_EQ(batch[i], (batch[i - 1] + 1) % 100);
  }
  std::multiset<std::int32_t> all;
  for (std::int32_t i = 0; i < 100; ++i)
    all.insert(i * 8 % 100);
  EXPECT_EQ(firsts, all);
  ASSERT_TRUE(whole->start_epoch(4));
  EXPECT_NE(rest_of(*whole).batches, wanted.batches) << "another order";
  for (std::size_t k = 0; k < wanted.batches.size(); ++k) {
    const auto resumed = make(k % 2 == 0 ? 0 : 3);
    const Json saved = parse_json(dump_json(to_json(wanted.after[k])), "state").value();
    const auto state = state_from_json(saved);
    ASSERT_TRUE(state) << state.error().message;
    const Status restored = resumed->restore(*state);
    ASSERT_TRUE(restored) << restored.error().message;
    const std::vector<std::vector<std::int32_t>> rest(
        wanted.batches.begin() + static_cast<std::ptrdiff_t>(k) + 1, wanted.batches.end());
    EXPECT_EQ(rest_of(*resumed).batches, rest) << k;
  }
}

TEST_F(TokenDatasetTest, IdsBeyondTheVocabularyAreNamed) {
  std::vector<std::uint32_t> tokens = counting(0, 9000);
  tokens[8500] = 99;
  tokens[8501] = 103;
  write_text(folder_.path(), {counting(0, 50), tokens}, TokenType::u16, 200);
  const auto text = *open_tokens(folder_.path(), 4);
  EXPECT_TRUE(text->check_ids(104));
  EXPECT_TRUE(text->check_ids(70'000));
  const Status model = text->check_ids(100);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Errc::invalid_input);
  EXPECT_THAT(model.error().message,
              HasSubstr("/1.bin: token 8501 is 103; the model has 100 ids, 0 to 99 are accepted"));
  change([](Json& json) { json["vocabulary"] = 103; });
  const Status index = (*open_tokens(folder_.path(), 4))->check_ids(5000);
  ASSERT_FALSE(index);
  EXPECT_THAT(index.error().message, HasSubstr("1.bin: token 8501 is 103; tokens.json has 103"));
  write_text(folder_.path(), {{1, 2, 0xfffffff0U, 3, 4, 5}}, TokenType::u32);
  const Status wide = (*open_tokens(folder_.path(), 4))->check_ids(100);
  ASSERT_FALSE(wide);
  EXPECT_THAT(wide.error().message, HasSubstr("0.bin: token 2 is 4294967280"));
}

TEST_F(TokenDatasetTest, ALoaderNamesTheSequenceOfABadId) {
  std::vector<std::uint32_t> tokens = counting(0, 41);
  tokens[22] = 101;
  write_text(folder_.path(), {tokens}, TokenType::u32, 200);
  LoaderOptions options;
  options.batch_size = 2;
  options.workers = 0;
  options.shuffle = Shuffle::none;
  const std::shared_ptr<const TokenDataset> text = *open_tokens(folder_.path(), 8);
  const auto loader = std::move(*Loader::make(text, make_tokens({8, 100}), options));
  ASSERT_TRUE(loader->next());
  const auto bad = loader->next();
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("0.bin:16: token 6 from there on is 101; 0 to 99"));
  options.on_error = OnError::skip;
  const auto skipping = std::move(*Loader::make(text, make_tokens({8, 100}), options));
  EXPECT_EQ(rest_of(*skipping).batches.size(), 2U);
  EXPECT_EQ(skipping->stats().skipped, 1U);
}

TEST_F(TokenDatasetTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(problem(), HasSubstr("has no tokens.json; a model of text takes a folder of tokens"));
  const auto text = [&] { write_text(folder_.path(), {counting(0, 8), counting(8, 8)}); };
  text();
  EXPECT_EQ(problem(), "none");
  EXPECT_EQ(problem(15), "none");
  EXPECT_THAT(problem(16), HasSubstr("has 16 tokens; a sequence of 16 needs 17"));
  const struct {
    std::function<void(Json&)> how;
    const char* says;
  } cases[] = {
      {[](Json& json) { json["dtype"] = "float16"; },
       "tokens.json: dtype is \"float16\"; \"uint16\" or \"uint32\" is accepted"},
      {[](Json& json) { json.erase("dtype"); }, "dtype is missing"},
      {[](Json& json) { json["schema"] = "other"; }, "sluice-tokens-1"},
      {[](Json& json) { json = Json::array(); }, "schema is missing"},
      {[](Json& json) { json["vocabulary"] = 0; }, "vocabulary is 0"},
      {[](Json& json) { json["vocabulary"] = -4; }, "vocabulary is -4"},
      {[](Json& json) { json["vocabulary"] = 1e18; }, "vocabulary is 1e+18"},
      {[](Json& json) { json["end_of_document"] = 100; }, "end_of_document is 100; a whole number"},
      {[](Json& json) { json["shards"] = Json::array(); }, "shards is []"},
      {[](Json& json) { json["shards"] = std::string(1000, 'x'); }, "xxx...; a list"},
      {[](Json& json) { json["shards"][1] = 3; }, "shards[1].name is missing"},
      {[](Json& json) { json["shards"][1]["name"] = "../1.bin"; }, "shards[1].name is"},
      {[](Json& json) { json["shards"][0]["tokens"] = 9; },
       "0.bin: holds 8 tokens, but tokens.json says 9"},
      {[](Json& json) { json["shards"][0]["tokens"] = std::uint64_t{1} << 60; },
       "shards[0].tokens"},
      {[](Json& json) { json["shards"][0]["name"] = "9.bin"; },
       "9.bin: is not there, but tokens.json names it with 8 tokens"},
      {[](Json& json) { json["dtype"] = "uint32"; }, "0.bin: holds 4 tokens"},
  };
  for (const auto& [how, says] : cases) {
    text();
    change(how);
    EXPECT_THAT(problem(), HasSubstr(says));
  }
  text();
  ASSERT_TRUE(write_file_atomic(folder_ / "1.bin", std::string(15, '\0')));
  EXPECT_THAT(problem(), HasSubstr("1.bin: has 15 bytes; a multiple of 2 is accepted"));
  ASSERT_TRUE(write_file_atomic(folder_ / std::string(kTokenIndexName), "{\"schema\""));
  EXPECT_THAT(problem(), HasSubstr("not valid JSON"));
  ASSERT_TRUE(write_file_atomic(folder_ / std::string(kTokenIndexName), ""));
  EXPECT_THAT(problem(), HasSubstr("has 0 bytes"));
}

TEST_F(TokenDatasetTest, TokensAreNoImages) {
  write_text(folder_.path(), {counting(0, 8)});
  auto store = storage::open_local({.path = folder_.path()});
  const auto images =
      open_dataset(std::shared_ptr<storage::ObjectStore>(std::move(*store)), DatasetOptions{});
  ASSERT_FALSE(images);
  EXPECT_EQ(images.error().code, Errc::invalid_input);
  EXPECT_THAT(images.error().message, HasSubstr("holds tokens, which models of text"));
}

}  // namespace
}  // namespace sluice::loader::token_dataset_test
