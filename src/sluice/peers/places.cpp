// sluice/peers/places.cpp - variables first, then the place of the program.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/places.h"

#include "sluice/core/process/process.h"
#include "sluice/core/text.h"
#include "sluice/core/user_folders.h"
#include "sluice/peers/library.h"

#include <cctype>

namespace sluice::peers {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code problem;
  return fs::is_directory(path, problem);
}

}  // namespace

std::string python_variable(std::string_view group) {
  std::string name = "SLUICE_PYTHON_";
  for (const char c : group)
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

fs::path adapters_above(const fs::path& program) {
  for (fs::path folder = program.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    for (const fs::path& adapters : {folder / "adapters", folder / "share" / "sluice" / "adapters"})
      if (is_folder(adapters / "python")) return adapters;
    if (folder == folder.parent_path()) break;
  }
  return {};
}

Result<Places> find_places() {
  Places places;
  SLUICE_TRY(places.cache, user_cache_folder());
  SLUICE_TRY(places.program, own_program());
  if (const std::string own = environment_variable("SLUICE_ADAPTERS"); !own.empty()) {
    places.adapters = fs::absolute(own);
    if (!is_folder(places.adapters / "python"))
      return Error{Errc::usage, "SLUICE_ADAPTERS " + printable(own) +
                                    ": has no folder 'python'; expected the folder 'adapters'"};
  } else {
    places.adapters = adapters_above(places.program);
  }
  places.python = environment_variable("SLUICE_PYTHON");
  for (const std::string_view group : groups()) {
    const std::string own = environment_variable(python_variable(group).c_str());
    if (!own.empty()) places.own_pythons.emplace(group, own);
  }
  places.search_path = environment_variable("PATH");
  return places;
}

}  // namespace sluice::peers
