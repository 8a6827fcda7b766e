// tests/image/allocations.h - counts what C++ allocates; link allocations.cpp into the test.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sluice::image::testing {

/// Calls of operator new so far, in all threads. The codec libraries use malloc and do not count.
std::size_t allocations();

}  // namespace sluice::image::testing
