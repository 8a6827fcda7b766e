// tests/report/mixture_svg_test.cpp - the drawings of a mixture: sizes, bars, legend, sound XML.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/mixture/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/mixture_batches.h"
#include <map>
#include <regex>

namespace sluice::report::mixture_svg_test {
namespace {

using fixtures::batch;
using results::BatchTime;
using ::testing::HasSubstr;
using ::testing::Not;

/// Empty for well-formed XML of elements, attributes and text; else what is wrong.
std::string xml_problem(const std::string& text) {
  std::vector<std::string> open;
  static const std::regex tag("^<(/?)([a-z]+)((?:\\s+[A-Za-z0-9:-]+=\"[^\"<>]*\")*)\\s*(/?)>");
  static const std::regex entity("&(?!(amp|lt|gt|quot|#39|#x27|apos);)");
  if (std::regex_search(text, entity)) return "a bare &";
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') return "a control character";
  for (std::size_t at = text.find_first_of("<>"); at != std::string::npos;
       at = text.find_first_of("<>", at)) {
    std::smatch found;
    const std::string rest = text.substr(at, 4000);
    if (!std::regex_search(rest, found, tag)) return "no tag: " + rest.substr(0, 60);
    at += found[0].str().size();
    if (!found[1].str().empty()) {
      if (open.empty() || open.back() != found[2])
        return "closes what is not open: " + rest.substr(0, 60);
      open.pop_back();
    } else if (found[4].str().empty()) {
      open.push_back(found[2]);
    }
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

/// Height of all parts of the bar at each x, of rects inside groups (bars alone are written so).
std::map<std::string, double> bar_heights(const std::string& svg) {
  static const std::regex bar(
      "<rect x=\"([0-9.]+)\" y=\"([0-9.]+)\" width=\"[0-9.]+\" height=\"([0-9.]+)\"/>\n");
  std::map<std::string, double> heights;
  for (std::sregex_iterator at(svg.begin(), svg.end(), bar), end; at != end; ++at)
    heights[(*at)[1]] += std::stod((*at)[3]);
  return heights;
}

TEST(MixtureSvgTest, OverTimeByTheBook) {
  const auto svg = mixture_over_time_svg(fixtures::random_mixture(160, 29, 16));
  ASSERT_TRUE(svg) << svg.error().message;
  EXPECT_EQ(xml_problem(*svg), "");
  EXPECT_THAT(*svg, HasSubstr("width=\"1700\" height=\"520\""));
  EXPECT_THAT(*svg, HasSubstr(">Dataset Mixture Over Time</text>"));
  EXPECT_THAT(*svg, HasSubstr("#adb5bd"));
  for (const char* tick :
       {">0.00<", ">0.25<", ">0.50<", ">0.75<", ">1.00<", ">0<", ">40<", ">80<", ">119<", ">159<"})
    EXPECT_THAT(*svg, HasSubstr(tick));
  const auto heights = bar_heights(*svg);
  EXPECT_EQ(heights.size(), 160U);
  for (const auto& bar : heights) {
    EXPECT_NEAR(bar.second, 520 - 40 - 55, 0.1) << bar.first;
    EXPECT_GE(std::stod(bar.first), 70);
    EXPECT_LT(std::stod(bar.first), 1700 - 270);
  }
  EXPECT_EQ(count(*svg, "width=\"12\""), 9U);  // the legend: 8 and the others
}

TEST(MixtureSvgTest, MoreBatchesThanColumnsAreAveraged) {
  const auto svg = mixture_over_time_svg(fixtures::random_mixture(5000, 3, 16));
  ASSERT_TRUE(svg);
  EXPECT_EQ(bar_heights(*svg).size(), 1360U);
  EXPECT_THAT(*svg, HasSubstr(">4999<"));
  EXPECT_THAT(*svg, Not(HasSubstr("#adb5bd")));  // 3 data sets leave nothing to others
  EXPECT_LT(svg->size(), 1U << 20);
}

TEST(MixtureSvgTest, OneBatchIsDrawn) {
  const auto svg = mixture_over_time_svg(std::vector<BatchTime>{batch(0, false, 1, {{"a", 1}})});
  ASSERT_TRUE(svg);
  EXPECT_EQ(xml_problem(*svg), "");
  EXPECT_EQ(bar_heights(*svg).size(), 1U);
}

TEST(MixtureSvgTest, WindowsByTheBook) {
  const auto svg = mixture_windows_svg(fixtures::random_mixture(1200, 29, 16));
  ASSERT_TRUE(svg) << svg.error().message;
  EXPECT_EQ(xml_problem(*svg), "");
  EXPECT_THAT(*svg, HasSubstr("width=\"1700\" height=\"1160\""));  // 80 + 90 x 12
  EXPECT_THAT(*svg, HasSubstr(">b0-4<"));
  EXPECT_THAT(*svg, HasSubstr(">b1100-1104<"));
  EXPECT_EQ(count(*svg, ">b"), 12U);
  EXPECT_EQ(bar_heights(*svg).size(), 5U);  // places across; 12 bars above each other
  EXPECT_THAT(*svg, HasSubstr("5-Batch Windows"));
}

TEST(MixtureSvgTest, TheTitleSaysTheWindow) {
  MixtureDrawing drawing;
  drawing.window = 8;
  drawing.stride = 10;
  const auto svg = mixture_windows_svg(fixtures::random_mixture(27, 4, 16), drawing);
  ASSERT_TRUE(svg);
  EXPECT_THAT(*svg, HasSubstr("8-Batch Windows of the Dataset Mixture, Every 10 Batches"));
  EXPECT_EQ(count(*svg, ">b"), 2U);  // 0 and 10; from 20 there are only 7
}

TEST(MixtureSvgTest, TooFewBatches) {
  const auto batches = fixtures::random_mixture(4, 3, 16);
  const auto svg = mixture_windows_svg(batches);
  ASSERT_FALSE(svg);
  EXPECT_EQ(svg.error().message, "Not enough measured batches: 4, a window takes 5");
  EXPECT_TRUE(mixture_over_time_svg(batches));
  const std::vector<BatchTime> blind = {batch(0, false, 1, {})};
  EXPECT_THAT(mixture_over_time_svg(blind).error().message, HasSubstr("measure with metadata"));
  const std::vector<BatchTime> warm = {batch(0, true, 1, {{"a", 1}})};
  EXPECT_THAT(mixture_over_time_svg(warm).error().message,
              HasSubstr("Not enough measured batches"));
  MixtureDrawing drawing;
  drawing.top_k = 0;
  EXPECT_EQ(mixture_over_time_svg(batches, drawing).error().message,
            "--top-k 0: at least 1 is accepted");
}

TEST(MixtureSvgTest, HostileNamesStayText) {
  std::vector<BatchTime> batches;
  for (std::uint64_t i = 0; i < 5; ++i)
    batches.push_back(batch(i, false, 1, {{"</text><script>&\"'\x1b[31m\xff", 1}, {"b", 3}}));
  for (const auto& svg : {mixture_over_time_svg(batches), mixture_windows_svg(batches)}) {
    ASSERT_TRUE(svg);
    EXPECT_EQ(xml_problem(*svg), "");
    EXPECT_THAT(*svg, Not(HasSubstr("<script")));
  }
}

}  // namespace
}  // namespace sluice::report::mixture_svg_test
