// sluice/plan/where.h - what a cluster is asked for, of a command that has no run configuration.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/plan/run_config.h"

#include <string>
#include <vector>

namespace sluice::plan {

/// The sections `cluster`, `slurm` and `k8s` as `set` (key.path=value) makes them; all else is as
/// of an empty document and means nothing. Errors name the key; those of other sections are
/// unknown.
Result<RunConfig> read_where(const std::vector<std::string>& set);

}  // namespace sluice::plan
