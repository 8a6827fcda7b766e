// sluice/visit/mixture/peers.h - does another library make the same of the same episodes? Before
// anything is timed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/measure/runner.h"

#include <cstdint>
#include <filesystem>

namespace sluice::visit {

/// The first pair of frames of every data set in a process of each: the mean difference in levels.
/// More than scenario::kMostPairLevels is an error: the rows must not stand side by side.
/// `scratch` holds outputs meanwhile.
Result<double> compare_pairs(const measure::SubjectSpec& ours, const measure::SubjectSpec& theirs,
                             const measure::RunnerContext& context,
                             const std::filesystem::path& scratch, double timeout_s);

}  // namespace sluice::visit
