// sluice/aug/specs.h - one function per transform; registry.cpp calls them. Transform files do
// not include this: a new line here would compile all of them again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

namespace sluice::aug {

// pointwise
TransformSpec auto_contrast_spec();
TransformSpec brightness_spec();
TransformSpec channel_dropout_spec();
TransformSpec channel_shuffle_spec();
TransformSpec contrast_spec();
TransformSpec equalize_spec();
TransformSpec grayscale_spec();
TransformSpec invert_spec();
TransformSpec normalize_spec();
TransformSpec plankian_jitter_spec();
TransformSpec posterize_spec();
TransformSpec random_gamma_spec();
TransformSpec rgb_shift_spec();
TransformSpec solarize_spec();

// geometry
TransformSpec erasing_spec();
TransformSpec horizontal_flip_spec();
TransformSpec longest_max_size_spec();
TransformSpec pad_spec();
TransformSpec random_crop224_spec();
TransformSpec random_jigsaw_spec();
TransformSpec random_resized_crop_spec();
TransformSpec random_rotate90_spec();
TransformSpec resize_spec();
TransformSpec smallest_max_size_spec();
TransformSpec transpose_spec();
TransformSpec vertical_flip_spec();

// warps
TransformSpec affine_spec();
TransformSpec elastic_spec();
TransformSpec optical_distortion_spec();
TransformSpec perspective_spec();
TransformSpec rotate_spec();
TransformSpec shear_spec();
TransformSpec thin_plate_spline_spec();

// filters
TransformSpec blur_spec();
TransformSpec clahe_spec();
TransformSpec enhance_detail_spec();
TransformSpec enhance_edge_spec();
TransformSpec gaussian_blur_spec();
TransformSpec median_blur_spec();
TransformSpec motion_blur_spec();
TransformSpec sharpen_spec();
TransformSpec unsharp_mask_spec();

// colour
TransformSpec color_jiggle_spec();
TransformSpec color_jitter_spec();
TransformSpec hue_spec();
TransformSpec jpeg_compression_spec();
TransformSpec photo_metric_distort_spec();
TransformSpec saturation_spec();

// procedural
TransformSpec corner_illumination_spec();
TransformSpec gaussian_illumination_spec();
TransformSpec gaussian_noise_spec();
TransformSpec linear_illumination_spec();
TransformSpec plasma_brightness_spec();
TransformSpec plasma_contrast_spec();
TransformSpec plasma_shadow_spec();
TransformSpec rain_spec();
TransformSpec salt_and_pepper_spec();
TransformSpec snow_spec();

}  // namespace sluice::aug
