// tests/aug/every_transform_test.cpp - every row of the registry: fast against reference on every
// instruction set, in place, clips, replay, no allocation. A new row is tested unasked.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/registry.h"
#include "sluice/core/text.h"
#include "sluice/image/simd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/allocations.h"
#include "tests/aug/support.h"

namespace sluice::aug::every_transform_test {
namespace {

using image::Image;
using image::Sample;
using testing::Distance;

std::vector<Shape> shapes_of(const TransformSpec& spec) {
  std::vector<Shape> shapes = {{1, 1, 3},   {17, 1, 3},  {1, 19, 3},   {2, 3, 3},
                               {31, 29, 3}, {64, 48, 3}, {101, 37, 3}, {257, 131, 3}};
  if (spec.channels == ChannelRule::any)
    for (int channels = 1; channels <= 12; ++channels)
      shapes.push_back({13 + 7 * channels, 11 + 5 * (channels % 4), channels});
  return shapes;
}

bool is_large(Shape shape) {
  return shape.width * shape.height > 5000;
}

template <Sample To>
Image output_for(Shape shape, std::size_t padding) {
  return image::testing::poisoned_image<To>(shape.width, shape.height, shape.channels, padding);
}

template <Sample From, Sample To>
Status apply(const Transform& transform, Image& dst, const Image& src, const Draw& draw,
             Scratch& scratch) {
  const ImageSpan<To> to = dst.span<To>();
  const ImageView<From> from = src.view<From>();
  return transform.apply(Frames<From, To>{{&to, 1}, {&from, 1}}, draw, scratch);
}

template <Sample From, Sample To>
Status apply_reference(const Transform& transform, Image& dst, const Image& src, const Draw& draw) {
  const ImageSpan<To> to = dst.span<To>();
  const ImageView<From> from = src.view<From>();
  return transform.apply_reference(Frames<From, To>{{&to, 1}, {&from, 1}}, draw);
}

class EveryTransform : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const TransformSpec& spec() const { return registry()[GetParam()]; }
  [[nodiscard]] std::unique_ptr<Transform> make() const {
    auto made = spec().make(Json::object());
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    return std::move(*made);
  }

