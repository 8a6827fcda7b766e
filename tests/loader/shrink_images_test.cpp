// tests/loader/shrink_images_test.cpp - a data set written again, smaller: names, labels, refusals.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/data/shrink.h"
#include "sluice/storage/local/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <atomic>

namespace sluice::loader::shrink_images_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ShrinkImagesTest : public ::testing::Test {
 protected:
  void put(const std::string& name, int width, int height) const {
    const image::Image pixels = *image::Image::make(width, height, 3);
    std::vector<std::uint8_t> bytes;
    ASSERT_TRUE(image::encode_png(bytes, pixels.view<std::uint8_t>()));
    put(name, std::string(bytes.begin(), bytes.end()));
  }
  void put(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder_ / "in" / name).parent_path());
    ASSERT_TRUE(write_file_atomic(folder_ / "in" / name, bytes, Flush::later));
  }
  [[nodiscard]] std::shared_ptr<const Dataset> open(const char* name) const {
    storage::LocalOptions local;
    local.path = folder_ / name;
    auto dataset =
        open_dataset(std::shared_ptr<storage::ObjectStore>(*storage::open_local(local)), {});
    EXPECT_TRUE(dataset) << dataset.error().message;
    return *dataset;
  }
  [[nodiscard]] ShrinkPlan plan() const {
    ShrinkPlan made;
    made.out = folder_ / "out";
    made.image.shorter_side = 20;
    made.threads = 3;
    return made;
  }
  [[nodiscard]] bool nothing_is_left() const {
    return !fs::exists(folder_ / "out") && !fs::exists(folder_ / "out.sluice-part");
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(ShrinkImagesTest, NamesLabelsAndOrderStay) {
  for (int i = 0; i < 12; ++i)
    put("class" + std::to_string(i % 3) + "/" + std::to_string(i) + ".png", 30 + i, 24);
  put("class1/small.png", 16, 16);
  const auto before = open("in");
  const auto report = shrink_images(*before, plan());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->images, 13U);
  EXPECT_EQ(report->shrunk, 12U);
  const auto after = open("out");
  ASSERT_EQ(after->size(), before->size());
  for (std::uint64_t i = 0; i < after->size(); ++i) {
    EXPECT_EQ(after->name(i), before->name(i));
    EXPECT_EQ(after->label(i), before->label(i));
  }
  EXPECT_FALSE(fs::exists(folder_ / "out.sluice-part"));
}

TEST_F(ShrinkImagesTest, AFullFolderIsRefused) {
  put("a/1.png", 30, 30);
  fs::create_directories(folder_ / "out" / "mine");
  const auto report = shrink_images(*open("in"), plan());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::usage);
  EXPECT_TRUE(fs::exists(folder_ / "out" / "mine"));
}

TEST_F(ShrinkImagesTest, ADamagedImageIsNamedAndNothingIsLeft) {
  put("a/1.png", 30, 30);
  put("a/2.png", "no image");
  const auto report = shrink_images(*open("in"), plan());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("a/2.png"));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(ShrinkImagesTest, StoppedItLeavesNothing) {
  for (int i = 0; i < 20; ++i)
    put("a/" + std::to_string(i) + ".png", 30, 30);
  ShrinkPlan stopped = plan();
  std::atomic<int> looks = 0;
  stopped.stop = [&] { return ++looks > 5; };
  const auto report = shrink_images(*open("in"), stopped);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::interrupted);
  EXPECT_TRUE(nothing_is_left());
}

}  // namespace
}  // namespace sluice::loader::shrink_images_test
