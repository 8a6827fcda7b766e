// sluice/peers/likeness.cpp - two libraries, the same inputs: are their outputs alike?
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/semantics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::peers {
namespace {

constexpr double kFixedTolerance = 3;   // levels of 255, mean over pixels of fixed outputs
constexpr double kBlack = 0.5;          // levels
constexpr double kChanged = 2.5;        // levels
constexpr double kErrorsApart = 4;      // standard errors: five features, many transforms
constexpr double kContrastFloor = 6;    // levels that matter, whatever the errors
constexpr double kBrightnessFloor = 6;  // the same
constexpr double kDistanceFloor = 6;    // the same
constexpr double kShareFloor = 0.06;    // of pixels

struct Feature {
  const char* name;
  double floor;
};
constexpr std::array<Feature, 5> kFeatures{{{"brightness", kBrightnessFloor},
                                            {"contrast", kContrastFloor},
                                            {"distance from the input", kDistanceFloor},
                                            {"share of changed pixels", kShareFloor},
                                            {"share of black pixels", kShareFloor}}};
using Values = std::array<double, kFeatures.size()>;

bool same_shape(const Picture& a, const Picture& b) {
  return a.height == b.height && a.width == b.width && a.channels == b.channels;
}

/// Half a pixel is rounded up by some and down by others.
bool near_shape(const Picture& a, const Picture& b) {
  return std::abs(a.height - b.height) <= 1 && std::abs(a.width - b.width) <= 1 &&
         a.channels == b.channels;
}

std::string shape_of(const Picture& picture) {
  return fmt::format("{}x{}x{}", picture.height, picture.width, picture.channels);
}

/// Over the pixels that both have.
double mean_distance(const Picture& a, const Picture& b) {
  const int height = std::min(a.height, b.height);
  const int width = std::min(a.width, b.width);
  const auto row = [](const Picture& picture, int y) {
    return picture.values.data() +
           static_cast<std::ptrdiff_t>(y) * picture.width * picture.channels;
  };
  double sum = 0;
  for (int y = 0; y < height; ++y) {
    const float* ours = row(a, y);
    const float* theirs = row(b, y);
    for (int i = 0; i < width * a.channels; ++i)
      sum += std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i]));
  }
  const double n = static_cast<double>(height) * width * a.channels;
  return n > 0 ? sum / n : 0;
}

/// Distance and changed pixels are NaN where the output has another size than the input.
Values features(const Picture& input, const Picture& output) {
  const auto n = static_cast<double>(std::max<std::size_t>(1, output.values.size()));
  const bool beside = same_shape(input, output);
  double sum = 0;
  double squares = 0;
  double distance = 0;
  double changed = 0;
  double black = 0;
  for (std::size_t i = 0; i < output.values.size(); ++i) {
    const double value = output.values[i];
    sum += value;
    squares += value * value;
    if (value < kBlack) black += 1;
    if (!beside) continue;
    const double apart = std::abs(value - static_cast<double>(input.values[i]));
    distance += apart;
    if (apart > kChanged) changed += 1;
  }
  const double mean = sum / n;
  const double nothing = std::nan("");
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean)),
          beside ? distance / n : nothing, beside ? changed / n : nothing, black / n};
}

bool is_fixed(const Outputs& outputs) {
  for (const auto& draws : outputs.outputs) {
    for (const Picture& picture : draws) {
      if (!same_shape(picture, draws.front()) || picture.values != draws.front().values)
        return false;
    }
  }
  return true;
}

/// Mean and standard error over draws, averaged over items.
struct Moments {
  double mean = 0;
  double error = 0;
};

Moments moments(const std::vector<Picture>& inputs, const Outputs& outputs, std::size_t feature) {
  Moments all;
  double variance = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& draws = outputs.outputs[i];
    const auto n = static_cast<double>(draws.size());
    double sum = 0;
    double squares = 0;
    for (const Picture& picture : draws) {
      const double value = features(inputs[i], picture)[feature];
      sum += value;
      squares += value * value;
    }
    const double mean = sum / n;
    all.mean += mean;
    if (n > 1) variance += std::max(0.0, squares / n - mean * mean) / (n - 1);
  }
  const auto items = static_cast<double>(std::max<std::size_t>(1, inputs.size()));
  all.mean /= items;
  all.error = std::sqrt(variance) / items;
  return all;
}

Likeness compare_fixed(const std::vector<Picture>& inputs, const Outputs& a, const Outputs& b) {
  double distance = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    distance += mean_distance(a.outputs[i].front(), b.outputs[i].front());
  distance /= static_cast<double>(std::max<std::size_t>(1, inputs.size()));
  return {distance <= kFixedTolerance,
          fmt::format("{:.1f} levels of 255 from {} on average", distance, b.library)};
}

Likeness compare_drawn(const std::vector<Picture>& inputs, const Outputs& a, const Outputs& b) {
  for (std::size_t f = 0; f < kFeatures.size(); ++f) {
    const Moments ours = moments(inputs, a, f);
    const Moments theirs = moments(inputs, b, f);
    if (std::isnan(ours.mean) || std::isnan(theirs.mean)) continue;
    const double apart = std::abs(ours.mean - theirs.mean);
    const double error = std::hypot(ours.error, theirs.error);
    if (apart > kFeatures[f].floor && apart > kErrorsApart * error) {
      return {false, fmt::format("{} {:.3g}, {} has {:.3g} (means over draws)", kFeatures[f].name,
                                 ours.mean, b.library, theirs.mean)};
    }
  }
  return {true, fmt::format("drawn as in {} as far as the draws show", b.library)};
}

}  // namespace

Likeness compare_outputs(const std::vector<Picture>& inputs, const Outputs& a, const Outputs& b) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Picture& ours = a.outputs[i].front();
    const Picture& theirs = b.outputs[i].front();
    const bool turned = ours.height == theirs.width && ours.width == theirs.height &&
                        ours.channels == theirs.channels;  // a quarter turn, drawn or not
    if (!near_shape(ours, theirs) && !(turned && !is_fixed(a) && !is_fixed(b))) {
      return {false,
              fmt::format("output {}, {} gives {}", shape_of(ours), b.library, shape_of(theirs))};
    }
  }
  const bool fixed = is_fixed(a);
  if (fixed != is_fixed(b)) {
    return {false, fmt::format("{}, {} {}", fixed ? "fixed parameters" : "parameters drawn anew",
                               b.library, fixed ? "draws them anew" : "has fixed ones")};
  }
  return fixed ? compare_fixed(inputs, a, b) : compare_drawn(inputs, a, b);
}

}  // namespace sluice::peers
