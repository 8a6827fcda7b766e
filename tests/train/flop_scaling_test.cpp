// tests/train/flop_scaling_test.cpp - the scaling table against the published one, CSV and SVG.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/flop_scaling.h"

#include "sluice/core/text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::train::flop_scaling_test {
namespace {

struct Published {
  int grid;
  double attention, hyena_train, hyena_infer, film, ratio;  // GFLOP
};

// nvSubquadratic's compare_flops --scaling for ViT-5-Small, recomputed; four significant digits.
constexpr Published kPublished[] = {
    {7, 2.38, 2.62, 2.52, 2.62, 0.91},      {14, 9.41, 9.97, 9.51, 9.97, 0.94},
    {16, 12.51, 12.95, 12.34, 12.95, 0.97}, {20, 20.49, 20.07, 19.10, 20.08, 1.02},
    {28, 45.51, 39.04, 37.08, 39.05, 1.17}, {32, 63.90, 50.89, 48.30, 50.90, 1.26},
    {56, 317.3, 155.3, 147.0, 155.3, 2.04}, {112, 3443.9, 623.0, 587.4, 623.1, 5.53},
};

std::vector<ScalingRow> rows() {
  return flop_scaling(*find_model("vit5-small"), scaling_grids());
}

double step_of(double value) {  // half of the last digit that was printed
  return value < 100 ? 0.0051 : 0.051;
}

TEST(FlopScaling, matches_the_published_table) {
  const auto all = rows();
  ASSERT_EQ(all.size(), std::size(kPublished));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ScalingRow& row = all[i];
    const Published& known = kPublished[i];
    EXPECT_EQ(row.grid, known.grid);
    EXPECT_EQ(row.patches, known.grid * known.grid);
    EXPECT_EQ(row.image, known.grid * 16);
    EXPECT_NEAR(row.attention.train / 1e9, known.attention, step_of(known.attention));
    EXPECT_NEAR(row.hyena.train / 1e9, known.hyena_train, step_of(known.hyena_train));
    EXPECT_NEAR(row.hyena.infer / 1e9, known.hyena_infer, step_of(known.hyena_infer));
    EXPECT_NEAR(row.hyena_film.train / 1e9, known.film, step_of(known.film));
    EXPECT_NEAR(row.attention.train / row.hyena.train, known.ratio, 0.0051);
  }
}

TEST(FlopScaling, attention_at_224_pixels_is_exact) {
  EXPECT_EQ(rows()[1].attention.train, 9'412'799'616.0);
}

TEST(FlopScaling, parts_hold_together) {
  for (const ScalingRow& row : rows()) {
    EXPECT_EQ(row.attention.train, row.attention.infer);
    EXPECT_EQ(row.hyena_film.train, row.hyena_film.infer);  // its kernel depends on the input
    EXPECT_LT(row.ckconv.infer, row.ckconv.train);
    EXPECT_LT(row.ckconv.train, row.ckconv_film.train);
    // What is not the long convolution is the same in all three.
    const double rest = row.hyena.train - row.ckconv.train;
    EXPECT_NEAR(row.hyena.infer - row.ckconv.infer, rest, 1e-9 * rest);
    EXPECT_NEAR(row.hyena_film.train - row.ckconv_film.train, rest, 1e-9 * rest);
  }
}

TEST(FlopScaling, csv_has_a_line_per_grid) {
  const auto lines = split(scaling_csv(rows()), '\n');
  ASSERT_EQ(lines.size(), scaling_grids().size() + 2);  // a header, and the end of the last line
  EXPECT_EQ(lines[0],
            "grid_side,image_size,num_patches,attention_train,attention_infer,hyena_train,"
            "hyena_infer,hyena_film_train,hyena_film_infer,ckconv_train,ckconv_infer,"
            "ckconv_film_train,ckconv_film_infer");
  EXPECT_EQ(split(lines[2], ',').size(), 13U);
  EXPECT_EQ(lines[2].substr(0, 33), "14,224,196,9.412800,9.412800,9.97");
}

TEST(FlopScaling, svg_has_all_curves_and_the_usual_size) {
  const std::string svg = scaling_svg(rows());
  std::size_t curves = 0;
  for (std::size_t at = svg.find("<polyline"); at != std::string::npos;
       at = svg.find("<polyline", at + 1))
    ++curves;
  EXPECT_EQ(curves, 6U);
  EXPECT_NE(svg.find("196 patches"), std::string::npos);
  EXPECT_NE(svg.find("stroke-dasharray=\"4 4\""), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

}  // namespace
}  // namespace sluice::train::flop_scaling_test
