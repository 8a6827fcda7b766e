// tests/aug/compose_test.cpp - lists of transforms: keyed draws, replay, YAML and its mistakes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/compose.h"

#include "sluice/config/parse.h"

#include <gtest/gtest.h>

#include "tests/allocations.h"
#include "tests/aug/support.h"

namespace sluice::aug::compose_test {
namespace {

using image::Image;

Compose compose_of(const std::string& yaml) {
  const auto node = config::parse(yaml, "test.yaml");
  EXPECT_TRUE(node.has_value()) << (node ? "" : node.error().message);
  auto made = Compose::from_node(*node);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return made ? std::move(*made) : Compose();
}

std::string mistake_in(const std::string& yaml) {
  const auto node = config::parse(yaml, "test.yaml");
  EXPECT_TRUE(node.has_value()) << (node ? "" : node.error().message);
  const auto made = Compose::from_node(*node);
  return made ? "" : made.error().message;
}

Drawn drawn_of(const Compose& compose, const ItemKey& key, Shape shape = {64, 48, 3}) {
  Drawn drawn;
  compose.sample(drawn, key, shape);
  return drawn;
}

/// Which of the first 32 items a step is applied to.
std::string applied(const Compose& compose, std::size_t step, std::uint64_t seed) {
  std::string bits;
  for (std::uint64_t i = 0; i < 32; ++i)
    bits += drawn_of(compose, {.seed = seed, .index = i}).steps[step].applied ? '1' : '0';
  return bits;
}

TEST(Compose, StagesOfNamesAreFrozen) {
  EXPECT_EQ(stage_of(""), 2166136261U);
  EXPECT_EQ(stage_of("Solarize"), 1695570608U);
  const Compose compose = compose_of("[Solarize, Solarize, {Solarize: {threshold: 1}, name: end}]");
  EXPECT_EQ(compose.name(0), "Solarize");
  EXPECT_EQ(compose.name(1), "Solarize#2");
  EXPECT_EQ(compose.name(2), "end");
  EXPECT_EQ(compose.stage(1), stage_of("Solarize#2"));
}

TEST(Compose, DrawsAreFrozen) {
  const Compose compose = compose_of("[{Solarize: , p: 0.5}, {Solarize: , p: 0.25}]");
  EXPECT_EQ(applied(compose, 0, 7), "10011011011111111010001110100111");
  EXPECT_EQ(applied(compose, 1, 7), "00010010100110010001111001000010");
}

TEST(Compose, DrawnParametersAreFrozen) {
  const Compose compose = compose_of("[RandomRotate90, RandomCrop224: {height: 16, width: 24}]");
  std::string found;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Drawn drawn =
        drawn_of(compose, {.seed = 11, .epoch = 2, .index = i, .repeat = 1}, {500, 375, 3});
    const Json json = compose.to_json(drawn);
    found += json[0]["draw"]["times"].dump() + " " + json[1]["draw"]["x"].dump() + "," +
             json[1]["draw"]["y"].dump() + "; ";
  }
  EXPECT_EQ(found, "2 181,269; 1 213,463; 1 27,154; 0 114,51; 1 54,191; 0 147,204; ");
}

TEST(Compose, OtherStepsDoNotChangeADraw) {
  const Compose alone = compose_of("[{Solarize: , p: 0.5, name: mine}]");
  const Compose among = compose_of(
      "[Solarize, {Solarize: , p: 0.3}, {Solarize: {threshold: 0.2}, p: 0.5, name: mine}, "
      "Solarize]");
  EXPECT_EQ(applied(alone, 0, 3), applied(among, 2, 3));
  EXPECT_NE(applied(alone, 0, 3), applied(alone, 0, 4));
}

TEST(Compose, ProbabilityIsKept) {
  const Compose compose = compose_of("[{Solarize: , p: 0.3}, {Solarize: , p: 0}, Solarize]");
  int first = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Drawn drawn = drawn_of(compose, {.seed = 1, .index = i});
    first += drawn.steps[0].applied;
    ASSERT_FALSE(drawn.steps[1].applied);
    ASSERT_TRUE(drawn.steps[2].applied);
  }
  EXPECT_NEAR(first / 2000.0, 0.3, 0.05);
}

