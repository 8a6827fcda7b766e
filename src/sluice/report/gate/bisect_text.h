// sluice/report/gate/bisect_text.h - a search for the guilty commit as a terminal shows it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/bisect/record.h"
#include "sluice/report/report.h"

#include <string>

namespace sluice::report {

/// The question, one line per revision measured or passed over, and the answer with the command
/// that shows it again.
std::string bisect_text(const gate::BisectRecord& record, const TextOptions& options = {});

}  // namespace sluice::report
