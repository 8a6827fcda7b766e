// sluice/plan/policy.cpp - the two media policies.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/policy.h"

namespace sluice::plan {

const MediaPolicy& media_policy(Media media) {
  static constexpr MediaPolicy kImage = {.media = Media::image,
                                         .num_items = 1000,
                                         .slow_item_s = 0.05,
                                         .preflight_items = 10,
                                         .max_preflight_s = 60,
                                         .unit = "img/s",
                                         .item = "image",
                                         .slow_marker = "≤20 img/s"};
  static constexpr MediaPolicy kVideo = {.media = Media::video,
                                         .num_items = 50,
                                         .slow_item_s = 2.0,
                                         .preflight_items = 3,
                                         .max_preflight_s = 120,
                                         .unit = "clips/s",
                                         .item = "clip",
                                         .slow_marker = "≤0.5 clips/s"};
  return media == Media::image ? kImage : kVideo;
}

}  // namespace sluice::plan
