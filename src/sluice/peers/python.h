// sluice/peers/python.h - finds an interpreter that environments can be made with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/peers/places.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::peers {

struct Python {
  std::filesystem::path program;
  std::string version;       // "3.11.2"
  std::string architecture;  // "aarch64"
};

/// SLUICE_PYTHON alone where it is set; else the system's, which is the same in every shell; else
/// the first python3 in PATH. It must be 3.11 or newer and have venv and pip: errors say what is
/// missing and how to get it.
Result<Python> find_python(const Places& places);

/// The program that `variable` names: a path, or a name looked up in PATH as a shell would.
Result<std::filesystem::path> named_python(const Places& places, std::string_view variable,
                                           const std::string& value);

/// Asks one interpreter. The error names it.
Result<Python> ask_python(const std::filesystem::path& program);

}  // namespace sluice::peers
