// tests/aug/golden_test.cpp - references against stored outputs of AlbumentationsX, by parity
// class.
// SPDX-License-Identifier: Apache-2.0
//
// The arrays and index.json, which names versions and the script, are written by
// tests/parity/parity.py --store.
#include "sluice/aug/registry.h"
#include "sluice/aug/warps/remap.h"
#include "sluice/core/file.h"
#include "sluice/image/npy.h"

#include <gtest/gtest.h>

#include "tests/places.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::aug::golden_test {
namespace {

using image::Image;

const std::filesystem::path kFolder = testing_support::source_dir() / "tests" / "aug" / "golden";

Json read_index() {
  const auto text = read_text_file(kFolder / "index.json");
  const auto json = text ? parse_json(*text, "index.json") : Result<Json>(text.error());
  return json ? *json : Json{{"error", json.error().message}, {"rows", Json::array()}};
}

const Json& index() {
  static const Json json = read_index();
  return json;
}

Image load(const Json& name) {
  static const auto packed = read_binary_file(kFolder / "arrays.npys");
  Image made;
  const Json place = index()["arrays"].value(name.get<std::string>(), Json::array({0, 0}));
  const std::size_t start = place[0], size = place[1];
  EXPECT_TRUE(packed.has_value());
  if (!packed || start + size > packed->size()) {
    ADD_FAILURE() << name << " is not in arrays.npys";
    return made;
  }
  EXPECT_TRUE(image::decode_npy(made, image::Bytes(*packed).subspan(start, size))) << name;
  return made;
}

/// Differences in levels over the samples that are compared, sorted, and the share of pixels that
/// differ.
struct Differences {
  std::vector<double> off;
  double pixels = 0;
  [[nodiscard]] double max() const { return off.back(); }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double one : off)
      sum += one;
    return sum / static_cast<double>(off.size());
  }
  [[nodiscard]] double percentile(double share) const {
    return off[static_cast<std::size_t>(share * static_cast<double>(off.size() - 1))];
  }
};

template <class T>
Differences differences(const Image& a, const Image& b, const Image* compared) {
  const double level = std::same_as<T, float> ? 255 : 1;
  Differences found;
  double pixels = 0;
  const auto left = a.view<T>(), right = b.view<T>();
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x) {
      if (compared != nullptr && compared->view<std::uint8_t>().at(x, y, 0) == 0) continue;
      double worst = 0;
      for (int c = 0; c < a.channels(); ++c) {
        double off = std::abs(static_cast<double>(left.at(x, y, c)) - right.at(x, y, c)) * level;
        if (!(off >= 0)) off = 1e9;  // not a number
        worst = std::max(worst, off);
        found.off.push_back(off);
      }
      pixels += 1;
      found.pixels += worst > 0 ? 1 : 0;
    }
  found.pixels /= std::max(pixels, 1.0);
  std::sort(found.off.begin(), found.off.end());
  return found;
}

void expect_class(const Differences& found, Parity parity) {
  ASSERT_FALSE(found.off.empty());
  switch (parity) {
    case Parity::equal:
      EXPECT_EQ(found.max(), 0);
      break;
    case Parity::pointwise:
      EXPECT_LE(found.max(), 1 + 1e-9);
      break;
    case Parity::nearest:
      EXPECT_LE(found.pixels, 0.01);
      break;
    case Parity::smooth:
      EXPECT_LE(found.percentile(0.999), 3);
      EXPECT_LE(found.mean(), 0.5);
      break;
    case Parity::property:
      ADD_FAILURE() << "a property has no stored output";
  }
}

template <class From, class To>
void run_reference(const Transform& transform, Image& dst, const Image& src, const Draw& draw) {
  const ImageSpan<To> to = dst.span<To>();
  const ImageView<From> from = src.view<From>();
  const Status done = transform.apply_reference(Frames<From, To>{{&to, 1}, {&from, 1}}, draw);
  ASSERT_TRUE(done) << done.error().message;
}

