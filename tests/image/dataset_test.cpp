// tests/image/dataset_test.cpp - listing, hashing, inspecting and making folders of images.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/dataset.h"

#include "sluice/core/file.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/inputs/photo_dataset.h"
#include "sluice/image/npy.h"
#include "sluice/image/video.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/image/support.h"
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace sluice::image::dataset_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Dataset : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) /
              ("sluice-dataset-" + std::to_string(getpid()) + "-" + test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void put(const std::string& name, std::string_view content) const {
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(write_file_atomic(folder_ / name, content));
  }
  void put_jpeg(const std::string& name, int width = 32, int height = 16) const {
    std::vector<std::uint8_t> bytes;
    ASSERT_TRUE(encode_jpeg(bytes, testing::smooth_image(width, height).view<std::uint8_t>()));
    put(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  [[nodiscard]] PhotoDatasetOptions make_options(int count) const {
    PhotoDatasetOptions options;
    options.folder = folder_ / "made";
    options.count = count;
    options.seed = 5;
    options.width = 48;
    options.height = 32;
    return options;
  }

  fs::path folder_;
};

TEST_F(Dataset, ListsBySuffixSortedAndDeep) {
  for (const char* name :
       {"b.JPG", "a/z.png", "a.jpeg", ".hidden.jpg", "notes.txt", ".cache/x.jpg", "B.jpg"})
    put(name, "x");
  const auto names = list_images(folder_);
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("B.jpg", "a.jpeg", "a/z.png", "b.JPG"));
}

TEST_F(Dataset, SaysWhatItWouldHaveAccepted) {
  const auto missing = list_images(folder_ / "nowhere");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("nowhere"));
  const auto empty = list_images(folder_);
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("*.jpg, *.jpeg, *.png or *.webp"));
  put("file.jpg", "x");
  EXPECT_FALSE(list_images(folder_ / "file.jpg"));
}

TEST_F(Dataset, HashCoversNamesAndBytesAndTheirBorders) {
  const auto hash = [](std::vector<std::pair<std::string, std::string>> files) {
    DatasetHash h;
    for (const auto& [name, text] : files)
      h.add(name, Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
    return h.hex();
  };
  EXPECT_EQ(hash({{"a", "bc"}}), hash({{"a", "bc"}}));
  EXPECT_NE(hash({{"a", "bc"}}), hash({{"ab", "c"}}));
  EXPECT_NE(hash({{"a", "bc"}}), hash({{"a", "b"}, {"", "c"}}));
  EXPECT_NE(hash({{"a", "bc"}}), hash({{"b", "bc"}}));
}

TEST_F(Dataset, InspectionListsTheBadFilesAndCountsTheGood) {
  put_jpeg("1.jpg", 32, 16);
  put_jpeg("2.png", 20, 40);  // a JPEG by content
  put("3.jpg", "this is text");
  put("4.jpg", "");
  const auto whole = read_text_file(folder_ / "1.jpg");
  ASSERT_TRUE(whole);
  put("5.jpg", std::string_view(*whole).substr(0, whole->size() - 40));
  const auto info = inspect_dataset(folder_, {});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->count, 5U);
  EXPECT_EQ(info->usable, 2U);
  EXPECT_EQ(info->misnamed, 1U);
  EXPECT_EQ(info->formats.at("jpeg"), 2U);
  EXPECT_EQ(info->width.min, 20);
  EXPECT_EQ(info->width.max, 32);
  ASSERT_EQ(info->errors.size(), 3U);
  EXPECT_EQ(info->errors[0].file, "3.jpg");
  EXPECT_THAT(info->errors[0].reason, HasSubstr("not a JPEG, PNG or WebP"));
  EXPECT_THAT(info->errors[1].reason, HasSubstr("empty"));
  EXPECT_THAT(info->errors[2].reason, HasSubstr("truncated"));
  const auto tolerant = inspect_dataset(folder_, {.allow_truncated = true});
  ASSERT_TRUE(tolerant);
  EXPECT_EQ(tolerant->usable, 3U);
  EXPECT_EQ(tolerant->hash, info->hash);
}

