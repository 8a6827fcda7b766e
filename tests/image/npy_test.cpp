// tests/image/npy_test.cpp - .npy files: ours are NumPy's, and every other header is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/image/support.h"
#include <numeric>
#include <string>

namespace sluice::image::npy_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::uint8_t> file_with(const std::string& header, std::size_t data_bytes,
                                    int version = 1) {
  std::vector<std::uint8_t> bytes = {
      0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<std::uint8_t>(version), 0};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.resize(bytes.size() + data_bytes, 7);
  return bytes;
}

std::string refusal(const std::vector<std::uint8_t>& bytes) {
  const auto array = parse_npy(bytes);
  EXPECT_FALSE(array.has_value());
  return array ? "" : array.error().message;
}

template <Sample T>
void expect_round_trip(std::uint64_t seed) {
  Rng rng({.seed = seed});
  for (int i = 0; i < 20; ++i) {
    const Image image = testing::random_image<T>(
        static_cast<int>(1 + rng.below(40)), static_cast<int>(1 + rng.below(40)),
        static_cast<int>(1 + rng.below(10)), seed + 1, rng.below(5));
    std::vector<std::uint8_t> bytes;
    ASSERT_TRUE(encode_npy(bytes, image.view<T>()));
    EXPECT_TRUE(is_npy(bytes));
    EXPECT_EQ((bytes.size() - image.view<T>().samples() * sizeof(T)) % 64, 0U);
    Image back;
    const Status status = decode_npy(back, bytes);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(testing::max_difference(back.view<T>(), image.view<T>()), 0);
  }
}

TEST(Npy, ImagesComeBackAsTheyWere) {
  expect_round_trip<std::uint8_t>(1);
  expect_round_trip<float>(2);
}

TEST(Npy, TheBytesAreThoseOfNumpy) {
  // numpy.save of numpy.zeros((2, 3, 9), 'u1'), NumPy 1.24
  std::string want = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 9), }";
  want.resize(117, ' ');
  want += '\n';
  std::vector<std::uint8_t> bytes;
  ASSERT_TRUE(encode_npy(bytes, std::vector<std::int64_t>{2, 3, 9}, DType::u8,
                         std::vector<std::uint8_t>(54)));
  ASSERT_EQ(bytes.size(), 128U + 54U);
  EXPECT_EQ(std::string(bytes.begin() + 10, bytes.begin() + 128), want);
  EXPECT_EQ(bytes[6], 1);
  EXPECT_EQ(bytes[8], 118);
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const auto three =
      file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   \n", 12);
  EXPECT_THAT(parse_npy(three)->shape, ElementsAre(3));
  EXPECT_EQ(parse_npy(three)->dtype, DType::f32);
  for (const int version : {1, 2, 3}) {
    const auto none =
        file_with("{'shape': (0, 99), 'descr': \"|u1\", 'fortran_order': False}", 0, version);
    ASSERT_TRUE(parse_npy(none));
    EXPECT_THAT(parse_npy(none)->shape, ElementsAre(0, 99));
  }
  const auto one = file_with("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1);
  ASSERT_TRUE(parse_npy(one));
  EXPECT_TRUE(parse_npy(one)->shape.empty());
}

TEST(Npy, OtherArraysAreRefusedByName) {
  const auto with = [](const std::string& descr, const std::string& order, const std::string& shape,
                       std::size_t bytes) {
    return refusal(file_with(
        "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }",
        bytes));
  };
  EXPECT_THAT(with("'<f8'", "False", "(2,)", 16), HasSubstr("'<f8'"));
  EXPECT_THAT(with("'>f4'", "False", "(2,)", 8), HasSubstr("'>f4'"));
  EXPECT_THAT(with("[('a', '<f4')]", "False", "(2,)", 8), HasSubstr("descr"));
  EXPECT_THAT(with("'|u1'", "True", "(2, 3)", 6), HasSubstr("Fortran"));
  EXPECT_THAT(with("'|u1'", "Maybe", "(2, 3)", 6), HasSubstr("fortran_order"));
  EXPECT_THAT(with("'|u1'", "False", "(2, 3)", 7), HasSubstr("6 bytes of data, 7 are there"));
  EXPECT_THAT(with("'|u1'", "False", "(2, 3)", 5), HasSubstr("5 are there"));
  EXPECT_THAT(with("'|u1'", "False", "(2, -3)", 6), HasSubstr("shape"));
  EXPECT_THAT(with("'|u1'", "False", "(6)", 6), HasSubstr("shape"));
  EXPECT_THAT(with("'|u1'", "False", "(4294967296, 4294967296)", 0), HasSubstr("countless"));
  EXPECT_THAT(with("'|u1'", "False", "(99999999999999999999,)", 0), HasSubstr("shape"));
  EXPECT_THAT(with("'|u1'", "False", "(1,1,1,1,1,1,1,1,1)", 1), HasSubstr("8 dimensions"));
}

TEST(Npy, DamagedHeadersAreRefused) {
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
  const auto whole = file_with(good, 2);
  ASSERT_TRUE(parse_npy(whole));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse_npy(Bytes(whole).first(length))) << length;
  EXPECT_THAT(refusal(file_with(good, 2, 4)), HasSubstr("version 4"));
  EXPECT_THAT(refusal(file_with(good + " x", 2)), HasSubstr("goes on"));
  EXPECT_THAT(refusal(file_with("{'descr': '|u1', 'shape': (2,)}", 2)), HasSubstr("lacks"));
  EXPECT_THAT(refusal(file_with("{'shape': (2,), 'shape': (2,)}", 2)), HasSubstr("too many"));
  EXPECT_THAT(refusal(file_with("{'descr': '|u1' 'shape': (2,)}", 2)), HasSubstr("dictionary"));
  EXPECT_THAT(refusal(file_with(std::string(70000, ' '), 0, 2)), HasSubstr("70000"));
}

TEST(Npy, OnlyTwoAndThreeDimensionsAreImages) {
  Image image;
  std::vector<std::uint8_t> bytes;
  const auto status_of = [&](const std::vector<std::int64_t>& shape) {
    const auto samples =
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    EXPECT_TRUE(encode_npy(bytes, shape, DType::u8,
                           std::vector<std::uint8_t>(static_cast<std::size_t>(samples))));
    return decode_npy(image, bytes).has_value();
  };
  EXPECT_TRUE(status_of({2, 3}));
  EXPECT_EQ(image.channels(), 1);
  EXPECT_TRUE(status_of({2, 3, 9}));
  EXPECT_EQ(image.width(), 3);
  EXPECT_FALSE(status_of({6}));
  EXPECT_FALSE(status_of({2, 3, 4, 1}));
  EXPECT_FALSE(status_of({2, 0, 3}));
  EXPECT_FALSE(status_of({2, 3, 65}));
  EXPECT_FALSE(
      encode_npy(bytes, std::vector<std::int64_t>{2, 3}, DType::u8, std::vector<std::uint8_t>(5)));
}

}  // namespace
}  // namespace sluice::image::npy_test
