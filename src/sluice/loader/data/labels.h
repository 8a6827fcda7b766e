// sluice/loader/data/labels.h - which class a sample is of: by its folder, or by a CSV file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loader {

/// "a/b/" of "a/b/c"; empty outside any folder.
std::string_view folder_of(std::string_view name);

/// What labels are given to: `size` samples with names, in the order of their bytes or not.
struct Labelled {
  std::uint64_t size = 0;
  std::function<std::string(std::uint64_t index)> name;
  std::function<void(std::uint64_t index, std::int32_t label)> set;
};

/// The label is the place of the first folder of the name (after `prefix`) among all such folders,
/// sorted; -1 for samples outside any folder. Returns the folders, at most 2^31.
std::vector<std::string> label_by_folder(const Labelled& samples, std::string_view prefix);

/// Lines `name,label`, with a first line `name,label` or without; quotes as in RFC 4180, but no
/// line breaks in them. Labels that are all numbers of at least 0 are taken as they are; else they
/// are class names, numbered in sorted order, which are returned. Names are those of the samples
/// with or without `prefix`. Every sample needs a line and every line a sample: errors name
/// file:line.
Result<std::vector<std::string>> label_by_csv(const Labelled& samples, std::string_view prefix,
                                              const std::filesystem::path& csv);

}  // namespace sluice::loader
