// tests/loader/episode_files_test.cpp - splits, dataset_info.json, features.json: what is taken and
// what is refused, by name.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/dataset_info.h"
#include "sluice/loader/episodes/features.h"
#include "sluice/loader/episodes/make_episode.h"
#include "sluice/loader/episodes/presets.h"
#include "sluice/loader/episodes/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sluice::loader::episodes::episode_files_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SplitTest, SlicesAreThoseOfTfds) {
  const struct {
    const char* text;
    std::uint64_t episodes, first, last;
  } cases[] = {
      {"train", 7, 0, 7},           {"train[:90%]", 7, 0, 6},  {"train[90%:]", 7, 6, 7},
      {"train[:50%]", 5, 0, 2},  // 2.5: halves to even
      {"train[:50%]", 7, 0, 4},  // 3.5
      {"train[2:5]", 7, 2, 5},      {"train[-3:]", 7, 4, 7},   {"train[:-3]", 7, 0, 4},
      {"train[-50%:]", 10, 5, 10},  {"train[5:2]", 7, 5, 5},   {"train[0:0]", 7, 0, 0},
      {"train[12.5%:]", 16, 2, 16}, {"train[:100%]", 3, 0, 3}, {"train", 0, 0, 0},
  };
  for (const auto& [text, episodes, first, last] : cases) {
    const auto split = Split::parse(text);
    ASSERT_TRUE(split) << text;
    const auto range = split->range(episodes);
    ASSERT_TRUE(range) << text;
    EXPECT_EQ(range->first, first) << text;
    EXPECT_EQ(range->last, last) << text;
  }
}

TEST(SplitTest, BothHalvesOfAPercentageAreTheWhole) {
  for (std::uint64_t episodes = 0; episodes < 300; ++episodes)
    for (int percent = 0; percent <= 100; percent += 3) {
      const auto before = Split::parse("t[:" + std::to_string(percent) + "%]")->range(episodes);
      const auto after = Split::parse("t[" + std::to_string(percent) + "%:]")->range(episodes);
      ASSERT_EQ(before->last, after->first);
      ASSERT_EQ(before->first, 0U);
      ASSERT_EQ(after->last, episodes);
    }
}

TEST(SplitTest, WhatIsNoSliceIsRefused) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {{"", "no name"},
               {"train[", "']' is missing"},
               {"train[:]", "a bound is missing"},
               {"train[]", "':' is missing"},
               {"train[5]", "':' is missing"},
               {"train[a:b]", "'a' is no number"},
               {"train[1.5:]", "1.5 is no whole number"},
               {"train[:101%]", "101% is more than all"},
               {"train[10:50%]", "one bound is a percentage"},
               {"train+val", "several splits"},
               {"train[0shard:]", "shards as unit"},
               {"tr/ain", "no name"},
               {"train[1e9:]", "no number"}};
  for (const auto& [text, says] : cases) {
    const auto split = Split::parse(text);
    ASSERT_FALSE(split) << text;
    EXPECT_EQ(split.error().code, Errc::usage);
    EXPECT_THAT(split.error().message, HasSubstr(says));
  }
  EXPECT_FALSE(Split::parse("train[:9]")->range(8));
  EXPECT_FALSE(Split::parse("train[-9:]")->range(8));
}

constexpr const char* kInfo = R"({"name": "tiny", "version": "1.0.0", "fileFormat": "tfrecord",
  "splits": [{"name": "train", "shardLengths": ["3", "4"], "numBytes": "99",
              "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"},
             {"name": "val", "shardLengths": [5], "filepathTemplate": "{SPLIT}/{SHARD_INDEX}"}]})";

TEST(DatasetInfoTest, NamesShards) {
  const auto info = parse_dataset_info(kInfo, "x");
  ASSERT_TRUE(info) << info.error().message;
  const SplitInfo& train = **info->split("train");
  EXPECT_EQ(train.episodes(), 7U);
  EXPECT_EQ(train.bytes, 99U);
  EXPECT_EQ(info->shard_name(train, 1), "tiny-train.tfrecord-00001-of-00002");
  EXPECT_EQ(info->shard_name(**info->split("val"), 0), "val/00000");
  EXPECT_THAT(info->split("test").error().message, HasSubstr("it has train, val"));
}

