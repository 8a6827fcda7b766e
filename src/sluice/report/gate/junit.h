// sluice/report/gate/junit.h - gate lines and measured rows as JUnit XML, which every CI shows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"
#include "sluice/results/result_file.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::report {

/// A suite per report, a test case per line: FAIL is a failure, INVALID an error, SKIP and
/// INCONCLUSIVE are skipped, WARN passes and says so in its output.
std::string junit(const std::vector<gate::GateReport>& reports);

/// A suite per file, a test case per row: failed is an error, unsupported and skipped are skipped.
std::string junit(const std::vector<results::ResultFile>& files);

/// Text for an element or a quoted attribute; what XML 1.0 has no place for is made visible.
std::string escape_xml(std::string_view text);

}  // namespace sluice::report
