// sluice/report/gate/openmetrics.h - metrics.prom: figures and verdicts for Prometheus and its kin.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"
#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::report {

/// OpenMetrics 1.0 text that the older Prometheus parsers (node_exporter's textfile collector) read
/// too: gauges alone, base units, `# EOF` at the end. Either list may be empty.
std::string openmetrics(const std::vector<gate::GateReport>& reports,
                        const std::vector<results::ResultFile>& files);

}  // namespace sluice::report
