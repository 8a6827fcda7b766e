// sluice/gate/baseline/proof.h - are the figures of metrics.json those of the samples beside it?
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/gate/baseline/compare.h"

#include <filesystem>

namespace sluice::gate {

/// metrics.json is a summary: every figure that is judged is computed again from the result files
/// of its run folder, and `pairs` from pairs.json. True: they agree. False: the folder has no
/// result files, so metrics.json stands for itself (another program wrote it). An Error names the
/// first figure that differs, or the result file that is not sound.
///
/// Whoever changes the samples too is not found out: files carry no signature.
Result<bool> metrics_are_proven(const std::filesystem::path& run, const RunFiles& files);

}  // namespace sluice::gate
