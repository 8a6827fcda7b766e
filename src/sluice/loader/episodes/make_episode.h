// sluice/loader/episodes/make_episode.h - one generated episode as a tf.train.Example, and the
// features.json that describes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/loader/episodes/presets.h"
#include "sluice/loader/episodes/scene.h"

#include <cstdint>
#include <string>

namespace sluice::loader::episodes {

/// Steps of episode `index`: within a fifth of what the table says, which is also their mean.
int made_steps(const DatasetSpec& spec, std::uint64_t seed, std::uint64_t index);

/// A function of its arguments, the same bytes on any machine with the same libraries. Numbers are
/// multiples of 1/65536, so that no rounding can differ.
Result<std::string> make_episode(Scene& scene, const DatasetSpec& spec, std::uint64_t seed,
                                 std::uint64_t index);

/// As TFDS writes it for these features: its own reader opens the folder.
Json made_features(const DatasetSpec& spec);

/// Bytes of frame 0 of episode `index`: to guess sizes from.
Result<std::uint64_t> made_frame_bytes(Scene& scene, const DatasetSpec& spec, std::uint64_t seed,
                                       std::uint64_t index);

}  // namespace sluice::loader::episodes
