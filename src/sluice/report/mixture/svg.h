// sluice/report/mixture/svg.h - the mixture of a loader over time, drawn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/results/batch_times.h"

#include <span>
#include <string>

namespace sluice::report {

inline constexpr const char* kMixtureOverTimeFile = "mixture_over_time.svg";
inline constexpr const char* kMixtureWindowsFile = "mixture_windows_every_stride.svg";
inline constexpr const char* kMixtureSummaryFile = "mixture_summary.txt";

struct MixtureDrawing {
  int window = 5;    // batches side by side in a row of mixture_windows_every_stride.svg
  int stride = 100;  // batches from the start of one row to the next
  int top_k = 8;     // data sets with a colour of their own
  int rolling = 25;  // batches that a share over time is averaged over
};

/// Shares of every measured batch, stacked, each series smoothed; more batches than the drawing has
/// columns are averaged.
Result<std::string> mixture_over_time_svg(std::span<const results::BatchTime> batches,
                                          const MixtureDrawing& drawing = {});
/// Every `stride` batches a row of `window` of them, not smoothed. Refuses fewer than `window`.
Result<std::string> mixture_windows_svg(std::span<const results::BatchTime> batches,
                                        const MixtureDrawing& drawing = {});

}  // namespace sluice::report
