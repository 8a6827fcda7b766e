// tests/peers/semantics_test.cpp - known alike and known unlike outputs are told apart.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/semantics.h"

#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace sluice::peers::semantics_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kDraws = 16;

Picture noise_picture(std::uint64_t item, int height = 20, int width = 30) {
  Picture picture{height, width, 3, {}};
  Rng rng(RngKey{1, 0, item, 0, 0});
  picture.values.resize(static_cast<std::size_t>(height * width * 3));
  for (float& value : picture.values)
    value = static_cast<float>(rng.below(256));
  return picture;
}

std::vector<Picture> inputs() {
  return {noise_picture(0), noise_picture(1)};
}

using Change = std::function<Picture(const Picture& input, Rng& rng)>;

Outputs library(const std::string& name, const Change& change) {
  Outputs outputs{name, {}, name.rfind("opencv", 0) != 0};
  std::uint64_t item = 0;
  for (const Picture& input : inputs()) {
    auto& draws = outputs.outputs.emplace_back();
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      Rng rng(RngKey{std::hash<std::string>{}(name), draw, item, 0, 0});
      draws.push_back(change(input, rng));
    }
    ++item;
  }
  return outputs;
}

Change scaled(double factor) {
  return [=](const Picture& input, Rng&) {
    Picture out = input;
    for (float& value : out.values)
      value = static_cast<float>(value * factor);
    return out;
  };
}

/// Brightness drawn from low to high.
Change drawn(double low, double high) {
  return [=](const Picture& input, Rng& rng) {
    return scaled(low + (high - low) * rng.uniform())(input, rng);
  };
}

TEST(Likeness, FixedOutputsMayDifferByRounding) {
  const auto same =
      compare_outputs(inputs(), library("a", scaled(0.5)), library("b", scaled(0.51)));
  EXPECT_TRUE(same.same) << same.reason;
  const auto other =
      compare_outputs(inputs(), library("a", scaled(0.5)), library("b", scaled(0.6)));
  EXPECT_FALSE(other.same);
  EXPECT_THAT(other.reason, HasSubstr("levels of 255 from b on average"));
}

TEST(Likeness, AnotherShapeIsNeverTheSame) {
  const auto smaller = [](const Picture&, Rng&) { return noise_picture(9, 10, 30); };
  const auto found = compare_outputs(inputs(), library("a", smaller), library("b", scaled(1)));
  EXPECT_FALSE(found.same);
  EXPECT_EQ(found.reason, "output 10x30x3, b gives 20x30x3");
}

TEST(Likeness, OnePixelOfRoundingIsNoOtherShape) {
  const auto cropped = [](const Picture& input, Rng&) {
    Picture out{input.height, input.width - 1, input.channels, {}};
    for (int y = 0; y < out.height; ++y) {
      const auto row = input.values.begin() + y * input.width * input.channels;
      out.values.insert(out.values.end(), row, row + out.width * out.channels);
    }
    return out;
  };
  const auto found = compare_outputs(inputs(), library("a", cropped), library("b", scaled(1)));
  EXPECT_TRUE(found.same) << found.reason;
}

TEST(Likeness, DrawnParametersAreComparedAsDistributions) {
  EXPECT_TRUE(
      compare_outputs(inputs(), library("a", drawn(0.4, 1)), library("b", drawn(0.4, 1))).same);
  const auto other =
      compare_outputs(inputs(), library("a", drawn(0.2, 0.4)), library("b", drawn(0.7, 1)));
  EXPECT_FALSE(other.same);
  EXPECT_THAT(other.reason, HasSubstr("brightness"));
}

TEST(Likeness, FixedAndDrawnAreNotTheSame) {
  const auto found =
      compare_outputs(inputs(), library("a", scaled(0.7)), library("b", drawn(0.6, 0.8)));
  EXPECT_FALSE(found.same);
  EXPECT_EQ(found.reason, "fixed parameters, b draws them anew");
}

