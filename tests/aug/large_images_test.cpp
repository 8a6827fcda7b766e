// tests/aug/large_images_test.cpp - images too large for caches, whose lines are written another
// way, at any place in memory.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/registry.h"
#include "sluice/image/simd.h"

#include <gtest/gtest.h>

#include "tests/aug/support.h"
#include <algorithm>
#include <string>
#include <vector>

namespace sluice::aug::large_images_test {
namespace {

constexpr std::uint8_t kPoison = 0xA5;
constexpr std::size_t kMargin = 256;  // bytes before and behind the output

/// The output begins `shift` bytes after a cache line, and nothing is written around it.
void expect_reference(const std::string& name, Shape shape, std::size_t shift) {
  const auto transform = find(name)->make(Json::object());
  ASSERT_TRUE(transform.has_value());
  const image::Image src = testing::input_image<std::uint8_t>(shape, 3);
  const auto from = src.view<std::uint8_t>();
  Rng rng({.seed = 5, .index = shift});
  const Draw draw = (*transform)->sample(rng, shape);
  const Shape out = (*transform)->output_shape(shape, draw);
  auto wanted = image::Image::make(out.width, out.height, out.channels);
  ASSERT_TRUE(wanted.has_value());
  const auto reference = wanted->span<std::uint8_t>();
  ASSERT_TRUE(
      (*transform)->apply_reference(Frames<std::uint8_t>{{&reference, 1}, {&from, 1}}, draw));

  ASSERT_TRUE(reference.contiguous());
  const std::size_t bytes = reference.samples();
  for (const std::string& target : image::simd_targets()) {
    const image::SimdTargetOverride with(target);
    std::vector<std::uint8_t> memory(bytes + 2 * kMargin, kPoison);
    const std::size_t at = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    std::uint8_t* const begin = memory.data() + (64 - at) + shift;
    const image::ImageSpan<std::uint8_t> to(begin, out.width, out.height, out.channels,
                                            reference.pitch_bytes());
    Scratch scratch;
    ASSERT_TRUE((*transform)->apply(Frames<std::uint8_t>{{&to, 1}, {&from, 1}}, draw, scratch));
    const std::string what = name + " " + testing::words(shape) + " " + target;
    EXPECT_TRUE(std::equal(begin, begin + bytes, reference.data())) << what;
    const auto untouched = [](std::uint8_t byte) { return byte == kPoison; };
    EXPECT_TRUE(std::all_of(memory.data(), begin, untouched)) << what;
    EXPECT_TRUE(std::all_of(begin + bytes, memory.data() + memory.size(), untouched)) << what;
  }
}

TEST(LargeImages, ByteMapsAreTheReference) {
  for (const char* name : {"Invert", "Posterize", "Solarize", "Brightness", "Contrast"})
    for (const std::size_t shift : {0U, 1U, 37U})
      expect_reference(name, {1409, 997, 3}, shift);
}

TEST(LargeImages, MovedPixelsAreTheReference) {
  for (const char* name : {"HorizontalFlip", "VerticalFlip", "Transpose", "RandomRotate90", "Pad",
                           "RandomCrop224", "Grayscale"})
    for (const std::size_t shift : {0U, 5U, 63U})
      expect_reference(name, {701, 533, 3}, shift);
}

TEST(LargeImages, NineChannelsTurned) {
  expect_reference("Transpose", {401, 333, 9}, 7);
  expect_reference("HorizontalFlip", {401, 333, 9}, 7);
}

}  // namespace
}  // namespace sluice::aug::large_images_test
