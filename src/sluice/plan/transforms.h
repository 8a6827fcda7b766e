// sluice/plan/transforms.h - every transform of the benchmark, declared once: name, sets,
// parameters.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::plan {

/// The published sets. A transform is in a set when at least two of its libraries have it.
enum class TransformSet { rgb, nine_channel, video };

/// What becomes of the height and width of an item.
enum class OutputShape {
  same,
  crop,          // the stated height x width
  target,        // target_size x target_size; a library may keep the aspect ratio
  padded,        // `padding` more on each side
  longest,       // the longer side becomes max_size
  smallest,      // the shorter side becomes max_size
  transposed,    // height and width swapped
  quarter_turn,  // as it was, or swapped
};

struct Transform {
  std::string_view name;
  std::string_view sets;       // of 'R' (image-rgb), '9' (image-9ch), 'V' (video-16f)
  std::string_view libraries;  // of 'A'lbumentationsX, 'T'orchvision, 'K'ornia, 'P'illow ('p': in
                               // pipelines only), 'D'ALI; for RGB images
  OutputShape shape;
  bool stochastic;  // the definition draws parameters anew for each item
  Json params;      // canonical; adapters translate them and hold none of their own
};

/// In the order of the RGB set; `Normalize` (video only) is last.
const std::vector<Transform>& transforms();
/// Nothing when there is none of that name.
const Transform* find_transform(std::string_view name);
[[nodiscard]] bool in_set(const Transform& transform, TransformSet set);
/// RGB and nine_channel in the order of the table, video alphabetical, as published.
std::vector<std::string> transform_names(TransformSet set);
std::vector<std::string> all_transform_names();

char letter_of(TransformSet set);
const char* to_string(OutputShape shape);
/// [{"name", "sets", "libraries", "shape", "stochastic", "params"}...].
Json transforms_json();

}  // namespace sluice::plan
