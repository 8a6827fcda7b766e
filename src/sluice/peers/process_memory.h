// sluice/peers/process_memory.h - memory of another process, as the kernel counts it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::peers {

/// Resident bytes that are not shared with a file: what the process adds to the machine.
std::optional<std::int64_t> private_bytes(std::int64_t pid);
/// Forgets the peak so far, so that the next reading belongs to one case. False: not allowed.
bool reset_peak(std::int64_t pid);
/// Largest resident size since the last reset.
std::optional<std::int64_t> peak_bytes(std::int64_t pid);

}  // namespace sluice::peers
