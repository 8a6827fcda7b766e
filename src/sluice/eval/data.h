// sluice/eval/data.h - the files of bench/data that every binary carries, each with its digest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::eval {

/// Where the embedded files lie in the repository.
inline constexpr const char* kDataFolder = "bench/data/";
inline constexpr const char* kShardFile = "fixed_shard.txt";

/// The bytes of an embedded file ("probes/code_sanity_20.json"), alive as long as the program. Its
/// SHA-256 is compared with the one that stands in data.cpp: a set or a shard never changes under
/// its name. not_found: no such file; internal: another digest.
Result<std::string_view> data_file(std::string_view name);

/// The digest that data_file() expects. Precondition: the file is one of data_files().
std::string_view data_digest(std::string_view name);

/// Names, in the order in which they are embedded.
std::vector<std::string> data_files();

}  // namespace sluice::eval
