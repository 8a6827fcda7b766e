// sluice/scenario/mixture/validate.h - every episode of the validation split once, with all that
// metadata has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/results/mixture_metrics.h"
#include "sluice/scenario/mixture/spec.h"

#include <functional>

namespace sluice::scenario {

/// One pass in this process: no shuffle, full metadata whatever the spec says, batches to the last,
/// smaller one. Data sets without an episode in their split are rows of zeros. Bad data is what
/// `spec.options.on_error` says.
Result<results::MixtureValidation> validate_mixture(const MixtureSpec& spec,
                                                    const std::function<bool()>& interrupted = {});

}  // namespace sluice::scenario
