// sluice/scenario/inputs.h - the files of a data folder, read once into memory before anything is
// timed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::scenario {

struct EncodedFile {
  std::string name;  // for errors
  std::vector<std::uint8_t> bytes;
};

/// Every image file of the folder, in name order.
Result<std::vector<EncodedFile>> read_files(const std::filesystem::path& data_dir);
/// Those that hold `format`; where there are none, the first 32 images, decoded and encoded again.
/// The same bytes in every process, ours and the peers'.
Result<std::vector<EncodedFile>> read_files_as(const std::filesystem::path& data_dir,
                                               image::Format format);
/// The same for progressive JPEG files; encoded again in quality 90, 4:2:0.
Result<std::vector<EncodedFile>> read_progressive_files(const std::filesystem::path& data_dir);
/// Every image file of the folder, decoded.
Result<std::vector<image::Image>> decode_files(const std::filesystem::path& data_dir);
/// The same, decoded and resized to `side` squared.
Result<std::vector<image::Image>> square_images(const std::filesystem::path& data_dir, int side);

/// Turns outputs into the digest that must be the same in every process.
std::string digest_of(std::span<const image::Image> images);
std::string digest_of(std::span<const float> values);

/// The error of `status` with `name` in front.
Status named(const std::string& name, Status status);

}  // namespace sluice::scenario
