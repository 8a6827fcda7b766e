// sluice/cli/backends/backends.h - `sluice run` on other machines than this one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/flags/run.h"
#include "sluice/cli/local_run.h"

namespace sluice::cli {

/// On machines of Google Cloud, or, with --dry-run, what would be done there (docs/gcp.md).
Result<ExitCode> run_on_gcp(const Context& context, const RunFlags& flags,
                            const LocalFlags& sampling);

}  // namespace sluice::cli
