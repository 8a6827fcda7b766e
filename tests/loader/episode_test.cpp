// tests/loader/episode_test.cpp - steps of an episode: values where they belong, and every way in
// which a record can disagree with its features.json.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/episode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::loader::episodes::episode_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FeatureTable table() {
  FeatureTable features;
  const auto add = [&](const char* name, FeatureType type, const char* dtype,
                       std::vector<std::int64_t> shape, int sequences = 1) {
    FeatureSpec spec{.name = name, .type = type, .dtype = dtype, .shape = std::move(shape)};
    spec.sequences = sequences;
    spec.in_steps = sequences > 0;
    features.specs.push_back(std::move(spec));
  };
  add("steps/is_first", FeatureType::tensor, "bool", {});
  add("steps/image", FeatureType::image, "uint8", {4, 4, 3});
  add("steps/action", FeatureType::tensor, "float32", {2});
  add("steps/wide", FeatureType::tensor, "int64", {-1});
  add("steps/tags", FeatureType::tensor, "int64", {}, 3);
  add("robot", FeatureType::text, "string", {}, 0);
  add("steps/audio", FeatureType::other, "", {});
  return features;
}

struct Record {
  storage::ExampleWriter writer;
  std::string bytes;
  std::span<const std::byte> take() {
    bytes = writer.take();
    return std::as_bytes(std::span(bytes));
  }
};