TEST(Compose, IsItsTransformsInOrder) {
  const Compose compose = compose_of(
      "steps:\n"
      "  - Solarize: {threshold: 0.3}\n"
      "  - Solarize: {threshold: 0.7}\n"
      "  - Solarize: {threshold: 0.6}\n");
  const auto both = [&]<class T>(T) {
    std::vector<Image> frames;
    for (std::uint64_t f = 0; f < 2; ++f)
      frames.push_back(testing::input_image<T>({37, 21, 3}, f));
    Workspace workspace;
    std::vector<Image> out;
    const Drawn drawn = drawn_of(compose, {});
    ASSERT_TRUE(compose.apply(out, frames, drawn, workspace));
    ASSERT_EQ(out.size(), 2U);
    for (std::size_t f = 0; f < 2; ++f) {
      auto by_hand = frames[f].clone();
      ASSERT_TRUE(by_hand.has_value());
      for (std::size_t i = 0; i < 3; ++i) {
        const ImageSpan<T> to = by_hand->template span<T>();
        const ImageView<T> from = by_hand->template view<T>();
        ASSERT_TRUE(compose.transform(i).apply_reference(Frames<T>{{&to, 1}, {&from, 1}},
                                                         drawn.steps[i].draw));
      }
      EXPECT_EQ(
          testing::distance<T>(out[f].template view<T>(), by_hand->template view<T>(), 0).worst, 0);
    }
  };
  both(std::uint8_t{});
  both(float{});
}

/// One step by its own transform, into an image of its own.
template <class From, class To>
Image one_step(const Transform& transform, const Image& src, const Draw& draw) {
  const Shape out = transform.output_shape(shape_of(src.view<From>()), draw);
  Image dst = image::testing::poisoned_image<To>(out.width, out.height, out.channels);
  const ImageSpan<To> to = dst.span<To>();
  const ImageView<From> from = src.view<From>();
  Scratch scratch;
  EXPECT_TRUE(transform.apply(Frames<From, To>{{&to, 1}, {&from, 1}}, draw, scratch));
  return dst;
}

TEST(Compose, ShapesAndTypesChangeOnTheWay) {
  const Compose compose = compose_of(
      "- Pad: {padding: 3}\n- Invert\n- RandomCrop224: {height: 40, width: 30}\n- Transpose\n"
      "- HorizontalFlip\n- Normalize\n");
  Workspace workspace;
  std::vector<Image> out;
  for (std::uint64_t i = 0; i < 3; ++i) {  // sizes change: buffers are used again
    const Shape shape{50 + static_cast<int>(i) * 7, 41, 3};
    const Image src = testing::input_image<std::uint8_t>(shape, i);
    const Drawn drawn = drawn_of(compose, {.index = i}, shape);
    ASSERT_TRUE(compose.apply(out, {&src, 1}, drawn, workspace));
    Image by_hand = testing::input_image<std::uint8_t>(shape, i);
    for (std::size_t k = 0; k < 5; ++k)
      by_hand =
          one_step<std::uint8_t, std::uint8_t>(compose.transform(k), by_hand, drawn.steps[k].draw);
    by_hand = one_step<std::uint8_t, float>(compose.transform(5), by_hand, drawn.steps[5].draw);
    EXPECT_EQ(compose.output_shape(shape, drawn), (Shape{40, 30, 3}));
    ASSERT_TRUE(image::same_shape(out[0].view<float>(), by_hand.view<float>()));
    EXPECT_EQ(testing::distance<float>(out[0].view<float>(), by_hand.view<float>(), 0).worst, 0);
  }
}

TEST(Compose, NothingAppliedIsACopy) {
  const Compose compose = compose_of("[{Solarize: , p: 0}]");
  const Image src = testing::input_image<std::uint8_t>({19, 7, 4}, 2, 5);
  std::vector<Image> out;
  Workspace workspace;
  ASSERT_TRUE(compose.apply(out, {&src, 1}, drawn_of(compose, {}), workspace));
  EXPECT_EQ(
      testing::distance<std::uint8_t>(out[0].view<std::uint8_t>(), src.view<std::uint8_t>(), 0)
          .worst,
      0);
}

