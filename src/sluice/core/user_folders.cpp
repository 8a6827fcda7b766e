// sluice/core/user_folders.cpp - variables, in the order of the XDG specification.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/user_folders.h"

#include <cstdlib>

namespace sluice {

namespace fs = std::filesystem;

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string() : std::string(value);
}

Result<fs::path> user_cache_folder() {
  if (const std::string own = environment_variable("SLUICE_CACHE_DIR"); !own.empty())
    return fs::absolute(own);
  // The XDG specification: a relative path there is to be ignored.
  if (const fs::path xdg = environment_variable("XDG_CACHE_HOME"); xdg.is_absolute())
    return xdg / "sluice";
  if (const fs::path home = environment_variable("HOME"); home.is_absolute())
    return home / ".cache" / "sluice";
  return Error{Errc::usage,
               "no folder to keep things in: neither SLUICE_CACHE_DIR, XDG_CACHE_HOME nor HOME is "
               "set to a path; set SLUICE_CACHE_DIR"};
}

}  // namespace sluice
