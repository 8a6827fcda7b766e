// sluice/plan/published.h - the published RGB micro rates, for remarks on who was fastest there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::plan {

/// img/s on one thread of a c4-standard-16, full-size ImageNet validation images, 3 runs.
struct PublishedRate {
  double rate;
  bool early_stopped;  // the rate of its preflight
};

/// Nothing where the library has no such operation. Libraries: albumentationsx, torchvision,
/// kornia, pillow.
std::optional<PublishedRate> published_rate(std::string_view transform, std::string_view library);
/// The library with the highest measured rate; nothing when fewer than two were measured.
std::optional<std::string> published_winner(std::string_view transform);
/// {transform: {library: rate}}; early-stopped rows left out.
Json published_json();
/// {transform: rate} of one library; the same rows left out.
Json published_json(std::string_view library);

}  // namespace sluice::plan
