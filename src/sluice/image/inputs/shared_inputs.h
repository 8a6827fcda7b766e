// sluice/image/inputs/shared_inputs.h - decoded inputs in one flat file that every worker maps
// read-only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sluice::image {

/// Items of the data file begin at multiples of it, in bytes.
inline constexpr std::size_t kItemAlignment = 64;

// Two files: `inputs.u8`, the samples of all items, each item at a multiple of 64 bytes; and
// `inputs.json`, {"version": 1, "layout": "HWC" | "THWC", "dtype": "uint8", "items": [{"name",
// "offset", "shape"}]}. Samples are RGB, C order.

struct SharedInputsOptions {
  std::filesystem::path data_dir;
  std::filesystem::path folder;  // where both files go; made when it is missing
  std::int64_t limit = 0;        // the first so many usable files; 0: all
  int channels = 3;              // 3, or 9: RGB stacked three times
  std::int64_t max_corrupt = 0;  // unreadable files tolerated
};

struct SkippedFile {
  std::string name;
  std::string reason;
};

struct SharedInputs {
  std::filesystem::path index;
  std::filesystem::path data;
  std::int64_t items = 0;
  std::int64_t bytes = 0;    // of the data file
  std::string dataset_hash;  // of the used items: images as DatasetHash of their files, clips of
                             // their frames
  std::int64_t dataset_bytes = 0;       // what was hashed
  std::vector<SkippedFile> skipped;     // damaged, or of a format that is not read
  std::vector<SkippedFile> not_colour;  // sound, but grey: they do not count as damaged
};

/// Decodes the .jpg, .jpeg, .png, .webp and .npy (u8, h x w x 3 or x channels) files of data_dir,
/// sorted, on all usable cores. More than max_corrupt unreadable files, no usable one, or a full
/// disk is an error, and then neither file is written.
Result<SharedInputs> write_shared_inputs(const SharedInputsOptions& options,
                                         Progress& progress = Progress::silent());

struct Clip {
  int frames = 0;
  int height = 0;
  int width = 0;
  int channels = 3;
  std::vector<std::uint8_t> pixels;  // THWC; keeps its capacity from clip to clip
};

/// Decodes one file of data_dir. Called from several threads at once, each with its own `worker`,
/// 0 to usable_cores() - 1; `out` may hold an earlier clip.
using ReadClip =
    std::function<Status(Clip& out, const std::filesystem::path& file, unsigned worker)>;

/// The same for clips: `names` are files of data_dir in the order of the items.
Result<SharedInputs> write_shared_clips(const SharedInputsOptions& options,
                                        const std::vector<std::string>& names, const ReadClip& read,
                                        Progress& progress = Progress::silent());

/// Both files, mapped. Move-only. An index that does not fit its data (offsets, overlaps, sizes) is
/// an error.
class MappedInputs {
 public:
  struct Item {
    std::string name;
    std::size_t offset = 0;
    int frames = 1;  // of an image: 1
    int height = 0;
    int width = 0;
    int channels = 0;
    [[nodiscard]] std::size_t frame_bytes() const {
      return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
             static_cast<std::size_t>(channels);
    }
    [[nodiscard]] std::size_t bytes() const {
      return static_cast<std::size_t>(frames) * frame_bytes();
    }
  };

  static Result<MappedInputs> open(const std::filesystem::path& index,
                                   const std::filesystem::path& data);
  ~MappedInputs();
  MappedInputs(MappedInputs&& other) noexcept;
  MappedInputs& operator=(MappedInputs&&) = delete;
  MappedInputs(const MappedInputs&) = delete;
  MappedInputs& operator=(const MappedInputs&) = delete;

  [[nodiscard]] bool clips() const { return clips_; }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] const Item& item(std::size_t index) const { return items_[index]; }
  [[nodiscard]] std::span<const std::uint8_t> samples(std::size_t index) const {
    return {data_ + items_[index].offset, items_[index].bytes()};
  }
  /// Precondition: frame < item(index).frames.
  [[nodiscard]] ImageView<std::uint8_t> view(std::size_t index, int frame = 0) const;
  /// Of all items, without the gaps between them.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  MappedInputs() = default;

  const std::uint8_t* data_ = nullptr;
  std::size_t length_ = 0;
  bool clips_ = false;
  std::vector<Item> items_;
};

}  // namespace sluice::image
