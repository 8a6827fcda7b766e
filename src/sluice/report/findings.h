// sluice/report/findings.h - stages and findings of a summary as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"

#include <string>

namespace sluice::report {

/// `stages` of a summary: what the workers of a loader did; empty without any.
std::string stages_text(const Json& list);
/// `diagnosis` of a summary: what it is, why, what to do; empty without any.
std::string findings_text(const Json& list);

}  // namespace sluice::report
