// sluice/report/gate/exports.h - the files that a gate leaves beside its verdict for other tools.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/gate/gate_report.h"

#include <filesystem>

namespace sluice::report {

/// junit.xml, metrics.prom and summary.md in `folder`, which is made; each is written atomically.
Status write_gate_exports(const gate::GateReport& report, const std::filesystem::path& folder);

}  // namespace sluice::report
