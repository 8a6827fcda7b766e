// tests/loader/preset_test.cpp - presets as files: what is read, what is refused, what is drafted.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/preset_draft.h"
#include "sluice/loader/episodes/presets.h"

#include "tests/loader/mixture_fixture.h"
#include <fstream>

namespace sluice::loader::mixture::preset_test {
namespace {

using ::testing::HasSubstr;

class PresetFileTest : public MixtureFixture {
 protected:
  std::string write(const std::string& text) {
    const fs::path path = folder_ / "my.yaml";
    std::ofstream(path) << text;
    return path.string();
  }
  std::string refusal(const std::string& text) {
    const auto found = episodes::find_preset(write(text));
    EXPECT_FALSE(found);
    return found ? "" : found.error().message;
  }
};

constexpr const char* kOne = R"(what: two of three
type: lab
datasets:
  first:
    folder: one_full
    split: train[:50%]
    weight: 0.25
    offset: 3
    parallelism: 7
    image: steps/observation/image
    action: steps/action
    state: steps/observation/pose
    language: steps/language_instruction
  second:
    folder: two_full
    type: other
    skip: true
    image: steps/observation/rgb
)";

TEST_F(PresetFileTest, SaysWhatIsMixedAndHow) {
  const auto preset = episodes::find_preset(write(kOne));
  ASSERT_TRUE(preset) << preset.error().message;
  EXPECT_EQ((*preset)->name, "my");
  EXPECT_EQ((*preset)->root, folder_.string());  // none is written: the folder of the file
  ASSERT_EQ((*preset)->datasets.size(), 2U);
  EXPECT_EQ((*preset)->datasets[1].type, "other");
  const auto opened = preset_sources(store_, **preset);
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_EQ(opened->size(), 1U);  // the other is skipped
  const SourceSpec& source = opened->front();
  EXPECT_EQ(source.name, "first");
  EXPECT_EQ(source.type, "lab");
  EXPECT_EQ(source.split, "train[:50%]");
  EXPECT_EQ(source.dataset->episodes, 10U);
  EXPECT_EQ(source.weight, 0.25);
  EXPECT_EQ(source.offset, 3);
  EXPECT_EQ(source.interleave, 7);
  EXPECT_THAT(source.where, HasSubstr("my.yaml:"));
  const auto mixture = Mixture::open(*opened, options());
  ASSERT_TRUE(mixture) << mixture.error().message;
  const auto batch = (*mixture)->next();
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ((*batch)->full.action_size, 2);
  EXPECT_EQ((*batch)->full.offset.front(), 3);
}

TEST_F(PresetFileTest, ValidationReadsItsOwnSplit) {
  auto preset = **episodes::find_preset(write(kOne));
  const auto common = preset_sources(store_, preset, {.part = PresetPart::validation});
  ASSERT_TRUE(common) << common.error().message;
  EXPECT_EQ(common->front().split, "train[90%:]");
  preset.datasets[0].validation = "train[50%:]";
  const auto own = preset_sources(store_, preset, {.part = PresetPart::validation});
  EXPECT_EQ(own->front().split, "train[50%:]");
}

TEST_F(PresetFileTest, ADataSetMayHaveAPlaceOfItsOwn) {
  const std::string place = (folder_ / "two_full").string();
  const auto preset =
      episodes::find_preset(write("root: nowhere\ndatasets:\n  far:\n    folder: " + place +
                                  "\n    image: steps/observation/rgb\n"));
  ASSERT_TRUE(preset) << preset.error().message;
  EXPECT_EQ((*preset)->root, (folder_ / "nowhere").string());
  const auto opened = preset_sources(nullptr, **preset, {.split = "train"});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->front().place, place);
  EXPECT_EQ(opened->front().dataset->episodes, 20U);
}

