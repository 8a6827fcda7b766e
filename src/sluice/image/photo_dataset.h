// sluice/image/photo_dataset.h - a folder of generated photographs, made once, resumed, checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace sluice::image {

struct PhotoDatasetOptions {
  std::filesystem::path folder;
  int count = 0;  // 1 to kMaxPhotos
  std::uint64_t seed = 0;
  int width = 0;  // 0 with height 0: each photograph its own size
  int height = 0;
  bool force = false;  // write into a folder that holds something else
};
inline constexpr int kMaxPhotos = 1'000'000;

struct PhotoDataset {
  std::string hash;  // as inspect_dataset gives for the folder
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t written = 0;  // the rest was there already
};

/// Writes rgb-000000.jpg ... and dataset.json, each file whole or not at all. Run again it writes
/// only what is missing or different, so an interrupted run is continued by the same command; a
/// larger count extends the folder. A folder that holds other data, or was made with other
/// parameters, is refused without `force`.
Result<PhotoDataset> make_photo_dataset(const PhotoDatasetOptions& options,
                                        Progress& progress = Progress::silent());

/// "rgb-000012.jpg".
std::string photo_name(int index);

}  // namespace sluice::image
