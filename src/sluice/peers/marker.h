// sluice/peers/marker.h - the file that makes an environment complete, and which folders are
// environments of a group (private to the room).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/peers/environment.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::peers {

std::filesystem::path environments_folder(const Places& places);
std::filesystem::path environment_folder(const Places& places, std::string_view group,
                                         std::string_view hash);
/// Every folder of the group, complete or not, sorted.
std::vector<std::filesystem::path> folders_of_group(const Places& places, std::string_view group);

/// Of requirement file, Python version and architecture.
std::string environment_hash(std::string_view requirements, std::string_view python_version,
                             std::string_view architecture);

/// An error when the folder is not a complete environment that still works: no marker, a damaged
/// one, or a Python that is gone or has been replaced by another minor version.
Result<Venv> read_marker(const std::filesystem::path& folder);
Status write_marker(const Venv& environment);

/// {"numpy": "2.1.0"} from the lines of `pip freeze`; names in lower case with dashes.
std::map<std::string, std::string> parse_freeze(std::string_view text);
std::string normal_name(std::string_view package);

}  // namespace sluice::peers
