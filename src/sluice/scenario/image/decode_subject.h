// sluice/scenario/image/decode_subject.h - encoded files in memory to RGB images: what the decode
// rows share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/codec.h"
#include "sluice/measure/subject.h"
#include "sluice/scenario/inputs.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace sluice::scenario {

/// The files of the folder that hold `format`; where there are none, the first 32 images, decoded
/// and encoded again. The same bytes in every process, ours and the peers'.
Result<std::vector<EncodedFile>> read_files_as(const std::filesystem::path& data_dir,
                                               image::Format format);

/// Decodes the same bytes another way: what our pixels are compared with.
using ReferenceDecode = Status (*)(image::Image& out, image::Bytes bytes);

/// Each file decoded by a reused decoder into an image of its own.
Result<std::unique_ptr<measure::Subject>> make_decode_subject(std::vector<EncodedFile> files,
                                                              ReferenceDecode reference,
                                                              int threads);

}  // namespace sluice::scenario
