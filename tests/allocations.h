// tests/allocations.h - counts what C++ allocates, in programs that link sluice_test_allocations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sluice::testing_support {

/// Calls of operator new so far, in all threads. Libraries that use malloc do not count.
std::size_t allocations();

}  // namespace sluice::testing_support
