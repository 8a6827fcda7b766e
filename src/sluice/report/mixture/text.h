// sluice/report/mixture/text.h - the analysis of a mixture for people, and mixture_summary.txt.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/mixture/analysis.h"
#include "sluice/report/mixture/svg.h"
#include "sluice/results/resources.h"

#include <span>
#include <string>

namespace sluice::report {

/// All sections for a terminal: results, by dominant data set, switches, gaps, slowest batches,
/// shares, stages, memory. What was not recorded is left out, or says why it is not known.
std::string mixture_text(const analysis::MixtureAnalysis& analysis);

/// What cores, memory and GPU did while the rows were measured; why the GPU is not known.
std::string mixture_resources(const results::ResourceUse& use);

/// mixture_summary.txt: counts, switch rate, the `drawing.top_k` data sets with most share. Refuses
/// batch times without a measured batch.
Result<std::string> mixture_summary(std::span<const results::BatchTime> batches,
                                    const MixtureDrawing& drawing = {});

}  // namespace sluice::report
