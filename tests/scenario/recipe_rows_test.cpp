// tests/scenario/recipe_rows_test.cpp - our DataLoader rows: scopes, channels, digests, what is
// refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/image/dataset.h"
#include "sluice/image/inputs/clip_maker.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/inputs/shared_inputs.h"
#include "sluice/image/video.h"
#include "sluice/scenario/loader/kept_memory.h"
#include "sluice/scenario/loader/recipe_spec.h"
#include "sluice/scenario/scenario.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <set>
#include <stdexcept>

namespace sluice::scenario::recipe_rows_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kMemory = "memory_dataloader_augment";
constexpr const char* kDecode = "decode_dataloader_augment";
constexpr const char* kCopy = "decode_dataloader_augment_batch_copy";
constexpr int kItems = 5;
constexpr int kFrames = 4;  // of a clip

class RecipeRowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "data" / "deeper");
    image::PhotoMaker maker;
    for (int i = 0; i < kItems; ++i) {  // the first is smaller than the crop
      std::vector<std::uint8_t> jpeg;
      ASSERT_TRUE(maker.make_jpeg(jpeg, 1, static_cast<std::uint64_t>(i),
                                  {.width = 200 + 40 * i, .height = 300, .quality = 90}));
      write(fmt::format("{}{}.jpg", i % 2 == 0 ? "" : "deeper/", i), jpeg);
    }
    context_.data_dir = folder_ / "data";
    context_.seed = 11;
  }
  void write(const std::string& name, const std::vector<std::uint8_t>& bytes) {
    ASSERT_TRUE(write_file_atomic(folder_ / "data" / name,
                                  {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  static Status read_clip(image::Clip& out, const fs::path& file, unsigned) {
    image::VideoClip clip;
    SLUICE_CHECK(image::decode_clip(clip, file, kFrames));
    out = {clip.frames(), clip.height(), clip.width(), 3,
           std::vector<std::uint8_t>(clip.pixels().begin(), clip.pixels().end())};
    return ok;
  }
  void share_inputs(int channels) {
    image::SharedInputsOptions options;
    options.data_dir = context_.data_dir;
    options.folder = folder_ / fmt::format("shared{}{}", channels, clips_ ? "c" : "");
    options.channels = channels;
    const auto written =
        clips_ ? image::write_shared_clips(options, *image::list_clips(options.data_dir), read_clip)
               : image::write_shared_inputs(options);
    ASSERT_TRUE(written) << written.error().message;
    context_.inputs_index = written->index;
    context_.inputs_data = written->data;
  }
  /// False where the video module is missing.
  bool write_clips() {
    for (int i = 0; i < kItems; ++i) {  // the first is lower than the crop
      image::VideoClip clip;
      EXPECT_TRUE(image::ClipMaker().make(clip, 1, static_cast<std::uint64_t>(i),
                                          {20 + i, 240 + 16 * i, 200 + 16 * i}));
      std::vector<std::uint8_t> mp4;
      const Status made = image::encode_clip(mp4, clip, {.gop = 6});
      if (!made) {
        EXPECT_EQ(made.error().code, Errc::unsupported) << made.error().message;
        return false;
      }
      write(fmt::format("{}.mp4", i), mp4);
    }
    return true;
  }
  Result<std::unique_ptr<measure::Subject>> make(const std::string& transform, const Json& more,
                                                 int channels = 3) {
    const char* scenario = clips_ ? "video-16f" : channels == 9 ? "image-9ch" : "image-rgb";
    context_.case_name = fmt::format("{}/pipeline/{}", scenario, transform);
    context_.spec = Json{{"transform", transform}, {"batch_size", 2}, {"workers", 2}};
    if (clips_) context_.spec["clip_length"] = kFrames;
    if (more.is_object()) context_.spec.update(more);
    const std::string prefix = fmt::format("{}/pipeline/", scenario);
    return catalogue().prefixes.at(prefix)(context_);
  }
  std::string digest(const std::string& transform, const Json& more, int channels = 3) {
    auto subject = make(transform, more, channels);
    if (!subject) return "not made: " + subject.error().message;
    const auto checked = (*subject)->check();
    EXPECT_TRUE(checked) << transform << ": " << checked.error().message;
    if (!checked) return "not checked";
    (*subject)->run_pass();
    EXPECT_EQ((*subject)->items_per_pass(), kItems);
    return *checked;
  }

  testing_support::TemporaryFolder folder_;
  measure::SubjectContext context_;
  bool clips_ = false;
};

TEST_F(RecipeRowsTest, ScopesAndWorkersGiveTheSameBatch) {
  for (const int channels : {3, 9}) {
    share_inputs(channels);
    for (const char* transform : {"HorizontalFlip", "RandomResizedCrop", "Rotate", "Resize"}) {
      std::set<std::string> digests;
      for (const char* scope : {kMemory, kDecode})
        for (const int workers : {0, 1, 3})
          digests.insert(digest(transform, {{"scope", scope}, {"workers", workers}}, channels));
      EXPECT_EQ(digests.size(), 1U) << transform << " " << channels;
    }
  }
}

TEST_F(RecipeRowsTest, ClipsOfFilesAndOfMemoryGiveTheSameBatch) {
  if (!write_clips()) GTEST_SKIP() << "libsluice_video.so is missing";
  clips_ = true;  // the images beside them are passed over
  share_inputs(3);
  for (const char* transform : {"RandomResizedCrop", "Rotate"}) {
    std::set<std::string> digests;
    for (const char* scope : {kMemory, kDecode})
      for (const int workers : {0, 1, 3})
        digests.insert(digest(transform, {{"scope", scope}, {"workers", workers}}));
    EXPECT_EQ(digests.size(), 1U) << transform;
  }
}

TEST_F(RecipeRowsTest, ABatchOfClipsHasTheirFramesBesideItsItems) {
  if (!write_clips()) GTEST_SKIP() << "libsluice_video.so is missing";
  clips_ = true;
  auto subject = make("Pad", {{"batch_size", 3}, {"clip_length", 5}});
  ASSERT_TRUE(subject) << subject.error().message;
  ASSERT_TRUE((*subject)->check());
  EXPECT_EQ((*subject)->output_info()["shape"], Json({3, 5, 3, 244, 244}));
  EXPECT_EQ((*subject)->bytes_per_item(), 4.0 * 5 * 3 * 244 * 244);
  EXPECT_EQ(make("Pad", {{"clip_length", 0}}).error().code, Errc::measurement);
}

TEST_F(RecipeRowsTest, ClipsInMemoryMustHaveTheLengthThatIsAskedFor) {
  if (!write_clips()) GTEST_SKIP() << "libsluice_video.so is missing";
  share_inputs(3);  // of the images
  clips_ = true;
  EXPECT_THAT(make("Pad", {{"scope", kMemory}}).error().message, HasSubstr("no clip of 4"));
  share_inputs(3);
  EXPECT_THAT(make("Pad", {{"scope", kMemory}, {"clip_length", 16}}).error().message,
              HasSubstr("no clip of 16"));
}

TEST_F(RecipeRowsTest, TheOutputIsOneBatchInTheShapeOfTheRecipe) {
  auto subject = make("Pad", {{"scope", kDecode}, {"batch_size", 4}}, 9);
  ASSERT_TRUE(subject) << subject.error().message;
  ASSERT_TRUE((*subject)->check());
  EXPECT_EQ((*subject)->output_info()["shape"], Json({4, 9, 244, 244}));
  EXPECT_EQ((*subject)->bytes_per_item(), 4.0 * 9 * 244 * 244);
}

TEST_F(RecipeRowsTest, DamagedFilesThatAreKnownAreLeftOutAndOthersAreNamed) {
  write("a.jpg", {0xFF, 0xD8, 0xFF, 0x00});
  auto subject = make("Pad", {});
  ASSERT_TRUE(subject);
  try {
    (*subject)->run_pass();
    ADD_FAILURE() << "a damaged file went unnoticed";
  } catch (const std::runtime_error& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("a.jpg"));
  }
  context_.skip = {"a.jpg"};
  EXPECT_EQ(digest("Pad", {}).size(), 64U);
}

TEST_F(RecipeRowsTest, AnyNumberOfWorkersThatAPlanMayAskForRuns) {
  EXPECT_EQ(digest("Pad", {{"workers", 100}}), digest("Pad", {{"workers", 1}}));
}

TEST(KeptMemory, IsOneBlockForOneLoaderAfterAnother) {
  KeptMemory memory;
  const auto first = memory.allocate(1 << 20);
  ASSERT_TRUE(first);
  EXPECT_FALSE(memory.allocate(1)) << "lent";
  memory.free(*first);
  const auto smaller = memory.allocate(1 << 12);
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->data(), first->data());
  EXPECT_EQ(smaller->size(), std::size_t{1} << 12);
  memory.free(*smaller);
  const auto larger = memory.allocate(1 << 21);
  ASSERT_TRUE(larger);
  (*larger)[(1 << 21) - 1] = std::byte{1};
}

TEST_F(RecipeRowsTest, ALimitTakesTheFirst) {
  context_.num_items = 3;
  const auto subject = make("Pad", {});
  ASSERT_TRUE(subject);
  EXPECT_EQ((*subject)->items_per_pass(), 3);
}

TEST_F(RecipeRowsTest, MoreSamplesAreWantedUntilTheShortestTimeIsReached) {
  auto subject = make("Pad", {{"min_time_s", 2}, {"min_batches", 4}});
  ASSERT_TRUE(subject);
  (*subject)->begin_sample();
  EXPECT_TRUE((*subject)->wants_more(1'999'999'999));
  EXPECT_TRUE((*subject)->wants_more(2'000'000'000)) << "no batch yet";
  (*subject)->run_pass();  // 3 batches of at most 2
  EXPECT_TRUE((*subject)->wants_more(2'000'000'000));
  (*subject)->run_pass();
  EXPECT_FALSE((*subject)->wants_more(2'000'000'000));
}

TEST_F(RecipeRowsTest, RefusesWhatItDoesNotMean) {
  EXPECT_THAT(make("Pad", {{"recipe", {"Pad", "ToTensor"}}}).error().message, HasSubstr("recipe"));
  EXPECT_EQ(make("Hue", {}, 9).error().code, Errc::unsupported);
  EXPECT_EQ(make("Pad", {{"scope", "disk"}}).error().code, Errc::measurement);
  EXPECT_EQ(make("Pad", {{"scope", kMemory}}).error().code, Errc::usage) << "no inputs";
  const auto copied = make("Pad", {{"scope", kCopy}, {"copy_to", "mps"}});
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Errc::unsupported);
}

TEST_F(RecipeRowsTest, SupportNeedsNoData) {
  context_.data_dir.clear();
  context_.synthetic = true;
  for (const bool clips : {false, true}) {
    clips_ = clips;
    for (const char* scope : {kMemory, kDecode, kCopy}) {
      auto subject = make("Grayscale", {{"scope", scope}});
      ASSERT_TRUE(subject) << subject.error().message;
      EXPECT_TRUE((*subject)->check());
    }
  }
}

}  // namespace
}  // namespace sluice::scenario::recipe_rows_test
