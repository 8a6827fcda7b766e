// sluice/eval/evaluate.h - the evaluation of a model that is already open.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/eval.h"
#include "sluice/eval/language_model.h"

namespace sluice::eval {

/// As run_eval(), with a model of the caller's; config.checkpoint, worker and endpoint say nothing
/// here.
Result<EvalResult> evaluate(LanguageModel& model, const EvalConfig& config,
                            Progress& progress = Progress::silent());

}  // namespace sluice::eval
