// sluice/visit/mixture/result.h - what the runs of `bench mixture` come to; nothing is measured
// here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"
#include "sluice/visit/mixture/plan.h"
#include "sluice/visit/mixture/rows.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::visit {

/// The run that metrics and drawings are of: our first one; null: there is none.
const MixtureTake* shown_take(const std::vector<MixtureTake>& takes);

/// Metrics, summary and verdict of the file. Returns the text for a terminal.
Result<std::string> conclude_mixture(results::ResultFile& file, const MixturePlan& plan,
                                     const std::vector<MixtureTake>& takes);

/// A section for people.
std::string validation_text(const results::MixtureValidation& validation);

/// The files that workers wrote find their place: batch_times.jsonl of the shown run, those of the
/// others in batch_times/; the rows then name them, relative to `folder`.
Status place_batch_times(const std::filesystem::path& folder, const std::vector<MixtureTake>& takes,
                         std::vector<measure::Row>& rows);

}  // namespace sluice::visit
