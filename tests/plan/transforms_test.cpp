// tests/plan/transforms_test.cpp - the published sets are exactly as published.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/transforms.h"

#include "sluice/aug/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sluice::plan::transforms_test {
namespace {

using ::testing::ElementsAreArray;

std::vector<std::string> without(std::vector<std::string> names,
                                 const std::set<std::string>& left_out) {
  std::erase_if(names, [&](const std::string& name) { return left_out.contains(name); });
  return names;
}

std::size_t count(TransformSet set, char library) {
  const auto& table = transforms();
  return static_cast<std::size_t>(
      std::count_if(table.begin(), table.end(), [&](const Transform& t) {
        return in_set(t, set) && t.libraries.find(library) != std::string_view::npos;
      }));
}

TEST(Transforms, RgbIsTheFirst57InOrder) {
  const std::vector<std::string> names = transform_names(TransformSet::rgb);
  ASSERT_EQ(names.size(), 57u);
  std::vector<std::string> table = all_transform_names();
  EXPECT_EQ(table.back(), "Normalize");
  table.pop_back();
  EXPECT_THAT(names, ElementsAreArray(table));
  EXPECT_EQ(names.front(), "Resize");
  EXPECT_EQ(names[25], "PlankianJitter");  // the published spelling
  EXPECT_EQ(names[53], "RandomJigsaw");
  EXPECT_EQ(names.back(), "UnsharpMask");
}

TEST(Transforms, NineChannelLeavesOutWhatNeedsColour) {
  const std::set<std::string> colour = {
      "ColorJitter", "RGBShift",      "Equalize",      "PlankianJitter",
      "CLAHE",       "Hue",           "Rain",          "Snow",
      "Saturation",  "SaltAndPepper", "ColorJiggle",   "PhotoMetricDistort",
      "Transpose",   "EnhanceEdge",   "EnhanceDetail", "UnsharpMask"};
  const auto names = transform_names(TransformSet::nine_channel);
  EXPECT_EQ(names.size(), 41u);
  EXPECT_THAT(names, ElementsAreArray(without(transform_names(TransformSet::rgb), colour)));
}

TEST(Transforms, VideoIsAlphabeticalAndHasNormalize) {
  const std::set<std::string> left_out = {"PhotoMetricDistort", "LongestMaxSize", "SmallestMaxSize",
                                          "Transpose",          "EnhanceEdge",    "EnhanceDetail",
                                          "UnsharpMask"};
  auto expected = without(transform_names(TransformSet::rgb), left_out);
  expected.emplace_back("Normalize");
  std::sort(expected.begin(), expected.end());
  const auto names = transform_names(TransformSet::video);
  EXPECT_EQ(names.size(), 51u);
  EXPECT_THAT(names, ElementsAreArray(expected));
}

TEST(Transforms, SupportCountsAreThePublishedOnes) {
  EXPECT_EQ(count(TransformSet::rgb, 'A'), 57u);
  EXPECT_EQ(count(TransformSet::rgb, 'K'), 51u);
  EXPECT_EQ(count(TransformSet::rgb, 'T'), 26u);
  EXPECT_EQ(count(TransformSet::rgb, 'P'), 24u);
  EXPECT_EQ(count(TransformSet::rgb, 'p'), 2u);  // 26 in pipelines
  EXPECT_EQ(count(TransformSet::rgb, 'D'), 22u);
  EXPECT_EQ(count(TransformSet::nine_channel, 'A'), 41u);
  EXPECT_EQ(count(TransformSet::nine_channel, 'K'), 40u);
  EXPECT_EQ(count(TransformSet::nine_channel, 'T'), 22u);
  EXPECT_EQ(count(TransformSet::video, 'A'), 51u);
  EXPECT_EQ(count(TransformSet::video, 'K'), 50u);
  EXPECT_EQ(count(TransformSet::video, 'T'), 26u);
}

TEST(Transforms, EveryOneIsInAtLeastTwoLibrariesOfItsSets) {
  for (const Transform& transform : transforms()) {
    const auto in = [&](char library) {
      return transform.libraries.find(library) != std::string_view::npos;
    };
    const int three = in('A') + in('T') + in('K');
    if (in_set(transform, TransformSet::rgb)) {
      EXPECT_GE(three + in('P'), 2) << transform.name;
    }
    if (in_set(transform, TransformSet::nine_channel) || in_set(transform, TransformSet::video)) {
      EXPECT_GE(three, 2) << transform.name;
    }
  }
}

TEST(Transforms, ParametersAreThoseOfTheTable) {
  const auto params = [](const char* name) { return find_transform(name)->params; };
  EXPECT_EQ(params("Affine"),
            Json::parse(R"({"angle":25,"shift":[20,20],"scale":2.0,"shear":[10,15],
      "interpolation":"bilinear","border_mode":"constant","fill":0,"reference_size":512})"));
  EXPECT_EQ(params("UnsharpMask"),
            Json::parse(R"({"blur_limit":[3,7],"sigma":0,"alpha":[0.2,0.5],"threshold":10})"));
  EXPECT_EQ(params("HorizontalFlip"), Json::object());
  EXPECT_EQ(params("GaussianBlur"), Json::parse(R"({"sigma":2.0,"kernel_size":[5,5]})"));
  EXPECT_EQ(find_transform("PlanckianJitter"), nullptr);
}

TEST(Transforms, NamesAreUniqueAndEveryKeyIsKnown) {
  const std::set<std::string> known = {"target_size",
                                       "height",
                                       "width",
                                       "size",
                                       "scale",
                                       "ratio",
                                       "padding",
                                       "fill",
                                       "border_mode",
                                       "angle_range",
                                       "interpolation",
                                       "angle",
                                       "shift",
                                       "shear",
                                       "reference_size",
                                       "alpha",
                                       "sigma",
                                       "approximate",
                                       "same_dxdy",
                                       "brightness",
                                       "contrast",
                                       "saturation",
                                       "hue",
                                       "num_output_channels",
                                       "pixel_shift",
                                       "kernel_size",
                                       "mean",
                                       "std",
                                       "per_channel",
                                       "bits",
                                       "threshold",
                                       "lightness",
                                       "mode",
                                       "quality",
                                       "gamma",
                                       "blur_limit",
                                       "direction_range",
                                       "clip_limit",
                                       "tile_grid",
                                       "brightness_limit",
                                       "contrast_limit",
                                       "radius",
                                       "gain",
                                       "roughness",
                                       "drop_width",
                                       "drop_height",
                                       "brightness_coefficient",
                                       "amount",
                                       "salt_vs_pepper",
                                       "saturation_factor",
                                       "snow_point_range",
                                       "distort_limit",
                                       "num_control_points",
                                       "distortion_scale",
                                       "max_size",
                                       "times",
                                       "grid"};
  std::set<std::string> used, names;
  for (const Transform& transform : transforms()) {
    EXPECT_TRUE(names.emplace(transform.name).second) << transform.name;
    for (const auto& [key, value] : transform.params.items()) {
      EXPECT_TRUE(known.contains(key)) << transform.name << ": " << key;
      used.insert(key);
    }
  }
  EXPECT_EQ(used, known);
}

TEST(Transforms, JsonHoldsTheWholeTable) {
  const Json list = transforms_json();
  ASSERT_EQ(list.size(), 58u);
  EXPECT_EQ(list[0]["name"], "Resize");
  EXPECT_EQ(list[0]["sets"], "R9V");
  EXPECT_EQ(list[0]["params"]["target_size"], 512);
  EXPECT_EQ(list[0]["shape"], "target");
}

TEST(Transforms, OurDefaultsAreTheCanonicalParameters) {
  for (const aug::TransformSpec& spec : aug::registry()) {
    SCOPED_TRACE(spec.name);
    const Transform* published = find_transform(spec.name);
    ASSERT_NE(published, nullptr);
    std::set<std::string> ours, theirs;
    for (const auto& [key, value] : spec.defaults.items())
      ours.insert(key);
    for (const auto& [key, value] : published->params.items()) {
      theirs.insert(key);
      EXPECT_EQ(spec.defaults.value(key, Json()), value) << key;
    }
    EXPECT_EQ(ours, theirs);
  }
}

}  // namespace
}  // namespace sluice::plan::transforms_test
