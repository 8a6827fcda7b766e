// tests/train/cuda_inbox_test.cpp - batches sent to a GPU arrive in order and become what the table
// of levels says, bit by bit, while the stream is busy with others.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/inbox.h"

#include <gmock/gmock.h>

#include "tests/train/cuda_support.h"

namespace sluice::train::cuda::testing::cuda_inbox_test {
namespace {

class CudaInbox : public OnDevice {};

std::vector<std::byte> random_bytes(Draws& draws, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& value : bytes)
    value = static_cast<std::byte>(draws.integer(0, 255));
  return bytes;
}

/// What UnpackCall promises of u8.
std::vector<float> unpacked(const std::vector<std::byte>& pixels, const std::vector<float>& levels,
                            const InboxShape& shape, std::int64_t given) {
  std::vector<float> values(shape.values());
  const std::int64_t plane = shape.height * shape.width;
  for (std::int64_t n = 0; n < given; ++n)
    for (std::int64_t c = 0; c < shape.channels; ++c)
      for (std::int64_t i = 0; i < plane; ++i)
        values[static_cast<std::size_t>((n * shape.channels + c) * plane + i)] =
            levels[static_cast<std::size_t>(
                c * 256 + static_cast<std::int64_t>(pixels[static_cast<std::size_t>(
                              (n * plane + i) * shape.channels + c)]))];
  return values;
}

TEST_F(CudaInbox, LevelsBecomeWhatTheTableSays) {
  Draws draws(81);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    InboxShape shape;
    shape.batch = draws.integer(1, 9);
    shape.channels = i % 3 == 0 ? draws.integer(1, 4) : 3;
    shape.height = draws.integer(1, 70);
    shape.width = i % 2 == 0 ? 4 * draws.integer(1, 20) : draws.integer(1, 70);
    const std::int64_t given = draws.integer(0, shape.batch);
    const std::int64_t skip = i % 5 == 0 ? draws.integer(0, 3) : 0;  // an address vectors dislike
    const std::vector<std::byte> pixels = random_bytes(draws, shape.values());
    const std::vector<float> levels = draws.normals<float>(shape.channels * 256);
    std::vector<float> words((pixels.size() + 3) / 4 + 1);
    std::memcpy(words.data(), pixels.data(), pixels.size());
    const Buffer<float> device_pixels(words), device_levels(levels),
        images(static_cast<std::int64_t>(shape.values()) + skip);
    UnpackCall call;
    call.images = images.data() + skip;
    call.pixels = device_pixels.data();
    call.levels = device_levels.data();
    call.batch = shape.batch;
    call.given = given;
    call.channels = shape.channels;
    call.height = shape.height;
    call.width = shape.width;
    run(KernelCall(call));
    const std::vector<float> got = images.values();
    EXPECT_EQ(std::vector<float>(got.begin() + skip, got.end()),
              unpacked(pixels, levels, shape, given));
  }
}

TEST_F(CudaInbox, ValuesOfBothSizesAreTakenAsTheyAre) {
  Draws draws(82);
  const InboxShape shape{5, 3, 7, 9};
  auto session = Session::open(0, shape.values() * sizeof(float));
  ASSERT_TRUE(session.has_value()) << session.error().message;
  auto* const images = reinterpret_cast<float*>(session->memory());
  Inbox inbox(*session, shape, 0);
  const std::vector<float> floats = draws.normals<float>(static_cast<std::int64_t>(shape.values()));
  ASSERT_TRUE(inbox.send({std::as_bytes(std::span(floats)), PixelType::f32, {}}).has_value());
  ASSERT_TRUE(inbox.unpack(images));
  std::vector<float> got(shape.values());
  ASSERT_TRUE(session->download(std::as_writable_bytes(std::span(got)), images));
  EXPECT_EQ(got, floats);
  // Halves: 1.0, -2.0, the smallest, the largest; two images of five.
  const std::size_t one = shape.values() / 5;
  std::vector<std::uint16_t> halves(2 * one, 0x3C00);
  halves[1] = 0xC000;
  halves[2] = 0x0001;
  halves[3] = 0x7BFF;
  ASSERT_TRUE(inbox.send({std::as_bytes(std::span(halves)), PixelType::f16, {}}).has_value());
  ASSERT_TRUE(inbox.unpack(images));
  ASSERT_TRUE(session->download(std::as_writable_bytes(std::span(got)), images));
  EXPECT_EQ(got[0], 1.0F);
  EXPECT_EQ(got[1], -2.0F);
  EXPECT_EQ(got[2], 0x1p-24F);
  EXPECT_EQ(got[3], 65504.0F);
  for (std::size_t i = 2 * one; i < got.size(); ++i)
    ASSERT_EQ(got[i], 0.0F);
}

