// sluice/aug/registry.cpp - the list of transforms.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/registry.h"

#include "sluice/aug/specs.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::aug {
namespace {

std::vector<TransformSpec> make_registry() {
  std::vector<TransformSpec> list;

  // pointwise
  list.push_back(auto_contrast_spec());
  list.push_back(brightness_spec());
  list.push_back(channel_dropout_spec());
  list.push_back(channel_shuffle_spec());
  list.push_back(contrast_spec());
  list.push_back(equalize_spec());
  list.push_back(grayscale_spec());
  list.push_back(invert_spec());
  list.push_back(normalize_spec());
  list.push_back(plankian_jitter_spec());
  list.push_back(posterize_spec());
  list.push_back(random_gamma_spec());
  list.push_back(rgb_shift_spec());
  list.push_back(solarize_spec());

  // geometry
  list.push_back(erasing_spec());
  list.push_back(horizontal_flip_spec());
  list.push_back(longest_max_size_spec());
  list.push_back(pad_spec());
  list.push_back(random_crop224_spec());
  list.push_back(random_jigsaw_spec());
  list.push_back(random_resized_crop_spec());
  list.push_back(random_rotate90_spec());
  list.push_back(resize_spec());
  list.push_back(smallest_max_size_spec());
  list.push_back(transpose_spec());
  list.push_back(vertical_flip_spec());

  // warps
  list.push_back(affine_spec());
  list.push_back(elastic_spec());
  list.push_back(optical_distortion_spec());
  list.push_back(perspective_spec());
  list.push_back(rotate_spec());
  list.push_back(shear_spec());
  list.push_back(thin_plate_spline_spec());

  // filters
  list.push_back(blur_spec());
  list.push_back(clahe_spec());
  list.push_back(enhance_detail_spec());
  list.push_back(enhance_edge_spec());
  list.push_back(gaussian_blur_spec());
  list.push_back(median_blur_spec());
  list.push_back(motion_blur_spec());
  list.push_back(sharpen_spec());
  list.push_back(unsharp_mask_spec());

  // colour
  list.push_back(color_jiggle_spec());
  list.push_back(color_jitter_spec());
  list.push_back(hue_spec());
  list.push_back(jpeg_compression_spec());
  list.push_back(photo_metric_distort_spec());
  list.push_back(saturation_spec());

  // procedural
  list.push_back(corner_illumination_spec());
  list.push_back(gaussian_illumination_spec());
  list.push_back(gaussian_noise_spec());
  list.push_back(linear_illumination_spec());
  list.push_back(plasma_brightness_spec());
  list.push_back(plasma_contrast_spec());
  list.push_back(plasma_shadow_spec());
  list.push_back(rain_spec());
  list.push_back(salt_and_pepper_spec());
  list.push_back(snow_spec());

  return list;
}

}  // namespace

const std::vector<TransformSpec>& registry() {
  static const std::vector<TransformSpec> list = make_registry();
  return list;
}

const TransformSpec* find(std::string_view name) {
  const auto& list = registry();
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const TransformSpec& spec) { return spec.name == name; });
  return found == list.end() ? nullptr : &*found;
}

Result<std::unique_ptr<Transform>> make(std::string_view name, const Json& parameters) {
  if (const TransformSpec* spec = find(name)) return spec->make(parameters);
  std::vector<std::string> names;
  for (const TransformSpec& spec : registry())
    names.push_back(spec.name);
  const auto near = nearest(name, names);
  return Error{Errc::invalid_config,
               fmt::format("no transform '{}'{}", printable(name),
                           near ? fmt::format("; did you mean '{}'?", *near) : std::string())};
}

}  // namespace sluice::aug
