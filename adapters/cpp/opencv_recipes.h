// adapters/cpp/opencv_recipes.h - the recipes of adapters/opencv_recipes.md: name to factory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/rng.h"

#include <functional>
#include <map>
#include <opencv2/core.hpp>
#include <string>

namespace sluice::opencv {

/// Canonical parameters. Everything that is missing or out of range throws std::invalid_argument
/// with the key and what is accepted.
class Params {
 public:
  explicit Params(const Json& values) : values_(values) {}
  [[nodiscard]] double number(const char* key) const;
  [[nodiscard]] int integer(const char* key, int low, int high) const;
  /// [low, high]; low <= high.
  struct Range {
    double low, high;
    double draw(Rng& rng) const { return low == high ? low : rng.uniform(low, high); }
  };
  [[nodiscard]] Range range(const char* key) const;
  /// Two whole numbers, each from `low` to `high`.
  struct Pair {
    int first, second;
  };
  [[nodiscard]] Pair pair(const char* key, int low, int high) const;

 private:
  [[nodiscard]] const Json& at(const char* key) const;
  const Json& values_;
};

/// Uniform in low ... high.
int draw_integer(Rng& rng, int low, int high);

struct Recipe {
  /// Parameters of one item, kept for its frames; null when there is nothing to draw. Makes what
  /// depends on them or on the size.
  std::function<void(cv::Size size, Rng& rng)> draw{};
  /// One frame; `out` may hold an earlier output, `in` is never written to.
  std::function<void(const cv::Mat& in, cv::Mat& out)> apply{};
};

using RecipeTable = std::map<std::string, std::function<Recipe(const Params& params)>>;

void add_geometry(RecipeTable& table);
void add_colour(RecipeTable& table);
void add_filters(RecipeTable& table);

}  // namespace sluice::opencv
