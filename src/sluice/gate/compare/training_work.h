// sluice/gate/compare/training_work.h - what a training step computed and how its FLOP were
// counted: results that differ in either are not the same work, or not the same figure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"
#include "sluice/results/training_metrics.h"

#include <string>

namespace sluice::gate {

/// "full", "class-token", or both with a comma; empty: not a step of ours. A file from before it
/// was told is named by what ran then: a ViT on a GPU, fused, took the class token alone.
std::string last_block_of(const results::TrainingMetrics& metrics);
std::string last_block_of(const results::ResultFile& file);
/// That of a run with these settings from before it was told.
std::string earlier_last_block_of(const results::TrainingMetrics& metrics);

/// "shapes", "6ND", ...; empty: no FLOP were counted.
std::string estimator_of(const results::TrainingMetrics& metrics);
std::string estimator_of(const results::ResultFile& file);

}  // namespace sluice::gate
