// tests/storage/example_proto_test.cpp - messages as protobuf writes them, and those that nobody
// should believe.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/example_proto.h"

#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice::storage::example_proto_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// A field with a length, by hand: number, then content.
std::string field(int number, std::string_view content) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  out.push_back(static_cast<char>(content.size()));  // below 128
  return out.append(content);
}

std::string example(std::string_view name, std::string_view feature) {
  return field(1, field(1, field(1, name) + field(2, feature)));
}

TEST(ExampleProtoTest, WrittenMessagesComeBack) {
  const std::vector<std::string_view> texts = {"", "abc", std::string_view("\0\xff", 2)};
  const std::vector<float> floats = {0.0F, -1.5F, std::numeric_limits<float>::infinity()};
  const std::vector<std::int64_t> ints = {0, -1, 300, std::numeric_limits<std::int64_t>::min()};
  ExampleWriter writer;
  writer.add_bytes("b", texts);
  writer.add_floats("f", floats);
  writer.add_ints("i", ints);
  writer.add_ints("none", {});
  const std::string message = writer.take();
  std::vector<ExampleFeature> features;
  ASSERT_TRUE(parse_example(features, bytes(message)));
  ASSERT_EQ(features.size(), 4U);
  std::vector<std::string_view> read_texts;
  ASSERT_TRUE(read_bytes_list(read_texts, *find_feature(features, "b")));
  EXPECT_EQ(read_texts, texts);
  std::vector<float> read_floats;
  ASSERT_TRUE(read_float_list(read_floats, *find_feature(features, "f")));
  EXPECT_EQ(read_floats, floats);
  std::vector<std::int64_t> read_ints;
  ASSERT_TRUE(read_int64_list(read_ints, *find_feature(features, "i")));
  EXPECT_EQ(read_ints, ints);
  ASSERT_TRUE(read_int64_list(read_ints, *find_feature(features, "none")));
  EXPECT_TRUE(read_ints.empty());
  EXPECT_EQ(find_feature(features, "missing"), nullptr);
}

TEST(ExampleProtoTest, BytesAreThoseOfProtobuf) {  // SerializeToString of {"a": int64 [1, 300]}
  ExampleWriter writer;
  writer.add_ints("a", std::vector<std::int64_t>{1, 300});
  EXPECT_EQ(writer.take(), std::string("\x0a\x0e\x0a\x0c\x0a\x01"
                                       "a\x12\x07\x1a\x05\x0a\x03\x01\xac\x02",
                                       16));
}

TEST(ExampleProtoTest, UnpackedAndMixedListsAreRead) {
  std::vector<ExampleFeature> features;
  const std::string ints = std::string("\x08\x05", 2) + field(1, "\x06\x07") + "\x08\x08";
  const std::string message = example("i", field(3, ints));
  ASSERT_TRUE(parse_example(features, bytes(message)));
  std::vector<std::int64_t> values;
  ASSERT_TRUE(read_int64_list(values, features[0]));
  EXPECT_THAT(values, ElementsAre(5, 6, 7, 8));

  const std::string floats =
      std::string("\x0d\0\0\x80\x3f", 5) + field(1, std::string_view("\0\0\0\x40", 4));
  const std::string other = example("f", field(2, floats));
  ASSERT_TRUE(parse_example(features, bytes(other)));
  std::vector<float> read;
  ASSERT_TRUE(read_float_list(read, features[0]));
  EXPECT_THAT(read, ElementsAre(1.0F, 2.0F));
}

TEST(ExampleProtoTest, UnknownFieldsArePassedOverAtEveryLevel) {
  const std::string unknown = std::string("\x98\x06\x07", 3) + field(15, "zz") +
                              std::string("\x79\1\2\3\4\5\6\7\x08", 9) +
                              std::string("\x7d\1\2\3\4", 5);  // every wire type
  const std::string list = field(1, "v") + unknown;
  const std::string feature = unknown + field(1, list);
  const std::string entry = field(1, "n") + unknown + field(2, feature);
  std::string map = unknown + field(1, entry);
  const std::string message =
      unknown + std::string("\x0a", 1) + static_cast<char>(map.size()) + map;
  ASSERT_LT(map.size(), 128U);
  std::vector<ExampleFeature> features;
  ASSERT_TRUE(parse_example(features, bytes(message)));
  ASSERT_EQ(features.size(), 1U);
  std::vector<std::string_view> values;
  ASSERT_TRUE(read_bytes_list(values, features[0]));
  EXPECT_THAT(values, ElementsAre("v"));
}

TEST(ExampleProtoTest, TheLastOfTwoEntriesCounts) {
  const std::string message =
      example("n", field(1, field(1, "a"))) + example("n", field(1, field(1, "b")));
  std::vector<ExampleFeature> features;
  ASSERT_TRUE(parse_example(features, bytes(message)));
  std::vector<std::string_view> values;
  ASSERT_TRUE(read_bytes_list(values, *find_feature(features, "n")));
  EXPECT_THAT(values, ElementsAre("b"));
}

TEST(ExampleProtoTest, MalformedMessagesAreRefused) {
  const struct {
    std::string message;
    const char* says;
  } cases[] = {
      {"\x0a\x05"
       "ab",
       "a field of 5 bytes where 2 are left"},
      {"\x0a", "it ends inside a number"},
      {std::string(11, '\xff'), "over 10 bytes"},
      {std::string("\x02\0", 2), "a field numbered 0"},
      {"\x0b", "wire type 3"},
      {example("n", field(1, "") + field(3, "")), "n has two lists"},
      {field(1, field(1, field(1, "n") + "\x12\x7f")), "a field of 127 bytes where 0 are left"},
  };
  for (const auto& [message, says] : cases) {
    std::vector<ExampleFeature> features;
    const Status outcome = parse_example(features, bytes(message));
    ASSERT_FALSE(outcome) << says;
    EXPECT_EQ(outcome.error().code, Errc::invalid_input);
    EXPECT_THAT(outcome.error().message, HasSubstr(says));
  }
}

TEST(ExampleProtoTest, ListsOfAnotherKindAndDamagedListsNameTheFeature) {
  const std::string message = example("n", field(2, field(1, "abc")));
  std::vector<ExampleFeature> features;
  ASSERT_TRUE(parse_example(features, bytes(message)));
  std::vector<float> floats;
  const Status odd = read_float_list(floats, features[0]);
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message, HasSubstr("feature n: no sound tf.train.Example: 3 bytes"));
  std::vector<std::int64_t> ints;
  const Status kind = read_int64_list(ints, features[0]);
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().message, "feature n holds a float_list where a int64_list is expected");
}

TEST(ExampleProtoTest, EveryCutOfAMessageIsRefusedOrSmaller) {
  ExampleWriter writer;
  writer.add_bytes("image", std::vector<std::string_view>{"0123456789", "abc"});
  writer.add_floats("state", std::vector<float>(20, 1.0F));
  const std::string message = writer.take();
  for (std::size_t size = 1; size < message.size(); ++size) {
    std::vector<ExampleFeature> features;
    EXPECT_FALSE(parse_example(features, bytes(std::string_view(message).substr(0, size)))) << size;
  }
}

}  // namespace
}  // namespace sluice::storage::example_proto_test
