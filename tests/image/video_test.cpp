// tests/image/video_test.cpp - clips: chosen frames, encode and decode, damaged and hostile files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/video.h"

#include "sluice/core/file.h"
#include "sluice/core/rng.h"
#include "sluice/core/sha256.h"
#include "sluice/image/inputs/clip_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sluice::image::video_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What numpy gives for every length up to 2000, folded into one number.
std::uint64_t fold(int frames, std::int64_t first) {
  std::uint64_t sum = 0;
  for (std::int64_t total = first; total <= 2000; ++total)
    for (const std::int64_t index : clip_indices(total, frames))
      sum = sum * 1000003 + static_cast<std::uint64_t>(index);
  return sum;
}

TEST(ClipIndicesTest, AreThoseOfNumpy) {
  EXPECT_EQ(fold(16, 1), 2988304472565295005U);
  EXPECT_EQ(fold(8, 8), 11105704285115579350U);
  EXPECT_EQ(fold(32, 32), 3949065348915579839U);
  EXPECT_THAT(clip_indices(25, 16),
              ElementsAre(0, 1, 3, 4, 6, 8, 9, 11, 12, 14, 16, 17, 19, 20, 22, 24));
}

TEST(ClipIndicesTest, AShortClipRepeatsItsLastFrame) {
  EXPECT_THAT(clip_indices(3, 6), ElementsAre(0, 1, 2, 2, 2, 2));
  EXPECT_THAT(clip_indices(1, 2), ElementsAre(0, 0));
  EXPECT_THAT(clip_indices(7, 1), ElementsAre(0));
}

TEST(ClipTest, HoldsFramesOneAfterAnother) {
  VideoClip clip;
  EXPECT_TRUE(clip.pixels().empty());
  ASSERT_TRUE(clip.resize_for(3, 5, 7));
  EXPECT_EQ(clip.pixels().size(), 3U * 5 * 7 * 3);
  EXPECT_EQ(clip.frame(2).data(), clip.pixels().data() + std::size_t{2} * 5 * 7 * 3);
  EXPECT_FALSE(clip.resize_for(0, 5, 7));
  EXPECT_FALSE(clip.resize_for(kMaxClipFrames, 5, kMaxSide / kMaxClipFrames + 1));
  EXPECT_EQ(clip.frames(), 3);
}

/// The frames are the same on every machine: photo_test.cpp holds the same for photographs.
TEST(ClipMakerTest, GivesTheSameFramesForASeed) {
  VideoClip clip;
  ClipMaker maker;
  ASSERT_TRUE(maker.make(clip, 7, 3, {5, 48, 32}));
  EXPECT_EQ(sha256_hex(clip.pixels()),
            "de47f35cb870b931dac13572f72895aa020a329b30e53dccc4ec8931337b63e7");
  EXPECT_NE(std::memcmp(clip.frame(0).data(), clip.frame(4).data(), clip.pixels().size() / 5), 0);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const ClipSpec spec = clip_spec(7, i);
    EXPECT_TRUE(spec.frames >= 16 && spec.frames <= 48) << spec.frames;
  }
  EXPECT_FALSE(maker.make(clip, 7, 3, {5, 47, 32}));
  EXPECT_FALSE(maker.make(clip, 7, 3, {5, 14, 32}));
}

class VideoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto versions = video_versions();
    if (!versions) GTEST_SKIP() << versions.error().message;
  }

  static VideoClip make_clip(int frames, int width = 64, int height = 48, std::uint64_t seed = 1) {
    VideoClip clip;
    EXPECT_TRUE(ClipMaker().make(clip, seed, 0, {frames, width, height}));
    return clip;
  }
  static std::vector<std::uint8_t> encode(const VideoClip& clip,
                                          const ClipEncoding& encoding = {}) {
    std::vector<std::uint8_t> bytes;
    const Status status = encode_clip(bytes, clip, encoding);
    EXPECT_TRUE(status) << (status ? "" : status.error().message);
    return bytes;
  }
  static void poison(VideoClip& clip) {
    const auto pixels = clip.pixels();
    std::fill(pixels.begin(), pixels.end(), std::uint8_t{0xA5});
  }
};

double mean_difference(ImageView<std::uint8_t> a, ImageView<std::uint8_t> b) {
  double sum = 0;
  for (int y = 0; y < a.height(); ++y)
    for (std::size_t i = 0; i < a.row_samples(); ++i)
      sum += std::abs(a.row(y)[i] - b.row(y)[i]);
  return sum / static_cast<double>(a.samples());
}

TEST_F(VideoTest, ComesBackAsItWas) {
  const VideoClip clip = make_clip(40, 160, 120);
  const auto bytes = encode(clip, {.crf = 10});
  const auto info = probe_video(bytes);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->width, 160);
  EXPECT_EQ(info->height, 120);
  EXPECT_EQ(info->frames, 40);
  EXPECT_FALSE(info->frames_guessed);
  EXPECT_DOUBLE_EQ(info->fps, 25);
  EXPECT_EQ(info->codec, "h264");
  VideoClip decoded;
  ASSERT_TRUE(decode_clip(decoded, bytes));
  ASSERT_EQ(decoded.frames(), 16);
  const auto indices = clip_indices(40, 16);
  for (int i = 0; i < 16; ++i) {
    const auto index = static_cast<int>(indices[static_cast<std::size_t>(i)]);
    const double right = mean_difference(decoded.frame(i), clip.frame(index));
    EXPECT_LT(right, 9) << "frame " << i;
    // Not one of its neighbours: frames move.
    for (const int other : {index - 1, index + 1})
      if (other >= 0 && other < 40) {
        EXPECT_LT(right, mean_difference(decoded.frame(i), clip.frame(other)));
      }
  }
}

