// sluice/image/inputs/photo_dataset.h - a folder of generated photographs or clips, made once,
// resumed, checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice::image {

enum class MadeKind : std::uint8_t {
  rgb,            // JPEG
  nine_channels,  // a photograph three times along the channels: .npy, u8, h x w x 9
  video,          // H.264 in mp4, 320x240 unless told
};
const char* to_string(MadeKind kind);  // "rgb", "9ch", "video"

struct PhotoDatasetOptions {
  std::filesystem::path folder;
  int count = 0;  // 1 to kMaxPhotos
  std::uint64_t seed = 0;
  int width = 0;  // 0 with height 0: each photograph its own size
  int height = 0;
  bool force = false;  // write into a folder that holds something else
  MadeKind kind = MadeKind::rgb;
  int classes = 0;  // rgb only, 2 to kMaxClasses: file i lies in the folder of class i % classes
};
inline constexpr int kMaxPhotos = 1'000'000;
inline constexpr int kMaxClasses = 1000;

struct PhotoDataset {
  std::string hash;         // as inspect_media gives for the folder
  std::string frames_hash;  // of the frames before they were encoded; empty unless video
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t written = 0;  // the rest was there already
};

/// Writes rgb-000000.jpg (9ch-000000.npy, video-000000.mp4) ... and dataset.json, each file whole
/// or not at all. Run again it writes only what is missing or different, so an interrupted run is
/// continued by the same command; a larger count extends the folder. A folder that holds other
/// data, or was made with other parameters, is refused without `force`. Photographs are the same
/// bytes on any machine; of clips the frames are, while the files may differ between versions of
/// x264. With classes every photograph has the tint of its class: something to learn.
Result<PhotoDataset> make_photo_dataset(const PhotoDatasetOptions& options,
                                        Progress& progress = Progress::silent());

/// "rgb-000012.jpg", or "class-000/rgb-000012.jpg" with classes.
std::string made_name(MadeKind kind, int index, int classes = 0);

}  // namespace sluice::image
