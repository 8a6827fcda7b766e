// tests/scenario/video_decode_test.cpp - our row of video-decode-16f: which files, digest, faults.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/image/inputs/photo_dataset.h"
#include "sluice/image/video.h"
#include "sluice/scenario/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"

namespace sluice::scenario::video_decode_test {
namespace {

using ::testing::HasSubstr;

class VideoDecodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto versions = image::video_versions(); !versions)
      GTEST_SKIP() << versions.error().message;
    image::PhotoDatasetOptions options;
    options.folder = folder_ / "clips";
    options.count = 3;
    options.width = 64;
    options.height = 48;
    options.kind = image::MadeKind::video;
    ASSERT_TRUE(image::make_photo_dataset(options));
    context_.data_dir = options.folder;
    context_.case_name = "video-decode-16f/decode/clip";
  }

  testing_support::TemporaryFolder folder_;
  measure::SubjectContext context_;
};

TEST_F(VideoDecodeTest, DecodesEveryClipWithTheSameDigestEverywhere) {
  std::vector<std::string> digests;
  for (const int threads : {1, 2}) {
    context_.threads = threads;
    const auto subject = make_video_decode(context_);
    ASSERT_TRUE(subject) << subject.error().message;
    EXPECT_EQ((*subject)->items_per_pass(), 3);
    EXPECT_EQ((*subject)->bytes_per_item(), 16.0 * 64 * 48 * 3);
    const auto digest = (*subject)->check();
    ASSERT_TRUE(digest) << digest.error().message;
    digests.push_back(*digest);
    EXPECT_EQ((*subject)->output_info()["shape"], Json({16, 48, 64, 3}));
    (*subject)->run_pass();
    EXPECT_EQ((*subject)->run_items(1, 5), 2);
    const auto samples = (*subject)->sample(2, 2);
    ASSERT_TRUE(samples);
    EXPECT_EQ(samples->shapes.size(), 4U);
    EXPECT_EQ(samples->values.size(), std::size_t{4} * 64 * 48 * 3);
  }
  EXPECT_EQ(digests[0], digests[1]);
}

TEST_F(VideoDecodeTest, TakesTheFirstOfTheSoundClips) {
  ASSERT_TRUE(write_file_atomic(context_.data_dir / "a-broken.mp4", "no video"));
  const auto broken = make_video_decode(context_);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("a-broken.mp4"));
  context_.skip = {"a-broken.mp4"};
  context_.num_items = 2;
  const auto subject = make_video_decode(context_);
  ASSERT_TRUE(subject) << subject.error().message;
  EXPECT_EQ((*subject)->items_per_pass(), 2);
  context_.skip = {"a-broken.mp4", "video-000000.mp4", "video-000001.mp4", "video-000002.mp4"};
  EXPECT_FALSE(make_video_decode(context_));
}

TEST_F(VideoDecodeTest, AClipThatVanishesCostsTheRow) {
  const auto subject = make_video_decode(context_);
  ASSERT_TRUE(subject);
  std::filesystem::remove(context_.data_dir / "video-000001.mp4");
  EXPECT_THROW((*subject)->run_pass(), std::runtime_error);
}

TEST_F(VideoDecodeTest, SupportIsTriedOnAClipOfItsOwn) {
  context_.data_dir.clear();
  EXPECT_FALSE(make_video_decode(context_));
  context_.synthetic = true;
  context_.spec = Json{{"clip_length", 8}};
  const auto subject = make_video_decode(context_);
  ASSERT_TRUE(subject) << subject.error().message;
  EXPECT_TRUE((*subject)->check());
  EXPECT_EQ((*subject)->output_info()["shape"][0], 8);
  context_.spec = Json{{"clip_length", 0}};
  EXPECT_FALSE(make_video_decode(context_));
}

TEST_F(VideoDecodeTest, TheWorkerOffersTheRow) {
  EXPECT_EQ(catalogue().scenarios.count("video-decode-16f/decode/clip"), 1U);
}

}  // namespace
}  // namespace sluice::scenario::video_decode_test