TEST(AgreementOfLibraries, TheLargestGroupIsTheMeasure) {
  const auto found = agreement(inputs(), {library("a", scaled(0.1)), library("b", scaled(0.9)),
                                          library("c", scaled(0.9)), library("d", drawn(0.1, 1))});
  EXPECT_THAT(found.agree, ElementsAre("b", "c"));
  ASSERT_EQ(found.different.size(), 2U);
  EXPECT_THAT(found.different.at("a"), HasSubstr("from b"));
  EXPECT_THAT(found.different.at("d"), HasSubstr("drawn anew"));
  EXPECT_EQ(found.notes.at("d"), "drawn, 20x30x3");
}

TEST(AgreementOfLibraries, RecipesOfOursHaveNoVote) {
  const auto found = agreement(
      inputs(), {library("opencv", scaled(0.1)), library("opencv-wheel", scaled(0.1)),
                 library("a", scaled(0.1)), library("b", scaled(0.9)), library("c", scaled(0.9))});
  EXPECT_THAT(found.agree, ElementsAre("b", "c"));
  const auto alone =
      agreement(inputs(), {library("opencv", scaled(0.1)), library("opencv-wheel", scaled(0.1)),
                           library("a", scaled(0.9))});
  EXPECT_TRUE(alone.agree.empty()) << "two builds of one library are one";
}

TEST(AgreementOfLibraries, WhereNoTwoAgreeNoneIsComparable) {
  const auto found = agreement(inputs(), {library("a", scaled(0.1)), library("b", scaled(0.9))});
  EXPECT_TRUE(found.agree.empty());
  EXPECT_EQ(found.different.size(), 2U);
  EXPECT_THAT(found.different.at("a"), HasSubstr("from b"));
  EXPECT_THAT(found.different.at("b"), HasSubstr("from a"));
}

TEST(AuditDocument, AnswersWhatItWasGiven) {
  const auto found = agreement(
      inputs(), {library("a", scaled(0.1)), library("b", scaled(0.9)), library("c", scaled(0.9))});
  const Json document{{"scenarios", {{"image-rgb", {{"Solarize", to_json(found)}}}}}};
  const auto audit = Audit::read(dump_json(document, -1), "semantics.json");
  ASSERT_TRUE(audit) << audit.error().message;
  EXPECT_THAT(audit->not_comparable("image-rgb", "Solarize", "a"), HasSubstr("from b"));
  EXPECT_EQ(audit->not_comparable("image-rgb", "Solarize", "b"), "");
  EXPECT_EQ(audit->not_comparable("image-rgb", "Solarize", "unknown"), "");
  EXPECT_EQ(audit->not_comparable("image-rgb", "Other", "a"), "");
  EXPECT_EQ(audit->not_comparable("video-16f", "Solarize", "a"), "");
}

TEST(AuditDocument, ThePipelineHasTheLastWordOnItsOwnRows) {
  const Json apart{{"agree", {"b"}}, {"different", {{"a", "wider"}}}, {"notes", Json::object()}};
  const Json alike{{"agree", {"a", "b"}}, {"different", Json::object()}, {"notes", Json::object()}};
  const Json document{{"scenarios",
                       {{"image-rgb", {{"Resize", apart}, {"Pad", apart}}},
                        {"image-rgb/pipeline", {{"Resize", alike}}}}}};
  const auto audit = Audit::read(dump_json(document, -1), "semantics.json");
  ASSERT_TRUE(audit) << audit.error().message;
  EXPECT_EQ(audit->not_comparable("image-rgb", "Resize", "a"), "wider");
  EXPECT_EQ(audit->not_comparable("image-rgb", "Resize", "a", "pipeline"), "");
  EXPECT_EQ(audit->not_comparable("image-rgb", "Pad", "a", "pipeline"), "wider");
}

TEST(AuditDocument, RefusesAnotherShapeWithTheKey) {
  const auto audit = Audit::read(R"({"scenarios": {"image-rgb": {"X": {"agree": 3}}}})", "s.json");
  ASSERT_FALSE(audit);
  EXPECT_EQ(audit.error().message, "s.json: image-rgb.X: agree must be a list");
}

}  // namespace
}  // namespace sluice::peers::semantics_test
