// sluice/cli/mixture_result.h - what the runs of `bench mixture` come to; nothing is measured here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/mixture_flags.h"
#include "sluice/cli/mixture_rows.h"
#include "sluice/results/result_file.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::cli {

/// The run that metrics and drawings are of: our first one; null: there is none.
const MixtureTake* shown_take(const std::vector<MixtureTake>& takes);

/// Metrics, summary and verdict of the file. Returns the text for a terminal.
Result<std::string> conclude_mixture(results::ResultFile& file, const MixturePlan& plan,
                                     const std::vector<MixtureTake>& takes);

/// The files that workers wrote find their place: batch_times.jsonl of the shown run, those of the
/// others in batch_times/; the rows then name them, relative to `folder`.
Status place_batch_times(const std::filesystem::path& folder, const std::vector<MixtureTake>& takes,
                         std::vector<measure::Row>& rows);

}  // namespace sluice::cli
