// tests/loader/staged_test.cpp - recipes of the matrix against a Compose of the same steps over the
// whole image.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/staged.h"

#include "sluice/aug/registry.h"
#include "sluice/image/codec.h"
#include "sluice/image/inputs/clip_maker.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/normalize.h"
#include "sluice/image/video.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/loader/recipe_run.h"
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace sluice::loader::staged_test {
namespace {

using image::Image;
using ::testing::HasSubstr;

std::vector<std::uint8_t> photo(int width, int height) {
  std::vector<std::uint8_t> jpeg;
  image::PhotoMaker maker;
  EXPECT_TRUE(maker.make_jpeg(jpeg, 1, 3, {.width = width, .height = height, .quality = 90}));
  return jpeg;
}

/// The file decoded whole, its channels repeated.
Image whole(const std::vector<std::uint8_t>& jpeg, int channels) {
  Image rgb;
  EXPECT_TRUE(image::decode(rgb, jpeg));
  Image out = Image::make(rgb.width(), rgb.height(), channels).value();
  for (int y = 0; y < rgb.height(); ++y)
    for (int x = 0; x < rgb.width(); ++x)
      for (int c = 0; c < channels; ++c)
        out.span<std::uint8_t>().at(x, y, c) = rgb.view<std::uint8_t>().at(x, y, c % 3);
  return out;
}

std::vector<float> run(const Recipe& recipe, const std::vector<std::uint8_t>& encoded,
                       const SampleKey& key) {
  const auto made = testing::run_once(recipe, encoded, key);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  std::vector<float> out(recipe.output().bytes() / sizeof(float), -1e9F);
  if (made) std::memcpy(out.data(), made->data(), made->size());
  return out;
}

std::vector<float> by_compose(const Staged& recipe, const Image& pixels, const SampleKey& key) {
  aug::Drawn drawn;
  recipe.steps().sample(drawn, {.seed = key.seed, .epoch = key.epoch, .index = key.index},
                        aug::shape_of(pixels.view<std::uint8_t>()));
  std::vector<Image> frames, made;
  frames.push_back(pixels.clone().value());
  aug::Workspace workspace;
  EXPECT_TRUE(recipe.steps().apply(made, frames, drawn, workspace));
  std::vector<float> out(made[0].view<std::uint8_t>().samples());
  EXPECT_TRUE(image::normalize_chw(out, made[0].view<std::uint8_t>(), recipe.normalization()));
  return out;
}

void expect_as_compose(const std::string& transform, int width, int height, int channels) {
  SCOPED_TRACE(fmt::format("{} {}x{}x{}", transform, width, height, channels));
  const auto jpeg = photo(width, height);
  const Image pixels = whole(jpeg, channels);
  const auto encoded = Staged::make({.transform = transform, .channels = channels});
  ASSERT_TRUE(encoded) << encoded.error().message;
  StagedOptions in_memory{.transform = transform, .channels = channels};
  in_memory.decoded = [&](std::uint64_t, int) { return pixels.view<std::uint8_t>(); };
  const auto decoded = Staged::make(in_memory);
  ASSERT_TRUE(decoded);
  for (std::uint64_t index = 0; index < 3; ++index) {
    const SampleKey key{7, 1, index};
    const std::vector<float> want = by_compose(**encoded, pixels, key);
    EXPECT_EQ(run(**encoded, jpeg, key), want) << "of a file, sample " << index;
    EXPECT_EQ(run(**decoded, {}, key), want) << "in memory, sample " << index;
  }
}

TEST(Staged, IsWhatTheStepsMakeOfTheWholeImage) {
  for (const char* transform : {"HorizontalFlip", "RandomCrop224", "RandomResizedCrop", "Pad",
                                "Resize", "GaussianBlur", "RandomRotate90"}) {
    expect_as_compose(transform, 500, 375, 3);
    expect_as_compose(transform, 300, 260, 9);
  }
}

TEST(Staged, PutsZerosAroundSmallImages) {
  for (const auto& [width, height] : {std::pair{100, 400}, {400, 100}, {61, 47}, {224, 224}}) {
    expect_as_compose("HorizontalFlip", width, height, 3);
    expect_as_compose("RandomCrop224", width, height, 9);
    expect_as_compose("RandomResizedCrop", width, height, 3);
  }
}

/// Frames that differ, encoded, and as they are decoded; empty where the module is missing.
std::pair<std::vector<std::uint8_t>, image::VideoClip> video(int frames, int width, int height) {
  image::VideoClip clip, decoded;
  std::vector<std::uint8_t> mp4;
  EXPECT_TRUE(image::ClipMaker().make(clip, 3, 5, {frames, width, height}));
  const Status made = image::encode_clip(mp4, clip, {.gop = 12});
  if (!made) {
    EXPECT_EQ(made.error().code, Errc::unsupported) << made.error().message;
    return {};
  }
  image::VideoOptions sequential;
  sequential.sequential = true;
  EXPECT_TRUE(image::decode_clip(decoded, mp4, frames, sequential));
  return {std::move(mp4), std::move(decoded)};
}

TEST(Staged, OneDrawHoldsForAllFramesOfAClip) {
  constexpr int kFrames = 5, kTotal = 30;
  for (const auto& [width, height] : {std::pair{300, 240}, {120, 400}}) {
    const auto [mp4, decoded] = video(kTotal, width, height);
    if (mp4.empty()) GTEST_SKIP() << "libsluice_video.so is missing";
    const auto numbers = image::clip_indices(kTotal, kFrames);
    std::vector<Image> frames;
    for (const std::int64_t number : numbers) {
      const auto view = std::as_const(decoded).frame(static_cast<int>(number));
      frames.push_back(Image::make(view.width(), view.height(), 3).value());
      for (int y = 0; y < view.height(); ++y)
        std::copy_n(view.row(y), view.row_samples(), frames.back().span<std::uint8_t>().row(y));
    }
    for (const char* transform :
         {"HorizontalFlip", "RandomResizedCrop", "ColorJitter", "Rotate", "Elastic", "Erasing"}) {
      SCOPED_TRACE(fmt::format("{} {}x{}", transform, width, height));
      StagedOptions options{.transform = transform, .frames = kFrames};
      const auto encoded = Staged::make(options);
      ASSERT_TRUE(encoded) << encoded.error().message;
      EXPECT_EQ((*encoded)->output().channels, 3 * kFrames);
      options.decoded = [&](std::uint64_t, int f) {
        return frames[static_cast<std::size_t>(f)].view<std::uint8_t>();
      };
      const auto in_memory = Staged::make(options);
      ASSERT_TRUE(in_memory);
      for (std::uint64_t index = 0; index < 2; ++index) {
        const SampleKey key{7, 1, index};
        std::vector<float> want;
        for (const Image& frame : frames) {
          const auto one = by_compose(**encoded, frame, key);
          want.insert(want.end(), one.begin(), one.end());
        }
        EXPECT_EQ(run(**encoded, mp4, key), want) << "of a file, sample " << index;
        EXPECT_EQ(run(**in_memory, {}, key), want) << "in memory, sample " << index;
      }
    }
  }
}

TEST(Staged, EveryTransformHasARecipeInTheChannelsItKnows) {
  for (const aug::TransformSpec& spec : aug::registry()) {
    const auto rgb = Staged::make({.transform = spec.name});
    EXPECT_EQ(static_cast<bool>(rgb), !spec.makes_f32) << spec.name;
    const auto nine = Staged::make({.transform = spec.name, .channels = 9});
    EXPECT_EQ(static_cast<bool>(nine), !spec.makes_f32 && spec.channels != aug::ChannelRule::rgb)
        << spec.name;
    if (nine) {
      EXPECT_EQ((*nine)->output().channels, 9);
    }
  }
}

TEST(Staged, RefusesWhatItDoesNotKnow) {
  const auto unknown = Staged::make({.transform = "Sparkle"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::unsupported);
  EXPECT_THAT(unknown.error().message, HasSubstr("Sparkle"));
  EXPECT_EQ(Staged::make({.transform = "Pad", .channels = 4}).error().code, Errc::usage);
  EXPECT_EQ(Staged::make({.transform = "Pad", .channels = 9, .frames = 16}).error().message,
            "channels 9: clips have 3");
  EXPECT_EQ(Staged::make({.transform = "Pad", .frames = -1}).error().message,
            "frames -1: 0 to 1024 is accepted");
  const auto damaged = photo(300, 300);
  const auto recipe = Staged::make({.transform = "Pad"}).value();
  SystemClock system;
  WorkerCounters counters;
  StageClock clock(system, counters);
  const auto scratch = recipe->make_scratch();
  RecipeContext context{*scratch, clock};
  std::vector<std::byte> out(recipe->output().bytes());
  const Status done =
      recipe->run(out, std::as_bytes(std::span(damaged)).first(damaged.size() / 5), {}, context);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::invalid_input);
}

}  // namespace
}  // namespace sluice::loader::staged_test
