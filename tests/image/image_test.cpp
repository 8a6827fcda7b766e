// tests/image/image_test.cpp - geometry checks, ownership, views.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/image.h"

#include <gtest/gtest.h>

#include "tests/image/support.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::image::image_test {
namespace {

TEST(Image, IsAlignedAndTight) {
  auto image = Image::make(7, 5, 9, DType::f32);
  ASSERT_TRUE(image);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image->view<float>().data()) % Image::kAlignment, 0U);
  EXPECT_EQ(image->pitch_bytes(), 7U * 9 * 4);
  EXPECT_TRUE(image->view<float>().contiguous());
  EXPECT_EQ(image->view<float>().samples(), 7U * 5 * 9);
}

TEST(Image, KeepsItsMemoryWhenItShrinks) {
  auto image = Image::make(100, 100, 3);
  ASSERT_TRUE(image);
  const auto* data = image->view<std::uint8_t>().data();
  const std::size_t capacity = image->capacity_bytes();
  ASSERT_TRUE(image->resize_for(10, 20, 1, DType::f32));
  EXPECT_EQ(static_cast<const void*>(image->view<float>().data()), data);
  ASSERT_TRUE(image->resize_for(100, 100, 3));
  EXPECT_EQ(image->view<std::uint8_t>().data(), data);
  EXPECT_EQ(image->capacity_bytes(), capacity);
}

TEST(Image, RefusesBadGeometryAndStaysAsItWas) {
  auto image = Image::make(4, 4, 3);
  ASSERT_TRUE(image);
  EXPECT_FALSE(image->resize_for(0, 4, 3));
  EXPECT_FALSE(image->resize_for(4, -1, 3));
  EXPECT_FALSE(image->resize_for(4, 4, 0));
  EXPECT_FALSE(image->resize_for(4, 4, kMaxChannels + 1));
  EXPECT_FALSE(image->resize_for(kMaxSide + 1, 4, 3));
  EXPECT_FALSE(image->resize_for(4, 4, 3, DType::u8, 11)) << "pitch under a row";
  EXPECT_FALSE(image->resize_for(4, 4, 3, DType::f32, 50)) << "pitch no multiple of the sample";
  EXPECT_EQ(image->width(), 4);
}

TEST(Image, MovesAndClones) {
  Image image = testing::random_image<std::uint8_t>(5, 3, 2, 1, 3);
  auto copy = image.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->view<std::uint8_t>().contiguous());
  EXPECT_EQ(testing::max_difference(copy->view<std::uint8_t>(), image.view<std::uint8_t>()), 0);
  const Image moved = std::move(image);
  EXPECT_EQ(testing::max_difference(copy->view<std::uint8_t>(), moved.view<std::uint8_t>()), 0);
  EXPECT_TRUE(image.empty());  // NOLINT(bugprone-use-after-move): the point
}

TEST(View, ChecksTheMemoryItIsGiven) {
  std::vector<float> memory(2 * 8 + 6);
  EXPECT_TRUE(ImageSpan<float>::make(memory, 2, 3, 3, 8 * sizeof(float)));
  EXPECT_FALSE(ImageSpan<float>::make(memory, 2, 4, 3, 8 * sizeof(float)));
  EXPECT_FALSE(ImageSpan<float>::make(memory, -2, 3, 3));
  EXPECT_FALSE(ImageSpan<float>::make(memory, 2, 3, 3, SIZE_MAX - 7));
  auto view = ImageView<float>::make(memory, 2, 3, 3);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->pitch_bytes(), 6 * sizeof(float));
}

TEST(View, CropsWithoutCopying) {
  Image image = testing::random_image<std::uint8_t>(10, 8, 3, 2);
  const ImageView<std::uint8_t> view = image.span<std::uint8_t>();
  const auto crop = view.crop(3, 2, 4, 5);
  EXPECT_EQ(&crop.at(1, 1, 2), &view.at(4, 3, 2));
  EXPECT_EQ(crop.pitch_bytes(), view.pitch_bytes());
}

}  // namespace
}  // namespace sluice::image::image_test