TEST(EpisodeTest, ValuesLieAtTheirSteps) {
  Record record;
  record.writer.add_ints("steps/is_first", std::vector<std::int64_t>{1, 0, 0});
  record.writer.add_bytes("steps/image", std::vector<std::string_view>{"a", "bb", "ccc"});
  record.writer.add_floats("steps/action", std::vector<float>{1, 2, 3, 4, 5, 6});
  record.writer.add_ints("steps/wide", std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  // Steps: [], [[1, 2], []], [[3]].
  record.writer.add_ints("steps/tags/ragged_row_lengths_0", std::vector<std::int64_t>{0, 2, 1});
  record.writer.add_ints("steps/tags/ragged_row_lengths_1", std::vector<std::int64_t>{2, 0, 1});
  record.writer.add_ints("steps/tags/ragged_flat_values", std::vector<std::int64_t>{1, 2, 3});
  record.writer.add_bytes("robot", std::vector<std::string_view>{"arm"});
  const FeatureTable features = table();
  Episode episode;
  ASSERT_TRUE(episode.parse(record.take(), features));
  EXPECT_EQ(episode.steps(), 3U);
  EXPECT_EQ(*episode.bytes(1, 2), "ccc");
  EXPECT_THAT(*episode.floats(2, 1), ElementsAre(3, 4));
  EXPECT_THAT(*episode.ints(3, 2), ElementsAre(7, 8, 9));
  EXPECT_EQ(*episode.bytes(5, 0), "arm");
  std::vector<float> three(3);
  ASSERT_TRUE(episode.numbers(three, 3, 0));
  EXPECT_THAT(three, ElementsAre(1, 2, 3));
  const std::vector<std::pair<std::size_t, std::size_t>> rows = {{0, 0}, {0, 2}, {2, 3}};
  for (std::size_t step = 0; step < 3; ++step) {
    const auto range = episode.ragged(4, step);
    ASSERT_TRUE(range) << range.error().message;
    EXPECT_EQ(range->first, rows[step].first);
    EXPECT_EQ(range->last, rows[step].second);
  }
  EXPECT_FALSE(episode.bytes(1, 3));
  EXPECT_FALSE(episode.ints(4, 0)) << "ragged";
  EXPECT_FALSE(episode.bytes(6, 0)) << "a class we do not read";
  EXPECT_FALSE(episode.has(6));
}

TEST(EpisodeTest, DisagreementsNameTheFeature) {
  const FeatureTable features = table();
  Episode episode;
  {
    Record record;
    record.writer.add_ints("steps/is_first", std::vector<std::int64_t>{1, 0, 0});
    record.writer.add_bytes("steps/image", std::vector<std::string_view>{"a", "b"});
    record.writer.add_floats("steps/action", std::vector<float>{1, 2, 3, 4, 5});
    record.writer.add_ints("steps/tags/ragged_row_lengths_0", std::vector<std::int64_t>{9, 0, 0});
    record.writer.add_ints("steps/tags/ragged_row_lengths_1", std::vector<std::int64_t>{-1});
    record.writer.add_ints("steps/tags/ragged_flat_values", std::vector<std::int64_t>{1});
    ASSERT_TRUE(episode.parse(record.take(), features));
    EXPECT_EQ(episode.bytes(1, 0).error().message, "feature steps/image: 2 values in 3 steps of 1");
    EXPECT_EQ(episode.floats(2, 0).error().message,
              "feature steps/action: 5 values in 3 steps of 2");
    EXPECT_THAT(episode.ragged(4, 0).error().message, HasSubstr("row lengths that do not fit"));
    EXPECT_EQ(episode.bytes(5, 0).error().message, "feature robot: missing from the record");
    EXPECT_THAT(episode.floats(3, 0).error().message, HasSubstr("missing"));
  }
  {
    Record record;
    record.writer.add_bytes("steps/action", std::vector<std::string_view>{"no numbers"});
    record.writer.add_bytes("steps/image", std::vector<std::string_view>{"a", "b"});
    ASSERT_TRUE(episode.parse(record.take(), features)) << "counted by the images";
    EXPECT_EQ(episode.steps(), 2U);
    EXPECT_THAT(episode.floats(2, 0).error().message, HasSubstr("holds a bytes_list"));
  }
  {
    Record record;
    record.writer.add_bytes("robot", std::vector<std::string_view>{"arm"});
    EXPECT_THAT(episode.parse(record.take(), features).error().message,
                HasSubstr("one element per step"));
  }
}

TEST(EpisodeTest, EncodedTensorsHaveTheSizeOfTheirShape) {
  FeatureSpec spec{.name = "t", .type = FeatureType::tensor, .dtype = "uint16", .shape = {2, 2}};
  spec.encoding = Encoding::bytes;
  std::vector<std::byte> out;
  EXPECT_TRUE(unpack_tensor(out, spec, "12345678"));
  EXPECT_EQ(out.size(), 8U);
  EXPECT_THAT(unpack_tensor(out, spec, "1234").error().message,
              HasSubstr("4 bytes where its shape needs 8"));
  spec.encoding = Encoding::zlib;
  EXPECT_THAT(unpack_tensor(out, spec, "12345678").error().message, HasSubstr("do not inflate"));
  spec.shape = {1 << 30, 1 << 30};
  EXPECT_THAT(unpack_tensor(out, spec, "").error().message, HasSubstr("more than"));
  spec.dtype = "complex64";
  EXPECT_FALSE(unpack_tensor(out, spec, ""));
}

TEST(EpisodeTest, PartsThatWereReadAloneAreTheEpisode) {
  const std::string large(300, 'x');  // a length of two bytes
  Record record;
  record.writer.add_ints("steps/is_first", std::vector<std::int64_t>{1, 0, 0});
  record.writer.add_bytes("steps/image", std::vector<std::string_view>{"a", large, ""});
  record.writer.add_floats("steps/action", std::vector<float>{1, 2, 3, 4, 5, 6});
  const FeatureTable features = table();
  const auto message = record.take();
  Episode episode;
  ASSERT_TRUE(episode.parse(message, features));
  const auto layout = episode.layout(1, std::vector<std::size_t>{2, 5});
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->steps(), 3U);
  ASSERT_EQ(layout->lists.size(), 1U);  // the record has no robot
  const auto bytes_of = [&](EpisodeLayout::Part part) {
    return message.subspan(part.offset, part.size);
  };
  Episode parts;
  parts.start_parts(features, layout->steps(), 1);
  ASSERT_TRUE(parts.add_frame(1, 1, bytes_of(layout->frame(1))));
  ASSERT_TRUE(parts.add_frame(1, 2, bytes_of(layout->frame(2))));
  parts.add_list(layout->lists[0], bytes_of(layout->lists[0].part));
  EXPECT_EQ(*parts.bytes(1, 1), large);
  EXPECT_EQ(*parts.bytes(1, 2), "");
  EXPECT_THAT(*parts.floats(2, 2), ElementsAre(5, 6));
  EXPECT_FALSE(parts.has(5));
  EXPECT_THAT(parts.bytes(1, 0).error().message, HasSubstr("step 0 was not read"));
  // Another record at the same place.
  EXPECT_FALSE(parts.add_frame(1, 0, bytes_of({.offset = layout->first + 1, .size = 40})));
}

TEST(EpisodeTest, NoPartsOfWhatNoWriterLeaves) {
  Record record;
  record.writer.add_ints("steps/is_first", std::vector<std::int64_t>{1, 0});
  record.writer.add_bytes("steps/image", std::vector<std::string_view>{"aa", "\x10\x07"});
  record.writer.add_ints("steps/tags/ragged_row_lengths_0", std::vector<std::int64_t>{0, 0});
  const FeatureTable features = table();
  const auto message = record.take();
  Episode episode;
  ASSERT_TRUE(episode.parse(message, features));
  EXPECT_TRUE(episode.layout(1, {}));
  EXPECT_FALSE(episode.layout(1, std::vector<std::size_t>{4})) << "ragged";
  // The second image becomes an unknown field of two bytes before an empty image.
  const std::string::size_type at = record.bytes.find("\x0a\x02\x10\x07");
  ASSERT_NE(at, std::string::npos);
  record.bytes.replace(at, 4, std::string("\x10\x07\x0a\x00", 4));
  ASSERT_TRUE(episode.parse(std::as_bytes(std::span(record.bytes)), features));
  EXPECT_EQ(*episode.bytes(1, 1), "");
  EXPECT_FALSE(episode.layout(1, {})) << "an unknown field between images";
}

}  // namespace
}  // namespace sluice::loader::episodes::episode_test
