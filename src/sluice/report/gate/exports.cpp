// sluice/report/gate/exports.cpp - one report, three files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/exports.h"

#include "sluice/core/file.h"
#include "sluice/report/gate/github.h"
#include "sluice/report/gate/junit.h"
#include "sluice/report/gate/openmetrics.h"

namespace sluice::report {

Status write_gate_exports(const gate::GateReport& report, const std::filesystem::path& folder) {
  SLUICE_CHECK(create_folders(folder));
  const std::vector<gate::GateReport> reports{report};
  SLUICE_CHECK(write_file_atomic(folder / "junit.xml", junit(reports)));
  SLUICE_CHECK(write_file_atomic(folder / "metrics.prom", openmetrics(reports, {})));
  return write_file_atomic(folder / "summary.md", github_summary(reports));
}

}  // namespace sluice::report
