// sluice/measure/inject.h - the test hook SLUICE_INJECT_SLOWDOWN: makes a timed region slower on
// purpose, so that a gate can be seen to fail.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::measure {

inline constexpr const char* kInjectVariable = "SLUICE_INJECT_SLOWDOWN";

/// "10%" or "0.1": what took 1 s takes 1.1 s. From 0 to 1000 %; Errc::usage otherwise.
Result<double> parse_slowdown(std::string_view text);

/// The share asked for in the environment, read at the first call; 0 without the variable. A value
/// that is no share is an error every time: a typo must not measure the wrong thing.
Result<double> injected_slowdown();

/// Value of the test hook for `case_name`: SLUICE_INJECT_SLOWDOWN=[CASE=]PERCENT%, 0 when unset or
/// for another case; without CASE the canary alone keeps its speed. A malformed value is an error,
/// so that a typing mistake cannot pass as "not slowed".
Result<double> injected_slowdown(const char* variable, const std::string& case_name);

/// Called at the end of a timed region that began at `start_ns`, before its end is read: busy-waits
/// until the region has taken (1 + share) times as long. 0 reads no clock.
void stretch(Clock& clock, std::int64_t start_ns, double share);

}  // namespace sluice::measure
