// tests/aug/count_allocations.h - how often this program has asked for memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sluice::aug::testing {

/// Calls of operator new so far; linking count_allocations.cpp replaces it.
long allocations();

}  // namespace sluice::aug::testing
