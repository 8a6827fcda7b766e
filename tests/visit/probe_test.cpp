// tests/visit/probe_test.cpp - which changes are tried on which images.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/probe.h"

#include "sluice/core/folder_guard.h"
#include "sluice/image/inputs/photo_dataset.h"

#include <gtest/gtest.h>

#include <unistd.h>

namespace sluice::visit::probe_test {
namespace {

namespace fs = std::filesystem;

class ProbeTest : public ::testing::Test {
 protected:
  LoaderRequest photos(int count, int width, int height) {
    EXPECT_TRUE(image::make_photo_dataset(
        {.folder = folder_.path(), .count = count, .seed = 1, .width = width, .height = height}));
    LoaderRequest request;
    request.input = folder_.path().string();
    request.batch_size = 1;
    return request;
  }

  FolderGuard folder_{fs::temp_directory_path() /
                      ("sluice-probe-test-" + std::to_string(getpid()))};
};

TEST_F(ProbeTest, OneLargeImageIsEnough) {
  const auto found = probe_images(photos(1, 1400, 1000), 224);
  EXPECT_TRUE(found.scaled);
  EXPECT_TRUE(found.as_bytes);
  ASSERT_TRUE(found.smaller);
  EXPECT_EQ(found.shorter_side, 256);
  EXPECT_LT(found.smaller->bytes, 0.5);
}

TEST_F(ProbeTest, SmallImagesAreNotMadeSmaller) {
  const auto found = probe_images(photos(2, 64, 48), 224);
  EXPECT_FALSE(found.smaller);
  EXPECT_TRUE(found.as_bytes);
}

TEST_F(ProbeTest, WhatIsDoneAlreadyIsNotTried) {
  LoaderRequest request = photos(2, 320, 240);
  request.decode_scaled = true;
  const auto found = probe_images(request, 64, train::PixelType::u8);
  EXPECT_FALSE(found.scaled);
  EXPECT_FALSE(found.as_bytes);
  EXPECT_TRUE(found.smaller);
}

TEST_F(ProbeTest, WhatCannotBeReadGivesNothing) {
  LoaderRequest request;
  request.input = (folder_.path() / "none").string();
  const auto found = probe_images(request, 224);
  EXPECT_FALSE(found.smaller);
  EXPECT_FALSE(found.scaled);
  EXPECT_FALSE(found.as_bytes);
}

}  // namespace
}  // namespace sluice::visit::probe_test
