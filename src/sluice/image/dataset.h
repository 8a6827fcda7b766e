// sluice/image/dataset.h - folders of images, arrays and clips: listed, hashed, looked at.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/core/sha256.h"
#include "sluice/image/codec.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::image {

/// ".jpg .jpeg .png .webp": what list_images looks for, in any case. What a file holds is decided
/// by its content.
bool has_image_suffix(const std::filesystem::path& path);
/// ".avi .mkv .mov .mp4 .webm", likewise.
bool has_clip_suffix(const std::filesystem::path& path);

/// Every file under `folder` that `wanted` (given its path) accepts, as relative paths with '/',
/// sorted by bytes; none is no error. Hidden files and folders are passed over, links to folders
/// not followed.
Result<std::vector<std::string>> list_files(
    const std::filesystem::path& folder,
    const std::function<bool(const std::filesystem::path&)>& wanted);

/// ".jpg" of "a/B.JPG".
std::string lower_suffix(const std::filesystem::path& path);

/// Every image file under `folder`, as relative paths with '/', sorted by bytes. Hidden files and
/// folders are passed over, links to folders not followed. A missing folder and one without images
/// are errors.
Result<std::vector<std::string>> list_images(const std::filesystem::path& folder);

/// The same for clips.
Result<std::vector<std::string>> list_clips(const std::filesystem::path& folder);

/// SHA-256 over names and bytes, files in the order of list_images: two folders with one hash hold
/// the same data.
class DatasetHash {
 public:
  void add(std::string_view name, Bytes bytes);
  std::string hex() { return sha_.hex(); }  // once

 private:
  Sha256 sha_;
};

/// Smallest, middle and largest.
struct Range {
  int min = 0;
  int median = 0;
  int max = 0;
};

struct DatasetError {
  std::string file;
  std::string reason;
};

enum class MediaKind : std::uint8_t {
  images,
  arrays,  // .npy
  clips,
};
const char* to_string(MediaKind kind);

struct DatasetInfo {
  MediaKind kind = MediaKind::images;
  std::string hash;
  std::uint64_t count = 0;  // files
  std::uint64_t bytes = 0;
  std::uint64_t usable = 0;                      // files that decode
  std::map<std::string, std::uint64_t> formats;  // "jpeg", "npy u8 x9", "h264"
  Range width, height;         // of usable files; after orientation with DecodeOptions::exif
  std::uint64_t oriented = 0;  // usable files with an EXIF orientation other than 1
  std::uint64_t misnamed = 0;  // usable files of another format than their suffix says
  Range frames;                // of usable clips, as their containers say
  std::uint64_t others = 0;    // files of another kind, not looked at
  std::vector<DatasetError> errors;
};

/// Decodes every image of the folder. Files that do not decode are listed, not fatal.
Result<DatasetInfo> inspect_dataset(const std::filesystem::path& folder,
                                    const DecodeOptions& options,
                                    Progress& progress = Progress::silent());

/// The same for the kind of which the folder has most files; of clips 16 frames are decoded.
Result<DatasetInfo> inspect_media(const std::filesystem::path& folder, const DecodeOptions& options,
                                  Progress& progress = Progress::silent());

/// Decodes one image; errors name it.
Result<ImageInfo> inspect_file(const std::filesystem::path& file, const DecodeOptions& options);

}  // namespace sluice::image
