// sluice/visit/gate/kept_program.h - the program that measured a baseline, kept so that it can run
// again beside a newer one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::visit {

/// A program and the modules it loads.
struct ProgramFiles {
  std::filesystem::path program;
  std::vector<std::filesystem::path> modules;  // libsluice_*.so, by name

  /// Of names, sizes and checksums: tells builds apart in milliseconds, proves nothing to others.
  [[nodiscard]] Result<std::string> digest() const;
};

/// Those of this process, and their digest.
Result<ProgramFiles> own_program();
Result<std::string> own_digest();

/// A program that can be started as a worker.
struct RunnableProgram {
  std::filesystem::path program;
  std::map<std::string, std::string> environment;  // so that it loads its own modules
};

/// Copies this program to `<cache>/programs/<digest>` (`digest`: its own), whole or not at all, and
/// removes the oldest copies beyond four. A copy that is there already counts as new.
Status keep_own_program(const std::string& digest, const std::filesystem::path& cache);

/// This program itself, or a kept one whose bytes still have that digest. Errc::not_found.
Result<RunnableProgram> find_program(const std::string& digest, const std::filesystem::path& cache);

}  // namespace sluice::visit