TEST_F(PresetFileTest, WhatIsWrongIsNamedByLineWithTheNearestKey) {
  const std::string said = refusal(
      "datasets:\n  a:\n    folder: one_full\n    imgae: steps/observation/image\n"
      "    weight: -1\n    offset: 0\n    split: train[\n");
  EXPECT_THAT(said, HasSubstr("my.yaml:4: unknown key 'datasets.a.imgae'"));
  EXPECT_THAT(said, HasSubstr("image"));
  EXPECT_THAT(said, HasSubstr("missing key 'datasets.a.image'"));
  EXPECT_THAT(said, HasSubstr("my.yaml:5: datasets.a.weight: '-1' is not"));
  EXPECT_THAT(said, HasSubstr("my.yaml:6: datasets.a.offset: '0' is not"));
  EXPECT_THAT(said, HasSubstr("my.yaml:7: "));
  EXPECT_EQ(said.find('\n'), std::string::npos);
  EXPECT_THAT(refusal("what: nothing\n"), HasSubstr("no data set is named"));
  EXPECT_THAT(refusal("datasets:\n  'a,b':\n    folder: x\n    image: y\n"),
              HasSubstr("a name of letters"));
  EXPECT_THAT(episodes::find_preset((folder_ / "absent.yaml").string()).error().message,
              HasSubstr("absent.yaml"));
}

TEST_F(PresetFileTest, FeaturesThatAreNotThereNameTheDataSetAndThePreset) {
  const auto say = [&](const std::string& fields) {
    const auto preset =
        episodes::find_preset(write("datasets:\n  a:\n    folder: one_full\n" + fields));
    EXPECT_TRUE(preset) << preset.error().message;
    auto opened = preset_sources(store_, **preset, {.split = "train"});
    EXPECT_TRUE(opened) << opened.error().message;
    const auto mixture = Mixture::open(std::move(*opened), options());
    EXPECT_FALSE(mixture);
    return mixture ? std::string() : mixture.error().message;
  };
  const std::string absent = say("    image: steps/observation/imag\n");
  EXPECT_THAT(absent, HasSubstr("my.yaml:3: data set a"));
  EXPECT_THAT(absent, HasSubstr("one_full/0.1.0: image: no feature 'steps/observation/imag'"));
  EXPECT_THAT(absent, HasSubstr("did you mean 'steps/observation/image'?"));
  EXPECT_THAT(say("    image: steps/action\n"),
              HasSubstr("image: feature steps/action is no image"));
  EXPECT_THAT(say("    image: steps/observation/image\n    state: steps/language_instruction\n"),
              HasSubstr("state: feature steps/language_instruction is no list of numbers"));
  const auto gone = episodes::find_preset(
      write("datasets:\n  a:\n    folder: four_full\n    image: steps/observation/image\n"));
  EXPECT_THAT(preset_sources(store_, **gone).error().message,
              ::testing::AllOf(HasSubstr("my.yaml:3: data set a"), HasSubstr("four_full")));
}

TEST_F(PresetFileTest, ADraftIsAPresetThatRuns) {
  const auto text = episodes::draft_preset(*store_, folder_.string());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("image: steps/observation/rgb  # image uint8 16x16x3 png"));
  const auto preset = episodes::find_preset(write(*text));
  ASSERT_TRUE(preset) << preset.error().message << "\n" << *text;
  EXPECT_EQ((*preset)->root, folder_.string());
  ASSERT_EQ((*preset)->datasets.size(), 3U);
  auto opened = preset_sources(store_, **preset);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto mixture = Mixture::open(std::move(*opened), options());
  ASSERT_TRUE(mixture) << mixture.error().message;
  const auto batch = (*mixture)->next();
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ((*batch)->full.action_size, 4);
  EXPECT_EQ((*batch)->full.state_size, 3);
  EXPECT_FALSE((*batch)->full.language.front().empty());
}

TEST_F(PresetFileTest, OnlyWhatThePresetDescribesIsMade) {
  const auto preset = episodes::find_preset(write(kOne));
  const auto made = episodes::make_episodes({.folder = folder_ / "made", .preset = **preset});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("below `real`"));
  EXPECT_FALSE(fs::exists(folder_ / "made"));
}

TEST(BuiltInPresetTest, TheBuiltInOnesAreFilesOfTheProgram) {
  ASSERT_EQ(episodes::presets().size(), 2U);
  for (const auto& preset : episodes::presets()) {
    EXPECT_TRUE(preset->root.empty()) << preset->name;
    for (const episodes::DatasetSpec& spec : preset->datasets)
      EXPECT_EQ(spec.type, preset->name == "oxe29" ? "oxe" : "generated") << spec.name;
  }
}

}  // namespace
}  // namespace sluice::loader::mixture::preset_test
