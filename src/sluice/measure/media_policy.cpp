// sluice/measure/media_policy.cpp - the two media policies.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/media_policy.h"

#include <fmt/format.h>

namespace sluice::measure {

const MediaPolicy& image_policy() {
  static constexpr MediaPolicy kImage = {.num_items = 1000,
                                         .slow_item_s = 0.05,
                                         .preflight_items = 10,
                                         .max_preflight_s = 60,
                                         .unit = "img/s",
                                         .item = "image"};
  return kImage;
}

const MediaPolicy& video_policy() {
  static constexpr MediaPolicy kVideo = {.num_items = 50,
                                         .slow_item_s = 2.0,
                                         .preflight_items = 3,
                                         .max_preflight_s = 120,
                                         .unit = "clips/s",
                                         .item = "clip"};
  return kVideo;
}

std::string slow_marker(double slow_item_s, std::string_view unit) {
  return fmt::format("≤{:.3g} {}", 1 / slow_item_s, unit);
}

}  // namespace sluice::measure
