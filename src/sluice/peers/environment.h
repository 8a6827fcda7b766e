// sluice/peers/environment.h - one virtual environment per requirement group: made, found, made
// again when its requirements change.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/peers/places.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace sluice::peers {

/// <cache>/peers/<group>-<first 12 digits of hash>. Complete: its marker file is written last.
struct Venv {
  std::string group;
  std::filesystem::path folder;
  std::string hash;  // of requirement file, Python version and architecture
  std::string requirements_hash;
  std::string python_version;  // "3.11.2"
  std::string architecture;    // "aarch64"
  std::string lock_hash;       // of every installed package with its version
  std::map<std::string, std::string> packages;

  [[nodiscard]] std::filesystem::path python() const { return folder / "bin" / "python"; }
  /// Version of a distribution, whatever its case and dashes; empty when it is not there.
  [[nodiscard]] std::string version_of(std::string_view package) const;
};

/// As `uname -m` says it: "x86_64", "aarch64".
std::string this_machine();

/// adapters/python/requirements/<group>.txt
std::filesystem::path requirements_file(const Places& places, std::string_view group);

/// The environment for the requirement file as it is now, on this architecture. Asks no program.
/// Errc::unsupported when it is not installed, only half installed or out of date; the message
/// starts "environment 'torch' is not installed" and does not say what to do.
Result<Venv> find_environment(const Places& places, std::string_view group);

struct InstallOptions {
  Progress* progress = nullptr;
  int cancel_fd = -1;  // readable: end pip and leave; the next install repairs what is left
  double pip_timeout_s = 20 * 60;
};

struct InstallReport {
  Venv environment;
  bool fresh = false;  // false: it was there, and no program but Python's own version was asked
  double seconds = 0;
};

/// Makes the environment unless it is there. Two processes at once: the second waits. Older
/// environments of the group are removed after success. Errors name the log file of pip.
Result<InstallReport> install_environment(const Places& places, std::string_view group,
                                          const InstallOptions& options);

}  // namespace sluice::peers
