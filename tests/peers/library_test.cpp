// tests/peers/library_test.cpp - the table of libraries is complete and sound.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sluice::peers::library_test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Library, NamesAreUniqueAndComplete) {
  std::set<std::string_view> seen;
  for (const Library& library : libraries()) {
    EXPECT_TRUE(seen.insert(library.name).second) << library.name;
    EXPECT_FALSE(library.title.empty()) << library.name;
    EXPECT_FALSE(library.licence.empty()) << library.name;
    EXPECT_FALSE(library.ways.empty()) << library.name;
  }
  for (const char* name : {"sluice",
                           "albumentationsx",
                           "albumentationsx-latest",
                           "torchvision",
                           "kornia",
                           "pillow",
                           "pillow-array",
                           "opencv",
                           "opencv-wheel",
                           "kornia-rs",
                           "pyvips",
                           "pillow-simd",
                           "cykooz-resizer",
                           "simplejpeg",
                           "imagecodecs",
                           "dali",
                           "pyav",
                           "torchcodec",
                           "torch-tensor",
                           "torch-pil",
                           "torch-albumentationsx",
                           "dali-cpu",
                           "spdl",
                           "sluice-python",
                           "webdataset",
                           "torch-eager",
                           "torch-compile",
                           "torch-max-autotune",
                           "torch-ddp",
                           "dali-gpu",
                           "tfdata",
                           "tfdata-threads"})
    EXPECT_EQ(seen.count(name), 1U) << name;
}

TEST(Library, WaysNameKnownModesAndGroups) {
  for (const Library& library : libraries()) {
    std::set<std::string_view> modes;
    for (const Way& way : library.ways) {
      EXPECT_THAT(way.mode,
                  AnyOf("micro", "jpeg", "pipeline", "decode", "loader", "training", "mixture"))
          << library.name;
      EXPECT_TRUE(modes.insert(way.mode).second) << library.name;
      EXPECT_TRUE(way.group.empty() || is_group(way.group)) << library.name;
      EXPECT_FALSE(way.program.empty()) << library.name;
      EXPECT_EQ(way.program.ends_with(".py"), !way.group.empty()) << library.name;
    }
  }
}

TEST(Library, EveryGroupIsUsed) {
  for (const std::string_view group : groups())
    EXPECT_FALSE(libraries_of_group(group).empty()) << group;
}

TEST(Library, GroupsOfTestsAreKnownAndMeasureNothing) {
  for (const std::string_view group : test_groups()) {
    EXPECT_TRUE(is_group(group)) << group;
    EXPECT_TRUE(libraries_of_group(group).empty()) << group;
  }
}

TEST(Library, GroupsPerModeAreThoseOfTheMatrix) {
  for (const char* name : {"pillow", "pillow-array", "opencv-wheel"})
    EXPECT_EQ(find_library(name)->way("micro")->group, "light") << name;
  EXPECT_EQ(find_library("albumentationsx")->way("micro")->group, "albumentationsx");
  for (const char* name : {"pillow", "opencv-wheel"})
    EXPECT_EQ(find_library(name)->way("jpeg")->group, "light") << name;
  for (const char* name : {"torchvision", "kornia"})
    EXPECT_EQ(find_library(name)->way("micro")->group, "torch") << name;
  for (const char* name : {"albumentationsx", "torchvision", "kornia", "pillow"})
    EXPECT_EQ(find_library(name)->way("pipeline")->group, "torch") << name;
  for (const char* name : {"opencv", "pyav", "torchvision", "torchcodec"})
    EXPECT_EQ(find_library(name)->way("decode")->group, "torch") << name;
  for (const char* name : {"torch-tensor", "torch-pil", "torch-albumentationsx", "webdataset"})
    EXPECT_EQ(find_library(name)->way("loader")->group, "torch") << name;
  for (const char* name :
       {"torch-eager", "torch-compile", "torch-max-autotune", "torch-ddp", "dali-gpu"})
    EXPECT_EQ(find_library(name)->way("training")->group, "torch") << name;
  for (const char* name : {"tfdata", "tfdata-threads"})
    EXPECT_EQ(find_library(name)->way("mixture")->group, "tensorflow") << name;
  EXPECT_FALSE(find_library("dali-cpu")->needs_gpu);
  EXPECT_FALSE(find_library("torch-compile")->needs_gpu);
  EXPECT_TRUE(find_library("torch-max-autotune")->needs_gpu);
}

TEST(Library, OneForAnotherProcessorSaysSo) {
  for (const char* name : {"pillow-simd", "cykooz-resizer"}) {
    const Library& library = *find_library(name);
    EXPECT_EQ(no_package(library, "x86_64"), "") << name;
    EXPECT_EQ(no_package(library, "aarch64"),
              std::string(name) + " has no package for aarch64, only for x86_64");
  }
  for (const char* name : {"sluice", "pillow", "kornia-rs", "simplejpeg"})
    EXPECT_EQ(no_package(*find_library(name), "aarch64"), "") << name;
}

TEST(Library, AMisspeltNameIsAnErrorWithTheNearest) {
  const auto wrong = require_library("torchvison");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::usage);
  EXPECT_THAT(wrong.error().message, HasSubstr("did you mean 'torchvision'?"));
  const auto far = require_library("zzzzzzzz\n");
  ASSERT_FALSE(far);
  EXPECT_THAT(far.error().message, HasSubstr("accepted: sluice, "));
  EXPECT_EQ(far.error().message.find('\n'), std::string::npos);
}

TEST(Library, OpencvIsTwoRows) {
  EXPECT_THAT(rows_of_library("opencv"), ElementsAre("opencv", "opencv-wheel"));
  EXPECT_THAT(rows_of_library("pillow"), ElementsAre("pillow"));
}

}  // namespace
}  // namespace sluice::peers::library_test