TEST_F(VideoTest, SkippingGivesThePixelsOfDecodingEverything) {
  VideoClip skipped, sequential;
  for (const int gop : {0, 1, 3, 8, 250})
    for (const int frames : {1, 2, 15, 16, 17, 31, 48, 120}) {
      const auto bytes =
          encode(make_clip(frames, 48, 32, static_cast<std::uint64_t>(frames)), {.gop = gop});
      for (const int wanted : {1, 4, 16}) {
        ASSERT_TRUE(sequential.resize_for(wanted, 48, 32));
        ASSERT_TRUE(skipped.resize_for(wanted, 48, 32));
        poison(skipped);
        VideoOptions all;
        all.sequential = true;
        ASSERT_TRUE(decode_clip(sequential, bytes, wanted, all));
        ASSERT_TRUE(decode_clip(skipped, bytes, wanted));
        EXPECT_TRUE(std::ranges::equal(skipped.pixels(), sequential.pixels()))
            << frames << " frames, gop " << gop << ", " << wanted << " wanted";
      }
    }
}

TEST_F(VideoTest, OddWidthsOfRowsAreWrittenExactly) {
  for (const int width : {16, 18, 34, 50, 66, 98}) {
    const auto bytes = encode(make_clip(17, width, 18));
    VideoClip decoded;
    ASSERT_TRUE(decode_clip(decoded, bytes, 3));
    EXPECT_EQ(decoded.width(), width);
    EXPECT_EQ(decoded.pixels().size(), std::size_t{3} * 18 * static_cast<std::size_t>(width) * 3);
  }
}

TEST_F(VideoTest, EncodesTheSameBytesAgain) {
  const VideoClip clip = make_clip(20);
  const auto first = encode(clip);
  for (int i = 0; i < 6; ++i)  // x264's vector code on x86-64 differed every other time
    ASSERT_EQ(first, encode(clip));
}

TEST_F(VideoTest, RefusesWhatCannotBeEncoded) {
  std::vector<std::uint8_t> bytes;
  VideoClip clip;
  EXPECT_FALSE(encode_clip(bytes, clip));
  ASSERT_TRUE(clip.resize_for(2, 31, 32));
  const Status odd = encode_clip(bytes, clip);
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message, HasSubstr("31x32"));
  EXPECT_FALSE(encode_clip(bytes, make_clip(2), {.fps = 0}));
  EXPECT_FALSE(encode_clip(bytes, make_clip(2), {.crf = 52}));
}

TEST_F(VideoTest, LimitsHold) {
  const auto bytes = encode(make_clip(20));
  VideoClip clip;
  VideoOptions options;
  options.max_pixels = 64 * 48 - 1;
  const Status large = decode_clip(clip, bytes, 16, options);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("64x48"));
  options = {};
  options.max_seconds = 0;
  const Status slow = decode_clip(clip, bytes, 16, options);
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().code, Errc::timeout);
  EXPECT_FALSE(decode_clip(clip, bytes, 0));
  EXPECT_FALSE(decode_clip(clip, bytes, kMaxClipFrames + 1));
}

TEST_F(VideoTest, ThingsThatAreNoVideoAreRefused) {
  VideoClip clip;
  // Playlists and scripts name other files: they must not be followed.
  for (const std::string_view text :
       {"", "x", "#EXTM3U\n#EXTINF:10,\nfile:///etc/hostname\n",
        "ffconcat version 1.0\nfile x.mp4\n", "\xff\xd8\xff\xe0 JFIF",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nm=video 5004 RTP/AVP 96\n"}) {
    const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    const Status status = decode_clip(clip, bytes);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().code, Errc::invalid_input) << status.error().message;
  }
}

TEST_F(VideoTest, AFileThatIsCutOffIsAnError) {
  const auto whole = encode(make_clip(30));
  VideoClip clip;
  for (std::size_t parts = 0; parts < 16; ++parts) {
    const Status status = decode_clip(clip, Bytes(whole).first(whole.size() * parts / 16));
    EXPECT_FALSE(status) << parts << " sixteenths";
  }
}

/// No outcome is asked for: the sanitizers look for reads past the end, leaks and overflow.
TEST_F(VideoTest, FlippedBytesNeverCrash) {
  const auto whole = encode(make_clip(18, 32, 32));
  Rng rng({.seed = 5});
  int refused = 0;
  VideoClip clip;
  for (int round = 0; round < 150; ++round) {
    auto bytes = whole;
    const std::uint64_t count = 1 + rng.below(8);
    for (std::uint64_t i = 0; i < count; ++i)
      bytes[rng.below(bytes.size())] = static_cast<std::uint8_t>(rng.below(256));
    VideoOptions options;
    options.max_pixels = 1 << 16;
    options.allow_damaged = round % 2 == 1;
    const Status status = decode_clip(clip, bytes, 16, options);
    if (!status) ++refused;
  }
  EXPECT_GT(refused, 10);
}

TEST_F(VideoTest, FilesAreNamedInErrors) {
  const testing_support::TemporaryFolder folder;
  const VideoClip clip = make_clip(17);
  ASSERT_TRUE(encode_clip(folder / "a.mp4", clip));
  EXPECT_THAT(folder.names(), ElementsAre("a.mp4"));
  VideoClip decoded;
  ASSERT_TRUE(decode_clip(decoded, folder / "a.mp4"));
  EXPECT_TRUE(probe_video(folder / "a.mp4"));
  ASSERT_TRUE(write_file_atomic(folder / "b.mp4", "no video"));
  const Status bad = decode_clip(decoded, folder / "b.mp4");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("b.mp4: not an mp4"));
  const Status missing = decode_clip(decoded, folder / "c.mp4");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
}

}  // namespace
}  // namespace sluice::image::video_test
