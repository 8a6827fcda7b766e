// sluice/plan/transforms.cpp - the table of transforms.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/transforms.h"

#include <algorithm>

namespace sluice::plan {
namespace {

using enum OutputShape;

struct Entry {
  std::string_view name, sets, libraries;
  OutputShape shape;
  bool stochastic;
  std::string_view params;  // JSON without the braces
};

// clang-format off
// Angles in degrees, shifts in pixels of an image of reference_size, lists are [low, high] unless the key says a size.
constexpr Entry kEntries[] = {
    {"Resize", "R9V", "ATKPD", target, false, R"("target_size":512,"interpolation":"bilinear")"},
    {"RandomCrop224", "R9V", "ATKpD", crop, true, R"("height":224,"width":224)"},
    {"RandomResizedCrop", "R9V", "ATKpD", crop, true,
     R"("size":[224,224],"scale":[0.08,1.0],"ratio":[0.75,1.3333],"interpolation":"bilinear")"},
    {"HorizontalFlip", "R9V", "ATKPD", same, false, ""},
    {"VerticalFlip", "R9V", "ATKPD", same, false, ""},
    {"Pad", "R9V", "ATPD", padded, false, R"("padding":10,"fill":0,"border_mode":"constant")"},
    {"Rotate", "R9V", "ATKPD", same, true,
     R"("angle_range":[-45,45],"interpolation":"nearest","border_mode":"constant","fill":0)"},
    {"Affine", "R9V", "ATKPD", same, true,
     R"("angle":25,"shift":[20,20],"scale":2.0,"shear":[10,15],"interpolation":"bilinear","border_mode":"constant","fill":0,"reference_size":512)"},
    {"Perspective", "R9V", "ATK", same, true, R"("scale":[0.05,0.1],"interpolation":"bilinear","fill":0)"},
    {"Elastic", "R9V", "ATK", same, true,
     R"("alpha":50,"sigma":5,"interpolation":"bilinear","approximate":false,"same_dxdy":true)"},
    {"ColorJitter", "RV", "ATKD", same, true, R"("brightness":0.5,"contrast":1.5,"saturation":1.5,"hue":0.5)"},
    {"ChannelShuffle", "R9V", "ATK", same, true, ""},
    {"Grayscale", "R9V", "ATKP", same, false, R"("num_output_channels":3)"},
    {"RGBShift", "RV", "AK", same, true, R"("pixel_shift":100)"},
    {"GaussianBlur", "R9V", "ATKPD", same, false, R"("sigma":2.0,"kernel_size":[5,5])"},
    {"GaussianNoise", "R9V", "AKD", same, true, R"("mean":0,"std":0.44,"per_channel":true)"},
    {"Invert", "R9V", "ATKP", same, false, ""},
    {"Posterize", "R9V", "ATKP", same, false, R"("bits":4)"},
    {"Solarize", "R9V", "ATKP", same, false, R"("threshold":0.5)"},
    {"Sharpen", "R9V", "ATK", same, true, R"("alpha":[0.2,0.5],"lightness":[0.5,1.0])"},
    {"AutoContrast", "R9V", "ATKP", same, false, ""},
    {"Equalize", "RV", "ATKPD", same, false, R"("mode":"pil")"},
    {"Erasing", "R9V", "ATKD", same, true, R"("scale":[0.02,0.33],"ratio":[0.3,3.3],"fill":0)"},
    {"JpegCompression", "R9V", "ATKPD", same, false, R"("quality":50)"},
    {"RandomGamma", "R9V", "AK", same, false, R"("gamma":120)"},
    {"PlankianJitter", "RV", "AK", same, true, R"("mode":"blackbody")"},
    {"MedianBlur", "R9V", "AKP", same, false, R"("blur_limit":5)"},
    {"MotionBlur", "R9V", "AK", same, true, R"("kernel_size":5,"angle_range":[0,360],"direction_range":[-1,1])"},
    {"CLAHE", "RV", "AKD", same, true, R"("clip_limit":[1,4],"tile_grid":[8,8])"},
    {"Brightness", "R9V", "ATKPD", same, false, R"("brightness_limit":[0.2,0.2])"},
    {"Contrast", "R9V", "ATKPD", same, false, R"("contrast_limit":[0.2,0.2])"},
    {"Blur", "R9V", "AKP", same, false, R"("radius":5,"border_mode":"constant")"},
    {"ChannelDropout", "R9V", "AK", same, true, ""},
    {"LinearIllumination", "R9V", "AK", same, true, R"("gain":[0.01,0.2])"},
    {"CornerIllumination", "R9V", "AK", same, true, R"("gain":[0.01,0.2])"},
    {"GaussianIllumination", "R9V", "AK", same, true, R"("gain":[0.01,0.2])"},
    {"Hue", "RV", "AKD", same, true, R"("hue":20)"},
    {"PlasmaBrightness", "R9V", "AK", same, true, R"("roughness":0.5)"},
    {"PlasmaContrast", "R9V", "AK", same, true, R"("roughness":0.5)"},
    {"PlasmaShadow", "R9V", "AK", same, true, R"("roughness":0.5)"},
    {"Rain", "RV", "AK", same, true, R"("drop_width":5,"drop_height":20,"brightness_coefficient":1.0)"},
    {"SaltAndPepper", "RV", "AKD", same, true, R"("amount":[0.01,0.06],"salt_vs_pepper":[0.4,0.6])"},
    {"Saturation", "RV", "AKPD", same, false, R"("saturation_factor":0.5)"},
    {"Snow", "RV", "AK", same, true, R"("snow_point_range":[0.5,0.5])"},
    {"OpticalDistortion", "R9V", "AK", same, true, R"("distort_limit":0.5,"mode":"fisheye")"},
    {"Shear", "R9V", "AKPD", same, true, R"("shear":10)"},
    {"ThinPlateSpline", "R9V", "AK", same, true, R"("num_control_points":2,"distortion_scale":0.5)"},
    {"PhotoMetricDistort", "R", "AT", same, true,
     R"("brightness":[0.875,1.125],"contrast":[0.5,1.5],"saturation":[0.5,1.5],"hue":[-0.05,0.05])"},
    {"ColorJiggle", "RV", "ATKD", same, true,
     R"("brightness":[0.875,1.125],"contrast":[0.5,1.5],"saturation":[0.5,1.5],"hue":[-0.05,0.05])"},
    {"LongestMaxSize", "R9", "AK", longest, false, R"("max_size":512,"interpolation":"bilinear")"},
    {"SmallestMaxSize", "R9", "AK", smallest, false, R"("max_size":512,"interpolation":"bilinear")"},
    {"Transpose", "R", "AP", transposed, false, ""},
    {"RandomRotate90", "R9V", "AK", quarter_turn, true, R"("times":[0,3])"},
    {"RandomJigsaw", "R9V", "AK", same, true, R"("grid":[4,4])"},
    {"EnhanceEdge", "R", "AP", same, true, R"("mode":"edge","alpha":[0.5,1.0])"},
    {"EnhanceDetail", "R", "AP", same, true, R"("mode":"detail","alpha":[0.5,1.0])"},
    {"UnsharpMask", "R", "AP", same, true, R"("blur_limit":[3,7],"sigma":0,"alpha":[0.2,0.5],"threshold":10)"},
    {"Normalize", "V", "ATKD", same, false, R"("mean":[0.485,0.456,0.406],"std":[0.229,0.224,0.225])"},
};
// clang-format on

std::vector<Transform> make_table() {
  std::vector<Transform> table;
  for (const Entry& entry : kEntries) {
    const std::string text = "{" + std::string(entry.params) + "}";
    table.push_back({entry.name, entry.sets, entry.libraries, entry.shape, entry.stochastic,
                     Json::parse(text)});  // our own text: a test reads every line
  }
  return table;
}

}  // namespace

const std::vector<Transform>& transforms() {
  static const std::vector<Transform> table = make_table();
  return table;
}

const Transform* find_transform(std::string_view name) {
  for (const Transform& transform : transforms()) {
    if (transform.name == name) return &transform;
  }
  return nullptr;
}

char letter_of(TransformSet set) {
  return set == TransformSet::rgb ? 'R' : set == TransformSet::nine_channel ? '9' : 'V';
}

bool in_set(const Transform& transform, TransformSet set) {
  return transform.sets.find(letter_of(set)) != std::string_view::npos;
}

std::vector<std::string> transform_names(TransformSet set) {
  std::vector<std::string> names;
  for (const Transform& transform : transforms()) {
    if (in_set(transform, set)) names.emplace_back(transform.name);
  }
  if (set == TransformSet::video) std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> all_transform_names() {
  std::vector<std::string> names;
  for (const Transform& transform : transforms())
    names.emplace_back(transform.name);
  return names;
}

const char* to_string(OutputShape shape) {
  switch (shape) {
    case same:
      return "same";
    case crop:
      return "crop";
    case target:
      return "target";
    case padded:
      return "padded";
    case longest:
      return "longest";
    case smallest:
      return "smallest";
    case transposed:
      return "transposed";
    case quarter_turn:
      return "quarter_turn";
  }
  return "?";
}

Json transforms_json() {
  Json list = Json::array();
  for (const Transform& transform : transforms()) {
    list.push_back({{"name", transform.name},
                    {"sets", transform.sets},
                    {"libraries", transform.libraries},
                    {"shape", to_string(transform.shape)},
                    {"stochastic", transform.stochastic},
                    {"params", transform.params}});
  }
  return list;
}

}  // namespace sluice::plan
