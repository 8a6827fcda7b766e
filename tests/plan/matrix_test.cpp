// tests/plan/matrix_test.cpp - the matrix, policies, exclusions, recipes, names and published
// rates.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/matrix.h"

#include "sluice/peers/library.h"
#include "sluice/plan/exclusions.h"
#include "sluice/plan/output_names.h"
#include "sluice/plan/policy.h"
#include "sluice/plan/published.h"
#include "sluice/plan/recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace sluice::plan::matrix_test {
namespace {

using ::testing::ElementsAre;

TEST(Matrix, EveryScenarioHasItsLibraries) {
  EXPECT_THAT(library_names("image-rgb", Mode::micro),
              ElementsAre("sluice", "albumentationsx", "albumentationsx-latest", "torchvision",
                          "kornia", "pillow", "opencv", "pillow-array", "kornia-rs", "pyvips",
                          "cykooz-resizer", "pillow-simd"));
  EXPECT_THAT(library_names("image-9ch", Mode::pipeline),
              ElementsAre("sluice", "albumentationsx", "torchvision", "kornia"));
  EXPECT_THAT(library_names("video-16f", Mode::pipeline),
              ElementsAre("sluice", "albumentationsx", "torchvision", "kornia", "dali"));
  EXPECT_TRUE(library_names("video-decode-16f", Mode::micro).empty());
}

TEST(Matrix, RowsAreUniqueAndSound) {
  std::set<std::tuple<std::string_view, Mode, std::string_view>> seen;
  for (const Support& support : matrix()) {
    EXPECT_TRUE(seen.emplace(support.scenario, support.mode, support.library).second)
        << support.library;
    EXPECT_FALSE(support.devices.empty());
    EXPECT_EQ(support.scopes.empty(), support.mode != Mode::pipeline) << support.library;
    EXPECT_EQ(support.group.empty(), support.backend == Backend::native) << support.library;
    ASSERT_NE(find_scenario(support.scenario), nullptr);
    EXPECT_TRUE(has_mode(*find_scenario(support.scenario), support.mode));
  }
  EXPECT_EQ(matrix_json().size(), matrix().size());
}

TEST(Matrix, PipelineRowsShareOneEnvironment) {
  for (const char* library : {"albumentationsx", "torchvision", "kornia", "pillow"})
    EXPECT_EQ(find_support("image-rgb", Mode::pipeline, library)->group, "torch");
  EXPECT_EQ(find_support("image-rgb", Mode::micro, "albumentationsx")->group, "albumentationsx");
  EXPECT_EQ(find_support("image-rgb", Mode::micro, "pillow")->group, "light");
}

TEST(Matrix, AgreesWithTheTableOfPeers) {
  for (const Support& support : matrix()) {
    const peers::Library* library = peers::find_library(support.library);
    ASSERT_NE(library, nullptr) << support.library;
    const peers::Way* way = library->way(to_string(support.mode));
    ASSERT_NE(way, nullptr) << support.library << " " << to_string(support.mode);
    EXPECT_EQ(way->group, support.group) << support.library << " " << to_string(support.mode);
    if (support.mode == Mode::micro) {
      EXPECT_EQ(peers::rows_of_library(support.library), row_libraries(support));
    }
  }
}

TEST(Matrix, TheNewestAlbumentationsXAndTheRivalsAreMeasuredOnlyWhenNamed) {
  const auto names =
      default_libraries("image-rgb", Mode::micro, "none", Scope::decode_dataloader_augment);
  for (const char* name : {"albumentationsx-latest", "pillow-array", "kornia-rs", "pyvips",
                           "cykooz-resizer", "pillow-simd"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0) << name;
  EXPECT_EQ(std::count(names.begin(), names.end(), "opencv"), 1);
}

TEST(Matrix, OpencvIsTwoRowsOfOneFile) {
  EXPECT_THAT(row_libraries(*find_support("image-rgb", Mode::micro, "opencv")),
              ElementsAre("opencv", "opencv-wheel"));
  EXPECT_THAT(row_libraries(*find_support("video-decode-16f", Mode::decode, "opencv")),
              ElementsAre("opencv"));
}

TEST(MediaPolicy, HoldsThePublishedNumbers) {
  const MediaPolicy& image = media_policy(Media::image);
  EXPECT_EQ(image.num_items, 1000);
  EXPECT_EQ(image.slow_item_s, 0.05);
  EXPECT_EQ(image.preflight_items, 10);
  EXPECT_EQ(image.max_preflight_s, 60);
  const MediaPolicy& video = media_policy(Media::video);
  EXPECT_EQ(video.num_items, 50);
  EXPECT_EQ(video.slow_item_s, 2.0);
  EXPECT_EQ(video.preflight_items, 3);
  EXPECT_EQ(video.max_preflight_s, 120);
  EXPECT_EQ(video.unit, "clips/s");
  EXPECT_EQ(measure::slow_marker(image.slow_item_s, image.unit), "≤20 img/s");
  EXPECT_EQ(measure::slow_marker(video.slow_item_s, video.unit), "≤0.5 clips/s");
}

TEST(Exclusions, NameTransformsAndLibrariesThatExist) {
  for (const Exclusion& exclusion : exclusions()) {
    EXPECT_FALSE(exclusion.reason.empty());
    for (const auto scenario : exclusion.scenarios) {
      const MatrixScenario* known = find_scenario(scenario);
      ASSERT_NE(known, nullptr);
      for (const Mode mode : exclusion.modes)
        EXPECT_NE(find_support(scenario, mode, exclusion.library), nullptr);
      for (const auto name : exclusion.transforms) {
        ASSERT_NE(find_transform(name), nullptr) << name;
        EXPECT_TRUE(in_set(*find_transform(name), *known->set)) << name << " " << scenario;
      }
    }
  }
}

TEST(Exclusions, AreBoundToTheirDevice) {
  const auto find = [](const char* library, const char* transform, const char* scenario, Mode mode,
                       const char* device) {
    return find_exclusion(library, transform, scenario, mode, device);
  };
  EXPECT_NE(find("kornia", "Shear", "image-rgb", Mode::micro, "cuda"), nullptr);
  EXPECT_EQ(find("kornia", "Shear", "image-rgb", Mode::micro, "none"), nullptr);
  EXPECT_EQ(find("kornia", "MedianBlur", "image-rgb", Mode::micro, "cuda"), nullptr);
  EXPECT_NE(find("kornia", "MedianBlur", "image-9ch", Mode::pipeline, "cuda"), nullptr);
  EXPECT_NE(find("torchvision", "JpegCompression", "image-rgb", Mode::pipeline, "cuda"), nullptr);
  const Exclusion* poison = find("kornia", "CLAHE", "video-16f", Mode::pipeline, "cuda");
  ASSERT_NE(poison, nullptr);
  EXPECT_EQ(poison->status, measure::RowStatus::skipped);
  EXPECT_EQ(find("kornia", "CLAHE", "video-16f", Mode::micro, "cuda"), nullptr);
  EXPECT_EQ(labels_of("torchvision", "image-rgb", Mode::pipeline, "cuda").size(), 1u);
  EXPECT_TRUE(labels_of("torchvision", "image-rgb", Mode::pipeline, "none").empty());
}

TEST(Recipes, CropsAreTheirOwnFirstStage) {
  EXPECT_EQ(recipe_name("Resize"), "RandomCrop224+Resize+Normalize+ToTensor");
  EXPECT_EQ(recipe_name("RandomCrop224"), "RandomCrop224+Normalize+ToTensor");
  EXPECT_EQ(recipe_name("RandomResizedCrop"), "RandomResizedCrop+Normalize+ToTensor");
  EXPECT_FALSE(has_recipe(*find_transform("Normalize")));
  for (const Transform& transform : transforms()) {
    if (!has_recipe(transform)) continue;
    EXPECT_EQ(recipe_transform(recipe_name(transform.name)), std::string(transform.name));
  }
  EXPECT_EQ(recipe_transform("Resize"), std::nullopt);
}

TEST(Recipes, NotEveryOutputIs224) {
  EXPECT_EQ(recipe_shape(*find_transform("HorizontalFlip")).height, 224);
  EXPECT_EQ(recipe_shape(*find_transform("Pad")).width, 244);
  EXPECT_EQ(recipe_shape(*find_transform("Resize")).height, 512);
  EXPECT_EQ(recipe_shape(*find_transform("LongestMaxSize")).height, 512);
}

TEST(OutputNames, AreThoseOfTheDesign) {
  OutputKey key{.scenario = "image-rgb", .library = "pillow"};
  EXPECT_EQ(output_path(key), "image-rgb/micro/pillow_micro_results.json");
  key.device = "cuda";
  EXPECT_EQ(output_path(key), "image-rgb/micro/pillow_micro_dev-cuda_results.json");
  key.mode = Mode::pipeline;
  key.workers = 8;
  key.batch_size = 256;
  EXPECT_EQ(
      output_path(key),
      "image-rgb/pipeline/pillow_decode_dataloader_augment_nall_r1_w8_b256_dev-cuda_results.json");
  key.device = "none";
  key.num_items = 100;
  key.num_runs = 3;
  key.scope = Scope::memory_dataloader_augment;
  EXPECT_EQ(output_path(key),
            "image-rgb/pipeline/pillow_memory_dataloader_augment_n100_r3_w8_b256_results.json");
  EXPECT_EQ(output_path({.scenario = "video-decode-16f", .mode = Mode::decode, .library = "pyav"}),
            "video-decode-16f/decode/pyav_decode_results.json");
}

TEST(Published, MediansOfTheLibrariesAreThePublishedOnes) {
  const auto median = [](const char* library) {
    std::vector<double> rates;
    for (const Transform& transform : transforms()) {
      const auto rate = published_rate(transform.name, library);
      if (rate && !rate->early_stopped) rates.push_back(rate->rate);
    }
    std::sort(rates.begin(), rates.end());
    return rates[rates.size() / 2];  // the counts are odd
  };
  EXPECT_DOUBLE_EQ(median("albumentationsx"), 1387.6);
  EXPECT_DOUBLE_EQ(median("torchvision"), 545.4);
  EXPECT_DOUBLE_EQ(median("kornia"), 231.3);
  EXPECT_DOUBLE_EQ(median("pillow"), 609.3);
}

TEST(Published, EveryRgbTransformHasItsRatesAndWinner) {
  int albumentationsx = 0;
  int comparable = 0;
  for (const std::string& name : transform_names(TransformSet::rgb)) {
    const Transform& transform = *find_transform(name);
    EXPECT_EQ(published_rate(name, "kornia").has_value(),
              transform.libraries.find('K') != std::string_view::npos);
    EXPECT_EQ(published_rate(name, "pillow").has_value(),
              transform.libraries.find('P') != std::string_view::npos);
    const auto winner = published_winner(name);
    comparable += winner.has_value();
    albumentationsx += winner == "albumentationsx";
  }
  EXPECT_EQ(comparable, 53);
  EXPECT_EQ(albumentationsx, 52);
  EXPECT_EQ(published_winner("Equalize"), "pillow");
  EXPECT_TRUE(published_rate("MedianBlur", "pillow")->early_stopped);
  EXPECT_EQ(published_rate("Normalize", "kornia"), std::nullopt);
  EXPECT_EQ(published_json()["Resize"]["pillow"], 396.3);
  EXPECT_EQ(published_json("pillow").size(), 23u);  // of 24, one was early-stopped
  EXPECT_EQ(published_json("pillow")["Resize"], 396.3);
  EXPECT_TRUE(published_json("sluice").empty());
}

}  // namespace
}  // namespace sluice::plan::matrix_test
