// sluice/visit/mixture/artifacts.h - the files drawn of batch_times.jsonl, now or later again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/report/mixture/svg.h"
#include "sluice/results/batch_times.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::visit {

/// Writes mixture_over_time.svg, mixture_windows_every_stride.svg and mixture_summary.txt: all
/// three, or none when one cannot be made. The paths written.
Result<std::vector<std::filesystem::path>> write_mixture_artifacts(
    const std::filesystem::path& folder, std::span<const results::BatchTime> batches,
    const report::MixtureDrawing& drawing);

}  // namespace sluice::visit
