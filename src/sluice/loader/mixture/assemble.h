// sluice/loader/mixture/assemble.h - mixed samples to the memory of a batch: decode, resize,
// planes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"
#include "sluice/image/resize/resize.h"
#include "sluice/loader/mixture/mixture.h"
#include "sluice/loader/mixture/sample.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::loader::mixture {

/// Bytes of one sample's images.
constexpr std::size_t sample_bytes(int image_size) {
  return std::size_t{3} * 2 * static_cast<std::size_t>(image_size) *
         static_cast<std::size_t>(image_size);
}

/// Owns what a Batch shows. All memory is taken once.
struct BatchMemory {
  BatchMemory(const MixtureOptions& options, int action_size, int state_size);

  /// Of sample i of `block`: everything but the images.
  void put(std::size_t at, const Sample& sample, const SourceSpec& spec);
  /// Sample `to` becomes a copy of sample `from`.
  void copy(std::size_t to, std::size_t from);
  [[nodiscard]] MixtureBatch show(std::uint64_t index, std::size_t size) const;
  [[nodiscard]] std::span<std::uint8_t> images_of(std::size_t at);

  int image_size;
  Metadata metadata;
  int action_size;
  int state_size;
  std::vector<std::uint8_t> images;
  std::vector<std::uint32_t> source;
  std::vector<float> action, state;
  std::vector<std::string> language, episode_id, robot;
  std::vector<std::int64_t> frame;
  std::vector<std::int32_t> offset;
};

/// One per thread.
class PairDecoder {
 public:
  struct Times {
    std::int64_t decode_ns = 0, resize_ns = 0, collate_ns = 0;
  };
  /// Both images into [3, 2, size, size]. Bilinear without antialiasing, rounded to nearest.
  Status decode(std::span<std::uint8_t> out, const Sample& sample, int size, Times& times);

 private:
  image::Decoder decoder_;
  image::BilinearResizer resizer_;
  image::Image decoded_;
  image::Image resized_;
};

}  // namespace sluice::loader::mixture
