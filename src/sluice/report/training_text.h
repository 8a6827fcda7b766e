// sluice/report/training_text.h - a training run for people: result block, phases, checks, sweep.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>

namespace sluice::report {

/// A result file of `bench training`: it holds metrics of a training step.
bool is_training_file(const results::ResultFile& file);

/// What a line of a sweep was measured with, but for its batch: "bf16 graph full".
std::string settings_of(const results::TrainingSweepLine& line);

/// What fed the step: "loader, 3 workers, page-cache, the GPU decodes"; empty: no loader did.
std::string feed_words(const results::ResultFile& file);

/// For the terminal; also of a run in which nothing could be measured.
std::string training_text(const results::ResultFile& file);
/// A section of report.md: configuration, results, optimisations applied, improvements.
std::string training_markdown(const results::ResultFile& file);

}  // namespace sluice::report
