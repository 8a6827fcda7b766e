// sluice/image/inputs/array_maker.h - a folder of generated arrays (.npy), all of one size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>

namespace sluice::image {

struct ArrayOptions {
  std::filesystem::path folder{};
  int count = 0;                 // 1 to 1,000,000
  std::uint64_t bytes = 20'480;  // of each file, its header of 128 bytes included; 129 to 1 GiB
  std::uint64_t seed = 0;
  bool force = false;  // write into a folder that holds something else
};

struct MadeArrays {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t written = 0;  // the rest was there already
  std::string hash{};         // of names and bytes, as DatasetHash
};

/// array-000000.npy ...: u8 vectors of random bytes that follow from (seed, index) on any machine.
/// Run again it writes only what is missing or different. A folder that holds other files is
/// refused without `force`.
Result<MadeArrays> make_arrays(const ArrayOptions& options,
                               Progress& progress = Progress::silent());

}  // namespace sluice::image