TEST_F(CudaInbox, BatchesKeepTheirOrderWhileOthersAreOnTheirWay) {
  Draws draws(83);
  const InboxShape shape{16, 3, 64, 64};
  auto session = Session::open(0, shape.values() * sizeof(float));
  ASSERT_TRUE(session.has_value()) << session.error().message;
  auto* const images = reinterpret_cast<float*>(session->memory());
  Inbox inbox(*session, shape, 0);
  const std::vector<float> levels = draws.normals<float>(3 * 256);
  constexpr std::size_t kBatches = 12;
  const auto memory = pin(0, kBatches * shape.values());
  ASSERT_TRUE(memory.has_value()) << memory.error().message;
  std::vector<std::vector<std::byte>> batches;
  for (std::size_t i = 0; i < kBatches; ++i) {
    batches.push_back(random_bytes(draws, shape.values()));
    std::copy(batches[i].begin(), batches[i].end(),
              memory->begin() + static_cast<std::ptrdiff_t>(i * shape.values()));
  }
  std::size_t sent = 0, used = 0;
  const auto send = [&] {
    const auto number =
        inbox.send({memory->subspan(sent * shape.values(), shape.values()), PixelType::u8, levels});
    ASSERT_TRUE(number.has_value()) << number.error().message;
    EXPECT_EQ(*number, sent++);
  };
  while (used < kBatches) {
    while (sent < kBatches && !inbox.full())
      send();
    if (used % 4 == 3) {
      ASSERT_TRUE(inbox.drop());
    } else {
      ASSERT_TRUE(inbox.unpack(images));
      std::vector<float> got(shape.values());
      ASSERT_TRUE(session->download(std::as_writable_bytes(std::span(got)), images));
      EXPECT_EQ(got, unpacked(batches[used], levels, shape, shape.batch)) << used;
      const auto arrived = inbox.arrived(used);
      ASSERT_TRUE(arrived.has_value());
      EXPECT_TRUE(*arrived);
      const auto ns = inbox.copy_ns(used);
      ASSERT_TRUE(ns.has_value());
      EXPECT_GT(*ns, 0);
    }
    ++used;
  }
  EXPECT_FALSE(inbox.unpack(images));  // nothing is left
  ASSERT_TRUE(session->synchronize());
  unpin(*memory);
}

TEST_F(CudaInbox, WhatDoesNotFitIsRefused) {
  const InboxShape shape{4, 3, 8, 8};
  auto session = Session::open(0, shape.values() * sizeof(float));
  ASSERT_TRUE(session.has_value()) << session.error().message;
  Inbox inbox(*session, shape, 0);
  const std::vector<std::byte> bytes(shape.values() + 1);
  const std::vector<float> levels(3 * 256), few(256);
  const auto refused = [&](const SentImages& images) {
    const auto number = inbox.send(images);
    EXPECT_FALSE(number.has_value());
    return number ? std::string() : number.error().message;
  };
  EXPECT_THAT(refused({bytes, PixelType::u8, levels}),
              ::testing::HasSubstr("1 to 4 images of 192"));
  EXPECT_THAT(refused({std::span(bytes).first(100), PixelType::u8, levels}),
              ::testing::HasSubstr("100 bytes"));
  EXPECT_THAT(refused({std::span(bytes).first(192), PixelType::u8, few}),
              ::testing::HasSubstr("accepted: 768"));
  for (std::size_t i = 0; i < Inbox::kPlaces; ++i)
    ASSERT_TRUE(inbox.send({std::span(bytes).first(192), PixelType::u8, levels}).has_value());
  EXPECT_THAT(refused({std::span(bytes).first(192), PixelType::u8, levels}),
              ::testing::HasSubstr("on their way"));
}

}  // namespace
}  // namespace sluice::train::cuda::testing::cuda_inbox_test
