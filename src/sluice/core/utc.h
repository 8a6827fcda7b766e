// sluice/core/utc.h - the one way in which a moment is written down: in UTC.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <string>

namespace sluice {

inline constexpr const char* kUtcStamp = "%Y-%m-%dT%H:%M:%SZ";  // ISO 8601, as in files
inline constexpr const char* kUtcName = "%Y%m%dT%H%M%SZ";       // part of the name of a file

/// `format` is one of strftime, at most 63 characters when filled in.
std::string utc_text(std::time_t moment, const char* format = kUtcStamp);
std::string utc_now(const char* format = kUtcStamp);

}  // namespace sluice
