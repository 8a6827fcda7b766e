// sluice/visit/diagnose/take_advice.h - an advice taken: the plan, and the data it needs, as it
// says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/visit/diagnose/run.h"

#include <filesystem>
#include <functional>

namespace sluice::visit {

/// What it needs on disk (smaller images, bundles, a cache) is made below `scratch`, which is the
/// caller's to remove.
Result<DiagnosePlan> with_advice(const DiagnosePlan& plan, const results::Advice& advice,
                                 const std::filesystem::path& scratch,
                                 const std::function<bool()>& stop, Progress& progress);

}  // namespace sluice::visit
