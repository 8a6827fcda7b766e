// tests/loader/clip_crop_test.cpp - clips of a batch are what decoding everything, cropping and
// resizing frame by frame gives.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/clip_crop.h"

#include "sluice/core/clock.h"
#include "sluice/image/inputs/clip_maker.h"
#include "sluice/image/resize/antialias.h"
#include "sluice/image/video.h"
#include "sluice/loader/recipe/place.h"

#include <gtest/gtest.h>

#include "tests/loader/recipe_run.h"
#include <algorithm>
#include <set>

namespace sluice::loader::clip_crop_test {
namespace {

constexpr int kFrames = 70, kWidth = 64, kHeight = 48;

/// A video with a key frame every 12 frames; empty where the module is missing.
std::vector<std::uint8_t> make_video(int frames, bool still = false) {
  image::VideoClip clip;
  EXPECT_TRUE(image::ClipMaker().make(clip, 3, 5, {frames, kWidth, kHeight}));
  if (still) {
    const auto first = clip.pixels().first(clip.pixels().size() / static_cast<std::size_t>(frames));
    for (int f = 1; f < frames; ++f)
      std::copy(first.begin(), first.end(),
                clip.pixels().begin() + static_cast<std::ptrdiff_t>(first.size()) * f);
  }
  std::vector<std::uint8_t> bytes;
  const Status made = image::encode_clip(bytes, clip, {.crf = still ? 0 : 23, .gop = 12});
  if (!made && made.error().code != Errc::unsupported) ADD_FAILURE() << made.error().message;
  return bytes;
}

Result<std::vector<std::byte>> run(const ClipCropOptions& options,
                                   const std::vector<std::uint8_t>& video, const SampleKey& key) {
  SLUICE_TRY(const auto recipe, make_clip_crop(options));
  return testing::run_once(*recipe, video, key);
}

TEST(ClipFrames, AreEveryStrideFromADrawnStart) {
  const ClipCropOptions options;
  std::set<std::int64_t> starts;
  for (std::uint64_t index = 0; index < 64; ++index) {
    const auto frames = draw_clip_frames(options, {1, 2, index}, 40);
    ASSERT_EQ(frames.size(), 16U);
    for (std::size_t i = 0; i < frames.size(); ++i)
      EXPECT_EQ(frames[i], frames[0] + 2 * static_cast<std::int64_t>(i));
    EXPECT_GE(frames.front(), 0);
    EXPECT_LT(frames.back(), 40);
    EXPECT_EQ(frames, draw_clip_frames(options, {1, 2, index}, 40));
    starts.insert(frames.front());
  }
  EXPECT_EQ(starts.size(), 10U);  // 40 - 31 + 1, all of them
}

TEST(ClipFrames, OfAShortVideoRepeatItsLast) {
  const auto frames = draw_clip_frames({}, {}, 5);
  EXPECT_EQ(frames[0], 0);
  EXPECT_EQ(frames[2], 4);
  EXPECT_EQ(frames[15], 4);
  EXPECT_EQ(draw_clip_frames({}, {}, 31).back(), 30);
}

TEST(ClipCrop, IsWhatDecodingEverythingGives) {
  const auto video = make_video(kFrames);
  if (video.empty()) GTEST_SKIP() << "libsluice_video.so is missing";
  image::VideoClip whole;
  image::VideoOptions sequential;
  sequential.sequential = true;
  ASSERT_TRUE(image::decode_clip(whole, video, kFrames, sequential));
  for (const Layout layout : {Layout::chw, Layout::hwc}) {
    ClipCropOptions options;
    options.crop.side = 32;
    options.crop.layout = layout;
    if (layout == Layout::hwc) options.crop.type = BatchType::u8;
    for (std::uint64_t index = 0; index < 6; ++index) {
      const SampleKey key{7, 1, index};
      const auto got = run(options, video, key);
      ASSERT_TRUE(got) << got.error().message;
      const auto draw = draw_train_crop(options.crop, key, kWidth, kHeight);
      const OutputSpec frame{32, 32, 3, options.crop.type, layout};
      std::vector<std::byte> wanted;
      for (const std::int64_t number : draw_clip_frames(options, key, kFrames)) {
        auto resized = image::Image::make(32, 32, 3);
        const auto part = whole.frame(static_cast<int>(number))
                              .crop(draw.part.x, draw.part.y, draw.part.width, draw.part.height);
        ASSERT_TRUE(image::AntialiasResizer().run(resized->span<std::uint8_t>(), part));
        std::vector<std::byte> placed(frame.bytes());
        PlaceScratch scratch;
        ASSERT_TRUE(place(placed, frame, resized->view<std::uint8_t>(), options.crop.normalization,
                          draw.mirrored, scratch));
        wanted.insert(wanted.end(), placed.begin(), placed.end());
      }
      EXPECT_EQ(*got, wanted) << index;
    }
  }
}

TEST(ClipCrop, OneDrawHoldsForAllFrames) {
  const auto video = make_video(40, true);
  if (video.empty()) GTEST_SKIP() << "libsluice_video.so is missing";
  ClipCropOptions options;
  options.crop.side = 24;
  options.crop.type = BatchType::u8;
  options.crop.layout = Layout::hwc;
  const auto got = run(options, video, {1, 1, 1});
  ASSERT_TRUE(got) << got.error().message;
  const std::size_t bytes = got->size() / 16;
  for (std::size_t f = 1; f < 16; ++f)
    EXPECT_TRUE(std::equal(got->begin(), got->begin() + static_cast<std::ptrdiff_t>(bytes),
                           got->begin() + static_cast<std::ptrdiff_t>(f * bytes)))
        << f;
}

TEST(ClipCrop, RefusesWhatItCannotMakeAndWhatIsNoVideo) {
  EXPECT_EQ(make_clip_crop({.frames = 0}).error().message, "frames 0: 1 to 256 is accepted");
  EXPECT_EQ(make_clip_crop({.stride = 257}).error().message, "stride 257: 1 to 256 is accepted");
  ClipCropOptions options;
  options.crop.side = 0;
  EXPECT_EQ(make_clip_crop(options).error().code, Errc::usage);
  const auto none = run({}, std::vector<std::uint8_t>(1000, 7), {});
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().code == Errc::invalid_input || none.error().code == Errc::unsupported)
      << none.error().message;
}

}  // namespace
}  // namespace sluice::loader::clip_crop_test
