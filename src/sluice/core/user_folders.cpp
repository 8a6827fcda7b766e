// sluice/core/user_folders.cpp - variables, in the order of the XDG specification.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/user_folders.h"

#include <cstdlib>
#include <pwd.h>
#include <unistd.h>
#include <vector>

namespace sluice {

namespace fs = std::filesystem;

namespace {

/// What the user database says; empty where it does not know this user.
fs::path home_of_this_user() {
  std::vector<char> text(1 << 14);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr)
    return {};
  return found->pw_dir;
}

}  // namespace

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
  if (const fs::path home = home_of_this_user(); home.is_absolute())
    return home / ".cache" / "sluice";
  return Error{Errc::usage,
               "no folder to keep things in: neither SLUICE_CACHE_DIR, XDG_CACHE_HOME nor HOME is "
               "set to a path, and this user has no home; set SLUICE_CACHE_DIR"};
}

}  // namespace sluice
