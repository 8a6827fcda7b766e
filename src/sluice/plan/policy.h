// sluice/plan/policy.h - the defaults and limits that differ between images and clips, once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/plan/matrix.h"

#include <cstdint>
#include <string_view>

namespace sluice::plan {

struct MediaPolicy {
  Media media;
  std::int64_t num_items;        // in micro and decode mode, unless told; pipelines take all
  double slow_item_s;            // at or above this per item a row is early-stopped
  std::int64_t preflight_items;  // measured to find that out
  double max_preflight_s;        // after this the row is early-stopped whatever it did
  std::string_view unit;         // of rates
  std::string_view item;         // "image", for messages
  std::string_view slow_marker;  // what tables show for an early-stopped row
};

const MediaPolicy& media_policy(Media media);

}  // namespace sluice::plan
