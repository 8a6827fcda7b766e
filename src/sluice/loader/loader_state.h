// sluice/loader/loader_state.h - where a loader is: enough to go on exactly there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/loader/sampler.h"

#include <cstdint>

namespace sluice::loader {

struct LoaderState {
  std::uint64_t epoch = 0;
  std::uint64_t consumed = 0;  // positions of the epoch that all ranks have taken
  // What the order depends on; compared by restore().
  std::uint64_t seed = 0;
  Shuffle shuffle = Shuffle::full;
  std::uint64_t window = 0;
  std::uint64_t dataset_size = 0;

  static constexpr int kVersion = 1;
  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};
Json to_json(const LoaderState& state);
Result<LoaderState> state_from_json(const Json& json);

}  // namespace sluice::loader
