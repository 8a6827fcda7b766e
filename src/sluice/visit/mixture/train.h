// sluice/visit/mixture/train.h - how long a model, real or emulated, waited for the batches of a
// mixture.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/results/mixture_metrics.h"
#include "sluice/scenario/mixture/run.h"

#include <string>

namespace sluice::visit {

/// A section for people; empty where nothing was done with the batches.
std::string wait_text(const scenario::MixtureSpec& spec, const scenario::MixtureRun& run);

/// `wait_fraction`, and with a step `step_s` and the losses.
void add_wait(results::MixtureMetrics& metrics, const scenario::MixtureRun& run);

}  // namespace sluice::visit