TEST(Compose, DrawsAreReplayed) {
  const Compose compose = compose_of("[{Solarize: , p: 0.5}, Solarize]");
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Json json = compose.to_json(drawn_of(compose, {.seed = 2, .index = i}));
    const auto replayed = compose.drawn_from_json(Json::parse(json.dump()));
    ASSERT_TRUE(replayed.has_value()) << replayed.error().message;
    EXPECT_EQ(compose.to_json(*replayed), json);
  }
  const auto other = compose.drawn_from_json(Json::parse(R"([{"name": "Solarize"}, 3])"));
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().message,
            "draws: step 1: {\"name\":\"Solarize\"}: accepted is step 'Solarize' of Solarize");
  EXPECT_EQ(compose.drawn_from_json(Json::array()).error().message,
            "draws: a list of 2 steps is accepted");
}

TEST(Compose, DoesNotAllocateOnceWarm) {
  const Compose compose = compose_of(
      "[{Solarize: , p: 0.5}, {RandomCrop224: {height: 30, width: 50}, p: 0.5}, {Invert: , p: "
      "0.5}, "
      "{Normalize: , p: 0.5}]");
  const Image src = testing::input_image<std::uint8_t>({60, 40, 3}, 1);
  std::vector<Image> out;
  Workspace workspace;
  Drawn drawn;
  std::size_t during = 0;
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t i = 0; i < 16; ++i) {
      const std::size_t before = testing_support::allocations();
      compose.sample(drawn, {.seed = 1, .index = i}, {60, 40, 3});
      const bool done = compose.apply(out, {&src, 1}, drawn, workspace).has_value();
      if (round == 1) during += testing_support::allocations() - before;
      ASSERT_TRUE(done);
    }
  EXPECT_EQ(during, 0U);
}

TEST(Compose, MistakesHaveTheirLine) {
  EXPECT_EQ(mistake_in("- Solarise\n"),
            "test.yaml:1: no transform 'Solarise'; did you mean 'Solarize'?");
  EXPECT_EQ(mistake_in("steps:\n  - Solarize:\n      treshold: 1\n"),
            "test.yaml:3: Solarize: unknown parameter 'treshold': accepted are threshold");
  EXPECT_EQ(mistake_in("- Solarize:\n    threshold: 2\n  p: 1.5\n"),
            "test.yaml:2: Solarize: threshold 2: accepted is a number, 0 to 1; "
            "test.yaml:3: p '1.5': accepted is 0 to 1");
  EXPECT_EQ(mistake_in("- Solarize:\n  Invert:\n"),
            "test.yaml:2: 'Invert' beside 'Solarize': a step has one transform, `p` and `name`");
  EXPECT_EQ(mistake_in("- p: 1\n"), "test.yaml:1: [0]: a map names no transform");
  EXPECT_EQ(
      mistake_in("- [1]\n"),
      "test.yaml:1: [0]: a list is no step: accepted are a transform's name, or a map of it to "
      "its parameters");
  EXPECT_EQ(mistake_in("- Solarize: {threshold: 1, threshold: 0}\n"),
            "test.yaml:1: 'threshold' is written twice");
  EXPECT_EQ(mistake_in("step: []\n"),
            "test.yaml:1: unknown or doubled key 'step': accepted is steps; test.yaml:1: a list of "
            "steps is accepted, or a map with it under 'steps'");
  EXPECT_EQ(mistake_in("- {Solarize: , name: a}\n- {Solarize: , name: a}\n"),
            "test.yaml:1: steps 'a' and 'a' would draw the same numbers: give one another name");
}

TEST(Compose, RefusesWhatDoesNotFit) {
  const Compose compose = compose_of("[Solarize]");
  std::vector<Image> out;
  Workspace workspace;
  EXPECT_FALSE(compose.apply(out, {}, drawn_of(compose, {}), workspace));
  std::vector<Image> frames;
  frames.push_back(testing::input_image<std::uint8_t>({5, 5, 3}, 1));
  EXPECT_FALSE(compose.apply(out, frames, Drawn{}, workspace));
  frames.push_back(testing::input_image<std::uint8_t>({6, 5, 3}, 1));
  EXPECT_FALSE(compose.apply(out, frames, drawn_of(compose, {}), workspace));
}

}  // namespace
}  // namespace sluice::aug::compose_test
