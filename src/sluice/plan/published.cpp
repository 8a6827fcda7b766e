// sluice/plan/published.cpp - the published RGB micro rates and who won.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/published.h"

#include <array>

namespace sluice::plan {
namespace {

constexpr std::array<std::string_view, 4> kLibraries = {"albumentationsx", "torchvision", "kornia",
                                                        "pillow"};
struct Line {
  std::string_view transform;
  double rates[4];  // in the order above; 0: no such operation; below 0: early-stopped at -rate
};

// clang-format off
constexpr Line kLines[] = {
    {"Affine", {871.8, 240.0, 402.0, 264.1}},
    {"AutoContrast", {1242.7, 159.2, 231.3, 898.8}},
    {"Blur", {4448.7, 0, 56.9, 409.2}},
    {"Brightness", {6912.2, 803.9, 766.1, 609.3}},
    {"CLAHE", {282.9, 0, 61.6, 0}},
    {"ChannelDropout", {6810.1, 0, 827.6, 0}},
    {"ChannelShuffle", {4337.4, 1866.2, 486.8, 0}},
    {"ColorJiggle", {639.3, 47.3, 33.6, 0}},
    {"ColorJitter", {641.4, 47.1, 51.7, 0}},
    {"Contrast", {6932.8, 474.8, 770.6, 443.1}},
    {"CornerIllumination", {424.6, 0, 156.6, 0}},
    {"Elastic", {191.0, -8.2, -3.7, 0}},
    {"EnhanceDetail", {2148.3, 0, 0, 275.3}},
    {"EnhanceEdge", {1373.3, 0, 0, 219.0}},
    {"Equalize", {807.4, 313.2, 128.3, 881.7}},
    {"Erasing", {9510.6, 1872.1, 298.3, 0}},
    {"GaussianBlur", {2342.8, 86.3, 57.1, 169.1}},
    {"GaussianIllumination", {388.1, 0, 187.9, 0}},
    {"GaussianNoise", {225.1, 0, 48.6, 0}},
    {"Grayscale", {5193.9, 1198.1, 418.3, 1590.6}},
    {"HorizontalFlip", {8416.0, 1999.2, 920.4, 2612.5}},
    {"Hue", {966.9, 0, 65.6, 0}},
    {"Invert", {15094.9, 2618.6, 1015.3, 1974.2}},
    {"JpegCompression", {692.0, 512.1, 42.8, 515.5}},
    {"LinearIllumination", {520.7, 0, 327.1, 0}},
    {"LongestMaxSize", {2824.5, 0, 330.2, 0}},
    {"MedianBlur", {843.3, 0, -2.5, -6.0}},
    {"MotionBlur", {1952.5, 0, 81.1, 0}},
    {"OpticalDistortion", {274.4, 0, 201.4, 0}},
    {"Pad", {13181.0, 2419.8, 0, 3167.1}},
    {"Perspective", {559.4, 202.0, 181.3, 0}},
    {"PhotoMetricDistort", {580.9, 45.3, 0, 0}},
    {"PlankianJitter", {2253.1, 0, 580.4, 0}},
    {"PlasmaBrightness", {267.0, 0, -15.3, 0}},
    {"PlasmaContrast", {142.8, 0, -15.8, 0}},
    {"PlasmaShadow", {419.8, 0, 52.9, 0}},
    {"Posterize", {14398.5, 2598.3, 290.4, 1977.3}},
    {"RGBShift", {2292.1, 0, 597.3, 0}},
    {"Rain", {1258.8, 0, 527.3, 0}},
    {"RandomCrop224", {38380.3, 8492.2, 981.3, 0}},
    {"RandomGamma", {9937.7, 0, 307.9, 0}},
    {"RandomJigsaw", {5172.0, 0, 218.5, 0}},
    {"RandomResizedCrop", {7150.4, 2822.9, 621.6, 0}},
    {"RandomRotate90", {5990.0, 0, 333.4, 0}},
    {"Resize", {2462.7, 978.9, 270.6, 396.3}},
    {"Rotate", {1407.6, 222.9, 325.4, 1045.5}},
    {"SaltAndPepper", {737.7, 0, 153.9, 0}},
    {"Saturation", {846.6, 0, 67.0, 499.7}},
    {"Sharpen", {1387.6, 75.0, 57.9, 0}},
    {"Shear", {784.4, 0, 403.3, 217.4}},
    {"SmallestMaxSize", {2017.5, 0, 214.1, 0}},
    {"Snow", {489.3, 0, 62.3, 0}},
    {"Solarize", {9759.5, 545.4, 213.7, 1965.7}},
    {"ThinPlateSpline", {51.7, 0, 36.2, 0}},
    {"Transpose", {4626.8, 0, 0, 1934.4}},
    {"UnsharpMask", {906.1, 0, 0, 134.1}},
    {"VerticalFlip", {14051.5, 2490.0, 1067.2, 3670.1}},
};
// clang-format on

const Line* find_line(std::string_view transform) {
  for (const Line& line : kLines) {
    if (line.transform == transform) return &line;
  }
  return nullptr;
}

}  // namespace

std::optional<PublishedRate> published_rate(std::string_view transform, std::string_view library) {
  const Line* line = find_line(transform);
  if (line == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < kLibraries.size(); ++i) {
    const double rate = line->rates[i];
    if (kLibraries[i] != library || rate == 0) continue;
    return PublishedRate{rate < 0 ? -rate : rate, rate < 0};
  }
  return std::nullopt;
}

std::optional<std::string> published_winner(std::string_view transform) {
  const Line* line = find_line(transform);
  if (line == nullptr) return std::nullopt;
  std::size_t best = 0;
  int measured = 0;
  for (std::size_t i = 0; i < kLibraries.size(); ++i) {
    measured += line->rates[i] > 0;
    if (line->rates[i] > line->rates[best]) best = i;
  }
  if (measured < 2) return std::nullopt;
  return std::string(kLibraries[best]);
}

Json published_json() {
  Json all = Json::object();
  for (const Line& line : kLines) {
    Json rates = Json::object();
    for (std::size_t i = 0; i < kLibraries.size(); ++i) {
      if (line.rates[i] > 0) rates[std::string(kLibraries[i])] = line.rates[i];
    }
    all[std::string(line.transform)] = std::move(rates);
  }
  return all;
}

Json published_json(std::string_view library) {
  Json rates = Json::object();
  for (const Line& line : kLines) {
    const auto rate = published_rate(line.transform, library);
    if (rate && !rate->early_stopped) rates[std::string(line.transform)] = rate->rate;
  }
  return rates;
}

}  // namespace sluice::plan