TEST(DatasetInfoTest, WhatIsNotReadIsRefused) {
  const struct {
    const char* text;
    Errc code;
    const char* says;
  } cases[] = {
      {"{", Errc::invalid_input, "x"},
      {"[]", Errc::invalid_input, "no dictionary"},
      {R"({"name": "a", "fileFormat": "riegeli", "splits": []})", Errc::unsupported,
       "its files are riegeli; tfrecord is read"},
      {R"({"fileFormat": "tfrecord", "splits": []})", Errc::invalid_input, "name ''"},
      {R"({"name": "a/b", "splits": []})", Errc::invalid_input, "name 'a/b'"},
      {R"({"name": "a"})", Errc::invalid_input, "no list 'splits'"},
      {R"({"name": "a", "splits": [{"name": "t", "shardLengths": ["-1"]}]})", Errc::invalid_input,
       "a shard of \"-1\" episodes"},
      {R"({"name": "a", "splits": [{"name": "t", "filepathTemplate": "../x"}]})",
       Errc::invalid_input, "outside of the folder"},
  };
  for (const auto& [text, code, says] : cases) {
    const auto info = parse_dataset_info(text, "x");
    ASSERT_FALSE(info) << text;
    EXPECT_EQ(info.error().code, code) << text;
    EXPECT_THAT(info.error().message, HasSubstr(says));
  }
}

TEST(FeaturesTest, MadeFeaturesComeBack) {
  for (const DatasetSpec& spec : (*find_preset("oxe29"))->datasets) {
    const auto table = parse_features(dump_json(made_features(spec)), "x");
    ASSERT_TRUE(table) << spec.name << ": " << table.error().message;
    const FeatureSpec& image = table->specs.at(*table->require(spec.image));
    EXPECT_EQ(image.type, FeatureType::image);
    EXPECT_THAT(image.shape, ElementsAre(spec.height, spec.width, 3));
    EXPECT_TRUE(image.in_steps);
    EXPECT_EQ(image.sequences, 1);
    if (spec.action_size > 0) {
      const FeatureSpec& action = table->specs.at(*table->require(spec.action));
      EXPECT_EQ(action.values(), static_cast<std::uint64_t>(spec.action_size));
      EXPECT_EQ(action.list(), storage::ListKind::floats);
    }
    EXPECT_TRUE(table->require(spec.language));
    EXPECT_FALSE(table->specs.at(*table->find("episode_metadata/robot")).in_steps);
  }
}

TEST(FeaturesTest, WhatIsNoEpisodeIsRefused) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"[]", "no sequence 'steps'"},
      {R"({"featuresDict": {"features": {"image": {"image": {}}}}})", "no sequence 'steps'"},
      {R"({"featuresDict": {"features": {"steps": {"sequence": {}}}}})", "a sequence of nothing"},
      {R"({"featuresDict": {"features": {"steps": {"sequence": {"feature":
          {"tensor": {"dtype": "float32", "shape": {"dimensions": ["-7"]}}}}}}}})",
       "dimension \"-7\""},
      {R"({"featuresDict": {"features": {"steps": {"sequence": {"feature":
          {"tensor": {"dtype": "float32", "encoding": "lz4"}}}}}}})",
       "encoding 'lz4'"},
  };
  for (const auto& [text, says] : cases) {
    const auto table = parse_features(text, "x");
    ASSERT_FALSE(table) << text;
    EXPECT_THAT(table.error().message, HasSubstr(says));
  }
  const auto table = parse_features(
      dump_json(made_features((*find_preset("oxe29"))->datasets.front())), "features.json");
  EXPECT_THAT(table->require("steps/observation/rgv").error().message,
              HasSubstr("did you mean 'steps/observation/rgb'?"));
}

TEST(PresetTest, Oxe29IsTheTable) {
  const Preset& preset = **find_preset("oxe29");
  ASSERT_EQ(preset.datasets.size(), 29U);
  std::set<std::string_view> names, folders;
  int action = 0, state = 0;
  for (const DatasetSpec& spec : preset.datasets) {
    names.insert(spec.name);
    folders.insert(spec.folder);
    action = std::max(action, spec.action_size);
    state = std::max(state, spec.state_size);
    EXPECT_GT(spec.width, 0);
    EXPECT_GE(spec.offset, 1);
    EXPECT_EQ(spec.weight, 0.03);
    EXPECT_EQ(spec.action.empty(), spec.action_size == 0) << spec.name;
    EXPECT_EQ(spec.state.empty(), spec.state_size == 0) << spec.name;
  }
  EXPECT_EQ(names.size(), 29U);
  EXPECT_EQ(folders.size(), 29U);
  EXPECT_EQ(action, 30);
  EXPECT_EQ(state, 15);
  EXPECT_THAT(find_preset("oxe30").error().message, HasSubstr("accepted: oxe29"));
}

}  // namespace
}  // namespace sluice::loader::episodes::episode_files_test