class Golden : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Golden, ReferenceIsWithinItsClass) {
  const Json& row = index()["rows"][GetParam()];
  const auto transform = make(row["transform"].get<std::string>(), row["params"]);
  ASSERT_TRUE(transform.has_value()) << transform.error().message;
  const auto draw = (*transform)->draw_from_json(row["draw"]);
  ASSERT_TRUE(draw.has_value()) << draw.error().message;
  const Image src = load(row["input"]), expected = load(row["output"]);
  const Shape out = (*transform)->output_shape(shape_of(src.view<std::uint8_t>()), *draw);
  ASSERT_EQ(out.width, expected.width());
  ASSERT_EQ(out.height, expected.height());
  ASSERT_EQ(out.channels, expected.channels());
  Image dst;
  ASSERT_TRUE(dst.resize_for(out.width, out.height, out.channels, expected.dtype()));
  const Image compared = row.contains("compared") ? load(row["compared"]) : Image();
  const Image* mask = compared.empty() ? nullptr : &compared;
  const Parity parity = (*transform)->spec().parity;
  if (expected.dtype() == DType::f32) {
    run_reference<std::uint8_t, float>(**transform, dst, src, *draw);
    expect_class(differences<float>(dst, expected, mask), parity);
  } else {
    run_reference<std::uint8_t, std::uint8_t>(**transform, dst, src, *draw);
    expect_class(differences<std::uint8_t>(dst, expected, mask), parity);
  }
}

/// Rows of a map instead of a draw test the remap itself.
class GoldenMap : public ::testing::TestWithParam<std::size_t> {};

TEST_P(GoldenMap, RemapReferenceIsWithinTheClass) {
  const Json& row = index()["rows"][GetParam()];
  const Image src = load(row["input"]), expected = load(row["output"]);
  const Image map_x = load(row["map_x"]), map_y = load(row["map_y"]);
  Image dst;
  ASSERT_TRUE(dst.resize_for(expected.width(), expected.height(), expected.channels()));
  const ImageSpan<std::uint8_t> to = dst.span<std::uint8_t>();
  const ImageView<std::uint8_t> from = src.view<std::uint8_t>();
  const ImageView<float> x = map_x.view<float>(), y = map_y.view<float>();
  const Status done = remap_bilinear_reference(Frames<std::uint8_t>{{&to, 1}, {&from, 1}},
                                               {{x.data(), x.samples()}, {y.data(), y.samples()}});
  ASSERT_TRUE(done) << done.error().message;
  const Image compared = row.contains("compared") ? load(row["compared"]) : Image();
  expect_class(differences<std::uint8_t>(dst, expected, compared.empty() ? nullptr : &compared),
               Parity::smooth);
}

std::vector<std::size_t> rows_with(const char* key) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < index()["rows"].size(); ++i)
    if (index()["rows"][i].contains(key)) rows.push_back(i);
  return rows;
}

std::string name_of(const ::testing::TestParamInfo<std::size_t>& row) {
  std::string name = index()["rows"][row.param]["output"];
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Stored, Golden, ::testing::ValuesIn(rows_with("draw")), name_of);
INSTANTIATE_TEST_SUITE_P(Stored, GoldenMap, ::testing::ValuesIn(rows_with("map_x")), name_of);

TEST(GoldenIndex, EveryRowThatCanBeIsStored) {
  for (const TransformSpec& spec : registry()) {
    const auto stored = [&](const Json& row) { return row["transform"] == spec.name; };
    EXPECT_EQ(std::any_of(index()["rows"].begin(), index()["rows"].end(), stored),
              spec.parity != Parity::property)
        << spec.name;
  }
}

TEST(GoldenIndex, SaysWhatMadeIt) {
  EXPECT_EQ(index().value("error", std::string()), "");
  EXPECT_FALSE(index()["rows"].empty());
  EXPECT_EQ(index().value("made_by", std::string()), "tests/parity/parity.py --store");
  EXPECT_NE(index()["versions"].value("albumentationsx", std::string()), "");
}

}  // namespace
}  // namespace sluice::aug::golden_test