TEST_F(Dataset, OneFileIsNamedInItsError) {
  put("x.jpg", "text");
  const auto info = inspect_file(folder_ / "x.jpg", {});
  ASSERT_FALSE(info);
  EXPECT_THAT(info.error().message, HasSubstr("x.jpg: not a JPEG, PNG or WebP"));
}

TEST_F(Dataset, MakesContinuesAndExtends) {
  auto options = make_options(3);
  auto made = make_photo_dataset(options);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->written, 3U);
  const std::string hash = made->hash;
  const auto info = inspect_dataset(options.folder, {});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->hash, hash);
  EXPECT_EQ(info->count, 3U);
  EXPECT_EQ(info->bytes, made->bytes);

  made = make_photo_dataset(options);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->written, 0U) << "idempotent";
  fs::remove(options.folder / made_name(MadeKind::rgb, 1));
  ASSERT_TRUE(write_file_atomic(options.folder / made_name(MadeKind::rgb, 2), "damaged"));
  made = make_photo_dataset(options);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->written, 2U) << "what is missing or different";
  EXPECT_EQ(made->hash, hash);

  options.count = 5;
  made = make_photo_dataset(options);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->written, 2U) << "a larger count extends";
}

TEST_F(Dataset, ClassesAreFoldersOfTheirTint) {
  auto options = make_options(7);
  options.classes = 3;
  auto made = make_photo_dataset(options);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->written, 7U);
  const auto names = list_images(options.folder);
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("class-000/rgb-000000.jpg", "class-000/rgb-000003.jpg",
                                  "class-000/rgb-000006.jpg", "class-001/rgb-000001.jpg",
                                  "class-001/rgb-000004.jpg", "class-002/rgb-000002.jpg",
                                  "class-002/rgb-000005.jpg"));
  const auto info = inspect_dataset(options.folder, {});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->hash, made->hash);
  for (const std::string& name : *names) {  // red, green and blue are the hues of three classes
    const auto bytes = read_binary_file(options.folder / name);
    ASSERT_TRUE(bytes);
    Image photo;
    ASSERT_TRUE(decode_jpeg(photo, *bytes));
    const auto pixels = photo.view<std::uint8_t>();
    std::array<double, 3> sums{};
    for (int y = 0; y < pixels.height(); ++y)
      for (int x = 0; x < pixels.width(); ++x)
        for (int c = 0; c < 3; ++c)
          sums[static_cast<std::size_t>(c)] += pixels.at(x, y, c);
    const auto strongest = std::max_element(sums.begin(), sums.end()) - sums.begin();
    EXPECT_EQ(std::to_string(strongest), name.substr(8, 1)) << name;
  }
  EXPECT_EQ(make_photo_dataset(options)->written, 0U) << "idempotent";
  options.classes = 2;
  EXPECT_FALSE(make_photo_dataset(options)) << "made with other parameters";
  options.force = true;
  ASSERT_TRUE(make_photo_dataset(options));
  EXPECT_EQ(list_images(options.folder)->size(), 7U) << "nothing of the earlier set is left";
  options.classes = 1;
  const auto refused = make_photo_dataset(options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--classes 1: 2 to 1000"));
}

TEST_F(Dataset, RefusesFoldersItDidNotMake) {
  auto options = make_options(2);
  fs::create_directories(options.folder);
  ASSERT_TRUE(write_file_atomic(options.folder / "mine.txt", "precious"));
  const auto refused = make_photo_dataset(options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));
  EXPECT_FALSE(fs::exists(options.folder / made_name(MadeKind::rgb, 0)));
  options.force = true;
  EXPECT_TRUE(make_photo_dataset(options));
  EXPECT_TRUE(fs::exists(options.folder / "mine.txt"));
}

