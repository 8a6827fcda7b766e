// tests/places.h - where a test finds the checkout, what was built of it, and Python.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace sluice::testing_support {

// Functions of main.cpp, not definitions in everyone's command: absolute paths there would keep
// clones from sharing a compiler cache.
std::filesystem::path source_dir();
std::filesystem::path build_dir();
std::string python();

}  // namespace sluice::testing_support
