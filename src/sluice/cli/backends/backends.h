// sluice/cli/backends/backends.h - `sluice run` on other machines than this one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/flags/run.h"
#include "sluice/cli/local_run.h"

namespace sluice::cli {

/// Submits what is missing of the plan and ends; inside an allocation it measures, step by step.
Result<ExitCode> run_on_slurm(const Context& context, const RunFlags& flags,
                              const LocalFlags& sampling);

/// With --dry-run alone: the manifest of an Indexed Job.
Result<ExitCode> run_on_k8s(const Context& context, const RunFlags& flags,
                            const LocalFlags& sampling);

/// On machines of Google Cloud, or, with --dry-run, what would be done there (docs/gcp.md).
Result<ExitCode> run_on_gcp(const Context& context, const RunFlags& flags,
                            const LocalFlags& sampling);

}  // namespace sluice::cli
