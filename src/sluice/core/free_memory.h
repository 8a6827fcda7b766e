// sluice/core/free_memory.h - how much memory this process may still take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sluice {

/// Bytes: what the system calls available, or what the control group leaves, whichever is less. 0
/// where neither says.
std::int64_t free_memory_bytes();

}  // namespace sluice
