// sluice/eval/open_model.h - the model that a config names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/eval/eval.h"
#include "sluice/eval/language_model.h"

#include <memory>

namespace sluice::eval {

/// Reads the checkpoint, starts the worker, or trains the built-in model.
Result<std::unique_ptr<LanguageModel>> open_model(const EvalConfig& config, Progress& progress);

}  // namespace sluice::eval
