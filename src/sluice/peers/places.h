// sluice/peers/places.h - where environments, adapters and worker programs lie.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::peers {

/// Looked up once per program; tests bring their own.
struct Places {
  std::filesystem::path cache;     // environments are in <cache>/peers
  std::filesystem::path adapters;  // holds python/; empty: none was found
  std::filesystem::path program;   // our own, links resolved
  std::string python;              // SLUICE_PYTHON; empty: looked for
  /// By group, from SLUICE_PYTHON_<GROUP>: an interpreter that has the packages already. Workers of
  /// that group run in it, nothing is installed.
  std::map<std::string, std::string> own_pythons;
  std::string system_python = "/usr/bin/python3";
  std::string search_path;  // PATH

  /// argv of our own workers.
  [[nodiscard]] std::vector<std::string> worker() const { return {program.string(), "worker"}; }
};

/// From the variables of this process and the place of its program:
/// cache: SLUICE_CACHE_DIR, $XDG_CACHE_HOME/sluice, ~/.cache/sluice.
/// adapters: SLUICE_ADAPTERS, or in the nearest folder above the program that has them: adapters
/// (a checkout), share/sluice/adapters (installed, or unpacked from an archive).
Result<Places> find_places();

/// The variable that names an interpreter for a group: "SLUICE_PYTHON_TORCH".
std::string python_variable(std::string_view group);

/// What find_places() does for adapters, without the variable; empty when there are none.
std::filesystem::path adapters_above(const std::filesystem::path& program);

}  // namespace sluice::peers
