// sluice/scenario/mixture/peer.h - a mixture as other libraries are told it, and the samples that
// are compared with theirs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/worker/subject.h"
#include "sluice/scenario/mixture/spec.h"

#include <cstdint>

namespace sluice::scenario {

/// Levels in the mean that first pairs may differ by: TensorFlow cuts fractions off where ours
/// rounds (0.5), and its JPEG decoder takes the fast transform (1.0).
inline constexpr double kMostPairLevels = 2.0;

/// The spec of our own row and, as `sources`, each data set: name, folder (absolute), split,
/// weight, offset and the names of its features. Errc::unsupported for a root that is no folder:
/// others read local files here.
Result<Json> peer_spec(const MixtureSpec& spec);

/// The pair of frames (0, offset) of the first episode of the first `items` data sets, both below
/// each other: [2 * size, size, 3] each.
Result<measure::OutputSamples> first_pairs(const MixtureSpec& spec, std::int64_t items);

}  // namespace sluice::scenario