TEST_F(Dataset, RefusesOtherParametersUnlessForced) {
  auto options = make_options(4);
  ASSERT_TRUE(make_photo_dataset(options));
  options.seed = 6;
  options.count = 2;
  EXPECT_FALSE(make_photo_dataset(options));
  options.force = true;
  const auto made = make_photo_dataset(options);
  ASSERT_TRUE(made);
  const auto info = inspect_dataset(options.folder, {});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->count, 2U) << "the rest of the larger set is gone";
  EXPECT_EQ(info->hash, made->hash);
}

TEST_F(Dataset, MakesArraysOfNineChannels) {
  auto options = make_options(2);
  options.kind = MadeKind::nine_channels;
  const auto made = make_photo_dataset(options);
  ASSERT_TRUE(made) << made.error().message;
  const auto bytes = read_binary_file(options.folder / "9ch-000001.npy");
  ASSERT_TRUE(bytes);
  Image stacked, photo;
  ASSERT_TRUE(decode_npy(stacked, *bytes));
  ASSERT_TRUE(PhotoMaker().make(photo, options.seed, 1, {48, 32, 90}));
  ASSERT_EQ(stacked.channels(), 9);
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 48; ++x)
      for (int c = 0; c < 9; ++c)
        ASSERT_EQ(stacked.view<std::uint8_t>().at(x, y, c),
                  photo.view<std::uint8_t>().at(x, y, c % 3));
  const auto info = inspect_media(options.folder, {});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->kind, MediaKind::arrays);
  EXPECT_EQ(info->hash, made->hash);
  EXPECT_EQ(info->formats.at("npy u8 x9"), 2U);
}

TEST_F(Dataset, MakesClips) {
  if (!video_versions()) GTEST_SKIP() << video_versions().error().message;
  auto options = make_options(3);
  options.kind = MadeKind::video;
  auto made = make_photo_dataset(options);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->frames_hash.size(), 64U);
  put("made/broken.mp4", "no video");
  put("made/cover.jpg", "not looked at");
  const auto info = inspect_media(options.folder, {});
  ASSERT_TRUE(info);
  EXPECT_EQ(info->kind, MediaKind::clips);
  EXPECT_EQ(info->usable, 3U);
  EXPECT_EQ(info->others, 1U);
  EXPECT_EQ(info->width.max, 48);
  EXPECT_GE(info->frames.min, 16);
  EXPECT_LE(info->frames.max, 48);
  ASSERT_EQ(info->errors.size(), 1U);
  EXPECT_EQ(info->errors[0].file, "broken.mp4");
  made = make_photo_dataset(options);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->written, 0U) << "idempotent";
  options.width = 47;
  EXPECT_FALSE(make_photo_dataset(options)) << "an odd width";
}

TEST_F(Dataset, AForcedSetOfAnotherKindReplacesTheOld) {
  auto options = make_options(3);
  ASSERT_TRUE(make_photo_dataset(options));
  options.kind = MadeKind::nine_channels;
  options.count = 1;
  EXPECT_FALSE(make_photo_dataset(options));
  options.force = true;
  ASSERT_TRUE(make_photo_dataset(options));
  const auto names = list_files(options.folder, [](const fs::path&) { return true; });
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("9ch-000000.npy", "dataset.json"));
}

TEST_F(Dataset, RefusesAbsurdRequestsBeforeWriting) {
  for (const int count : {0, -3, kMaxPhotos + 1}) {
    const auto made = make_photo_dataset(make_options(count));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Errc::usage);
    EXPECT_THAT(made.error().message, HasSubstr(std::to_string(count)));
  }
  auto options = make_options(1);
  options.height = 0;
  EXPECT_FALSE(make_photo_dataset(options));
  options.height = 100'000;
  EXPECT_FALSE(make_photo_dataset(options));
  EXPECT_FALSE(fs::exists(options.folder));
}

TEST_F(Dataset, AFileInTheWayIsNamed) {
  auto options = make_options(1);
  ASSERT_TRUE(write_file_atomic(options.folder, "a file"));
  const auto made = make_photo_dataset(options);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("not a folder"));
}

}  // namespace
}  // namespace sluice::image::dataset_test
