// sluice/measure/media_policy.h - the limits and defaults of the matrix, once: plan, runner, report
// and documents read them here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::measure {

/// What differs between images and clips.
struct MediaPolicy {
  std::int64_t num_items;        // in micro and decode mode, unless told; pipelines take all
  double slow_item_s;            // at or above this per item a row is early-stopped
  std::int64_t preflight_items;  // measured to find that out
  double max_preflight_s;        // after this the row is early-stopped whatever it did
  std::string_view unit;         // of rates
  std::string_view item;         // "image", for messages
};

const MediaPolicy& image_policy();
const MediaPolicy& video_policy();

/// "≤20 img/s": all that tables say of a row that was stopped at `slow_item_s`.
std::string slow_marker(double slow_item_s, std::string_view unit);

inline constexpr int kTableRuns = 3;      // of a published table
inline constexpr int kCloseCallRuns = 5;  // where the fastest rows lie within each other's interval

}  // namespace sluice::measure
