// sluice/plan/policy.h - the media policy (measure/media_policy.h) by the media of a scenario.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/media_policy.h"
#include "sluice/plan/matrix.h"

namespace sluice::plan {

using measure::MediaPolicy;

inline const MediaPolicy& media_policy(Media media) {
  return media == Media::image ? measure::image_policy() : measure::video_policy();
}

}  // namespace sluice::plan
