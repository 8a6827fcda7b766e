// sluice/analysis/config_value.h - single values of the run_config that a result file carries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>

namespace sluice::analysis {

/// The value at `section`.`key`, or nullptr; null counts as absent, and so does any other shape.
const Json* config_value(const results::ResultFile& file, const char* section, const char* key);
/// The same where it is text; otherwise `otherwise`.
std::string config_text(const results::ResultFile& file, const char* section, const char* key,
                        const char* otherwise = "");

/// Where the rows of this file ran: "none" is the CPU. A library that stays on the host in a run on
/// a device says so in `summary.device`.
std::string device_of(const results::ResultFile& file);
/// What the run was asked for.
std::string run_device_of(const results::ResultFile& file);

}  // namespace sluice::analysis
