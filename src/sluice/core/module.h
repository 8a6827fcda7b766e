// sluice/core/module.h - finds and loads libsluice_<name>.so: heavy libraries stay out of the
// program until something needs them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Where modules are looked for, in this order: only the folder in SLUICE_MODULE_DIR when that is
/// set; otherwise what set_module_folders() said, or beside the program, then ../lib/sluice from
/// there.
std::vector<std::filesystem::path> module_folders();
/// For a library that another program loads, whose place says nothing. Before the first thread.
void set_module_folders(std::vector<std::filesystem::path> folders);

/// Loads libsluice_<name>.so and returns the address of its `symbol`. The module stays loaded. One
/// that is not there is Errc::unsupported with the make target that builds it; so is one whose own
/// libraries are not there, and the library is named.
Result<void*> load_module(std::string_view name, const std::string& symbol,
                          const std::vector<std::filesystem::path>& folders = module_folders());

}  // namespace sluice
