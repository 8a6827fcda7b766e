// sluice/backend/media.h - the items of a plan, made ready once for all workers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/measure/worker/messages.h"
#include "sluice/plan/run_config.h"
#include "sluice/results/result_file.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::backend {

struct Media {
  measure::Load load;
  results::Dataset dataset;
  std::vector<std::string> skipped;     // "name: reason", unreadable
  std::vector<std::string> not_colour;  // the same, sound but grey
};

/// Decodes what is measured from memory into `folder`, or, where decoding is measured, looks for
/// files that do not decode. More than data.max_corrupt of them is an error.
Result<Media> prepare_media(const plan::RunConfig& config, const std::filesystem::path& folder,
                            Progress& progress);

/// True when decoding is part of what is timed.
bool decodes_in_time(const plan::RunConfig& config);

}  // namespace sluice::backend
