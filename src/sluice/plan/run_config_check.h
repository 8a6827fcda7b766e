// sluice/plan/run_config_check.h - rules between the keys of a run configuration.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/reader.h"
#include "sluice/plan/run_config.h"

namespace sluice::plan {

/// The open readers of a document, so that a broken rule is reported at the line of its key.
struct Sections {
  config::Reader selection, data, execution, output, cloud, cluster, slurm, k8s;
};

/// Fills in what depends on other keys; what does not fit is reported to `sections`.
void check_and_resolve(RunConfig& run, Sections& sections);

/// The rules of the sections `cluster`, `slurm` and `k8s`.
void check_cluster(const RunConfig& run, Sections& sections);

}  // namespace sluice::plan
