// sluice/measure/cpu_list.h - sets of cores as people write them: "0-3,6".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::measure {

using CpuList = std::vector<int>;  // ascending, no duplicates

/// Accepts numbers and ranges, separated by commas; every core must be one this process may use.
Result<CpuList> parse_cpu_list(std::string_view text);
std::string to_string(const CpuList& cpus);

/// Cores that the calling process may use.
CpuList allowed_cpus();
/// `all` without `taken`.
CpuList without(const CpuList& all, const CpuList& taken);
/// Pins the calling process; false when none of the cores can be had. Async-signal-safe.
bool pin_to(const CpuList& cpus);

}  // namespace sluice::measure
