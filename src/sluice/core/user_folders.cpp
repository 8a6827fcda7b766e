// sluice/core/user_folders.cpp - variables, in the order of the XDG specification.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/user_folders.h"

#include <cstdlib>
#include <string>

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

Result<fs::path> user_cache_folder() {
  if (const std::string own = variable("SLUICE_CACHE_DIR"); !own.empty()) return fs::absolute(own);
  // The XDG specification: a relative path there is to be ignored.
  if (const fs::path xdg = variable("XDG_CACHE_HOME"); xdg.is_absolute()) return xdg / "sluice";
  if (const fs::path home = variable("HOME"); home.is_absolute()) return home / ".cache" / "sluice";
  return Error{Errc::usage,
               "no folder to keep things in: neither SLUICE_CACHE_DIR, XDG_CACHE_HOME nor HOME is "
               "set to a path; set SLUICE_CACHE_DIR"};
}

}  // namespace sluice