  /// body(From{}, To{}) for each pair of sample types the transform takes.
  template <class Body>
  void for_types(Body body) const {
    if (spec().makes_f32)
      body(std::uint8_t{}, float{});
    else
      body(std::uint8_t{}, std::uint8_t{});
    body(float{}, float{});
  }
};

TEST_P(EveryTransform, FastMatchesReferenceOnEveryInstructionSet) {
  const auto transform = make();
  for_types([&]<class From, class To>(From, To) {
    const Tolerance& allowed = std::same_as<To, float> ? spec().f32 : spec().u8;
    Scratch scratch;
    std::uint64_t seed = 0;
    for (const Shape& shape : shapes_of(spec())) {
      for (const std::size_t padding :
           {std::size_t{0}, std::size_t{shape.width % 2 == 0 ? 4096U : 5U}}) {
        const Image src = testing::input_image<From>(shape, ++seed, padding);
        Rng rng({.seed = seed, .index = 3});
        const Draw draw = transform->sample(rng, shape);
        const Shape out = transform->output_shape(shape, draw);
        // SmallestMaxSize makes a single row 512 rows high: minutes under a sanitizer.
        if (out.width > 2000 || out.height > 2000) continue;
        // Large ones once, with rows apart: that is the harder case.
        if (padding == 0 && (is_large(shape) || is_large(out))) continue;
        const std::string what = fmt::format("{} padding {} seed {} draw {}", testing::words(shape),
                                             padding, seed, transform->to_json(draw).dump());
        Image reference = output_for<To>(out, 0);
        ASSERT_TRUE((apply_reference<From, To>(*transform, reference, src, draw))) << what;
        for (const std::string& target : image::simd_targets()) {
          const image::SimdTargetOverride with(target);
          Image fast = output_for<To>(out, padding);
          ASSERT_TRUE((apply<From, To>(*transform, fast, src, draw, scratch)))
              << target << " " << what;
          const Distance off =
              testing::distance<To>(fast.view<To>(), reference.view<To>(), allowed.max + 1e-12);
          ASSERT_LE(off.beyond, allowed.outliers)
              << target << " " << what << ": worst " << off.worst << ", allowed " << allowed.max;
          ASSERT_TRUE(image::testing::padding_intact<To>(fast)) << target << " " << what;
        }
      }
    }
  });
}

/// {parameter: word} for every word of a choice that is not the default.
std::vector<Json> other_words(const TransformSpec& spec) {
  constexpr std::string_view kChoice = "one of ";
  std::vector<Json> found;
  for (const TransformSpec::Parameter& parameter : spec.parameters) {
    if (parameter.accepted.rfind(kChoice, 0) != 0) continue;
    for (std::string word : split(parameter.accepted.substr(kChoice.size()), ',')) {
      word.erase(0, word.find_first_not_of(' '));
      if (spec.defaults[parameter.name] != word) found.push_back(Json{{parameter.name, word}});
    }
  }
  return found;
}

TEST_P(EveryTransform, OtherWordsMatchTheReferenceToo) {
  for (const Json& words : other_words(spec())) {
    const auto made = spec().make(words);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    for_types([&]<class From, class To>(From, To) {
      // Another interpolation has another tolerance than the default: a level, and a few pixels
      // that lie halfway between two.
      const bool f32 = std::same_as<To, float>;
      const double level = std::max(f32 ? spec().f32.max : spec().u8.max, f32 ? 1e-3 : 1.0);
      std::uint64_t seed = 30;
      Scratch scratch;
      for (const Shape shape : {Shape{31, 29, 3}, Shape{101, 37, 3}, Shape{257, 131, 3}}) {
        const Image src = testing::input_image<From>(shape, ++seed);
        Rng rng({.seed = seed});
        const Draw draw = (*made)->sample(rng, shape);
        const Shape out = (*made)->output_shape(shape, draw);
        Image fast = output_for<To>(out, 0), reference = output_for<To>(out, 0);
        ASSERT_TRUE((apply<From, To>(**made, fast, src, draw, scratch)));
        ASSERT_TRUE((apply_reference<From, To>(**made, reference, src, draw)));
        const Distance off = testing::distance<To>(fast.view<To>(), reference.view<To>(), level);
        EXPECT_LE(off.beyond, 0.005)
            << words.dump() << " " << testing::words(shape) << ": worst " << off.worst;
      }
    });
  }
}

TEST_P(EveryTransform, SameInputAndDrawGiveTheSameBytes) {
  const auto transform = make();
  for_types([&]<class From, class To>(From, To) {
    const Shape shape{53, 41, 3};
    const Image src = testing::input_image<From>(shape, 2);
    Rng rng({.seed = 8});
    const Draw draw = transform->sample(rng, shape);
    const auto replayed = transform->draw_from_json(Json::parse(transform->to_json(draw).dump()));
    ASSERT_TRUE(replayed.has_value()) << replayed.error().message;
    const Shape out = transform->output_shape(shape, draw);
    Image first = output_for<To>(out, 0), second = output_for<To>(out, 0);
    Scratch one, other;
    ASSERT_TRUE((apply<From, To>(*transform, first, src, draw, one)));
    ASSERT_TRUE((apply<From, To>(*transform, second, src, *replayed, other)));
    EXPECT_EQ(testing::distance<To>(first.view<To>(), second.view<To>(), 0).worst, 0)
        << transform->to_json(draw).dump();
  });
}

TEST_P(EveryTransform, FramesOfAClipAreEachTheImage) {
  const auto transform = make();
  for_types([&]<class From, class To>(From, To) {
    const Shape shape{47, 33, 3};
    Rng rng({.seed = 4});
    const Draw draw = transform->sample(rng, shape);
    const Shape out = transform->output_shape(shape, draw);
    std::vector<Image> src, dst;
    std::vector<ImageView<From>> from;
    std::vector<ImageSpan<To>> to;
    for (std::uint64_t f = 0; f < 3; ++f) {
      src.push_back(testing::input_image<From>(shape, f));
      dst.push_back(output_for<To>(out, 0));
    }
    for (std::size_t f = 0; f < 3; ++f) {
      from.push_back(src[f].template view<From>());
      to.push_back(dst[f].template span<To>());
    }
    Scratch scratch;
    ASSERT_TRUE(transform->apply(Frames<From, To>{to, from}, draw, scratch));
    for (std::size_t f = 0; f < 3; ++f) {
      Image alone = output_for<To>(out, 0);
      ASSERT_TRUE((apply<From, To>(*transform, alone, src[f], draw, scratch)));
      EXPECT_EQ(testing::distance<To>(alone.view<To>(), dst[f].template view<To>(), 0).worst, 0)
          << "frame " << f;
    }
  });
}

TEST_P(EveryTransform, InPlaceGivesTheSame) {
  if (!spec().in_place) return;
  const auto transform = make();
  for (const Shape shape :
       {Shape{61, 23, 3}, Shape{16, 5, spec().channels == ChannelRule::any ? 5 : 3}}) {
    Rng rng({.seed = 5});
    const Draw draw = transform->sample(rng, shape);
    const auto both = [&]<class T>(T) {
      Image image = testing::input_image<T>(shape, 6);
      Image apart = output_for<T>(shape, 0);
      Scratch scratch;
      ASSERT_TRUE((apply<T, T>(*transform, apart, image, draw, scratch)));
      ASSERT_TRUE((apply<T, T>(*transform, image, image, draw, scratch)));
      EXPECT_EQ(testing::distance<T>(apart.view<T>(), image.view<T>(), 0).worst, 0);
    };
    both(std::uint8_t{});
    both(float{});
  }
}

TEST_P(EveryTransform, DoesNotAllocateInSteadyState) {
  const auto transform = make();
  for_types([&]<class From, class To>(From, To) {
    const Shape shape{120, 90, 3};
    const Image src = testing::input_image<From>(shape, 9);
    Scratch scratch;
    Image dst;
    std::size_t during = 0;
    // The same draws twice: the first round may grow the scratch memory.
    for (int round = 0; round < 2; ++round)
      for (std::uint64_t i = 0; i < 6; ++i) {
        Rng rng({.seed = 10, .index = i});
        const std::size_t before = testing_support::allocations();
        const Draw draw = transform->sample(rng, shape);
        const std::size_t sampled = testing_support::allocations() - before;
        const Shape out = transform->output_shape(shape, draw);
        ASSERT_TRUE(dst.resize_for(out.width, out.height, out.channels,
                                   std::same_as<To, float> ? DType::f32 : DType::u8));
        const std::size_t start = testing_support::allocations();
        ASSERT_TRUE((apply<From, To>(*transform, dst, src, draw, scratch)));
        if (round == 1) during += testing_support::allocations() - start + sampled;
      }
    EXPECT_EQ(during, 0U);
  });
}

TEST_P(EveryTransform, SaysWhatItIs) {
  EXPECT_FALSE(spec().doc.empty());
  EXPECT_TRUE(spec().u8.max == 0 || !spec().u8.reason.empty()) << "a tolerance needs its reason";
  EXPECT_TRUE(spec().f32.max == 0 || !spec().f32.reason.empty()) << "a tolerance needs its reason";
  EXPECT_TRUE(spec().make(spec().defaults).has_value());
  const auto refused = spec().make(Json{{"no such parameter", 1}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message.rfind(spec().name + ": unknown parameter", 0), 0U)
      << refused.error().message;
}

std::vector<std::size_t> rows() {
  std::vector<std::size_t> all(registry().size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryTransform, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return registry()[row.param].name; });

TEST(Registry, FindsByNameAndSuggests) {
  EXPECT_NE(find("Solarize"), nullptr);
  const auto misspelt = make("Solarise", Json::object());
  ASSERT_FALSE(misspelt.has_value());
  EXPECT_EQ(misspelt.error().message, "no transform 'Solarise'; did you mean 'Solarize'?");
}

}  // namespace
}  // namespace sluice::aug::every_transform_test
